//! The wait before a retry: bounded, jittered, and the same integer arithmetic everywhere.

use ff_core::machine::{Command, Reply};
use ff_core::policy::{Backoff, Growth, Policy, Retry};
use ff_core::record::Exited;
use ff_core::{Millis, bounds};
use proptest::prelude::*;

use crate::fixture::Fixture;
use crate::fixture::make::{brief, fail, id, ms};

fn any_backoff() -> impl Strategy<Value = Backoff> {
    let most = bounds::DELAY.get();
    let span = prop_oneof![0..=most, 0..=1_000u64, Just(most)].prop_map(Millis::new);
    let growth = prop_oneof![Just(Growth::Fixed), Just(Growth::Exponential)];
    (growth, span.clone(), span, 0..=100u8).prop_map(|(growth, base, cap, jitter_percent)| {
        Backoff { growth, base, cap, jitter_percent }
    })
}

fn any_failures() -> impl Strategy<Value = u32> {
    prop_oneof![0..70u32, any::<u32>(), Just(u32::MAX)]
}

fn without_jitter(backoff: Backoff) -> Backoff {
    Backoff { jitter_percent: 0, ..backoff }
}

proptest! {
    #[test]
    fn a_wait_stays_between_its_jittered_part_and_the_whole(
        backoff in any_backoff(),
        failures in any_failures(),
        jitter in any::<u16>(),
    ) {
        let whole = without_jitter(backoff).wait(failures, jitter);
        let wait = backoff.wait(failures, jitter);
        let kept = u128::from(whole.get()) * u128::from(100 - backoff.jitter_percent);
        prop_assert!(wait <= whole && whole <= backoff.cap);
        prop_assert!(u128::from(wait.get()) * 100 >= kept);
    }

    #[test]
    fn a_wait_never_shrinks_from_one_failure_to_the_next(
        backoff in any_backoff(),
        failures in any_failures(),
        jitter in any::<u16>(),
    ) {
        let next = backoff.wait(failures.saturating_add(1), jitter);
        prop_assert!(backoff.wait(failures, jitter) <= next);
    }

    #[test]
    fn all_the_jitter_takes_all_of_the_random_part(
        backoff in any_backoff(),
        failures in any_failures(),
    ) {
        let whole = without_jitter(backoff).wait(failures, 0).get();
        let random = whole * u64::from(backoff.jitter_percent) / 100;
        prop_assert_eq!(backoff.wait(failures, u16::MAX).get(), whole - random);
        prop_assert_eq!(backoff.wait(failures, 0).get(), whole);
    }
}

#[test]
fn an_exponential_wait_doubles_up_to_its_cap() {
    let backoff =
        Backoff { growth: Growth::Exponential, base: ms(100), cap: ms(1_000), jitter_percent: 0 };
    let waits: Vec<_> = (1..=6).map(|failures| backoff.wait(failures, 0).get()).collect();
    assert_eq!(waits, [100, 200, 400, 800, 1_000, 1_000]);
}

#[test]
fn a_fixed_wait_stays_the_same() {
    let backoff = Backoff::fixed(ms(70));
    assert!((1..100).all(|failures| backoff.wait(failures, u16::MAX) == ms(70)));
}

#[test]
fn the_jitter_comes_with_the_command() {
    let half = Backoff { jitter_percent: 50, ..Backoff::fixed(ms(100)) };
    let policy = Policy { retry: Retry { backoff: half, ..brief().retry }, ..brief() };
    for (jitter, wait) in [(0, 100), (u16::MAX, 50)] {
        let (mut fixture, held) = Fixture::held(policy.clone());
        let entropy = u64::from(jitter) << 32;
        let reply =
            fixture.run(&Command { entropy, by: None, action: fail(held.hold(), true).into() });
        let from = fixture.now + ms(wait);
        assert_eq!(reply, Ok(Reply::Exited(Exited::Retrying { from })));
        assert_eq!(fixture.record(id(1)).placed.timer, Some(from));
    }
}
