//! A store with its own clock tolerates that the clock is set, forward and back.

use ff_core::machine::Submit;
use ff_core::{Millis, PublicState, Time};
use ff_store::PartitionSet;

use crate::fixture::{Fixture, key, ms};

const STEPS: [Millis; 4] =
    [ms(1), Millis::from_secs(1), Millis::from_hours(1), Millis::from_days(8)];
const EIGHT_DAYS: Millis = Millis::from_days(8);
/// Longer than a store takes to be sure of a jump.
const TWO_MINUTES: Millis = Millis::from_secs(120);

/// The store's time.
async fn time(g: &Fixture) -> Time {
    g.backend().due(&PartitionSet::All, None, 1).await.unwrap().now
}

/// How far the store's time is ahead of the clock.
async fn offset(g: &Fixture) -> Millis {
    g.backend().due(&PartitionSet::All, None, 1).await.unwrap().offset
}

pub(crate) async fn time_never_runs_back_and_never_stops(g: Fixture) {
    let mut before = time(&g).await;
    for _ in 0..3 {
        for step in STEPS {
            for ahead in [true, false, false, true] {
                match ahead {
                    true => g.clock().step_ahead(step).await,
                    false => g.clock().step_back(step).await,
                }
                let now = time(&g).await;
                assert!(now >= before, "{now} after {before}, set by {step}");
                g.advance(ms(100)).await;
                before = time(&g).await;
                assert!(before.since(now) >= ms(80), "{before} 100 ms after {now}, set by {step}");
            }
        }
    }
}

pub(crate) async fn a_delay_ends_after_the_clock_was_set(g: Fixture) {
    for step in STEPS {
        let id = g.delayed(ms(1_000)).await;
        g.clock().step_back(step).await;
        g.pass(ms(1_200)).await;
        assert_eq!(g.claimed().await.execution, id, "set back by {step}");
        g.clock().step_ahead(step).await;
        time(&g).await;
        g.clock().step_back(step).await;
        let id = g.delayed(ms(1_000)).await;
        g.pass(ms(1_200)).await;
        assert_eq!(g.claimed().await.execution, id, "set forward by {step} and back");
    }
}

pub(crate) async fn the_lease_of_a_dead_holder_ends_after_the_clock_was_set(g: Fixture) {
    for step in STEPS {
        g.clock().step_ahead(step).await;
        let lost = g.held().await;
        g.clock().step_back(step).await;
        g.pass(Millis::new(lost.lease_ttl.get() + lost.lease_ttl.get() / 5)).await;
        let again = g.claimed_by("bob").await;
        assert_eq!(again.execution, lost.execution, "set back by {step}");
        g.complete(&again, "done").await.unwrap();
    }
}

pub(crate) async fn a_lease_is_not_shortened_by_a_clock_that_is_set_back(g: Fixture) {
    for step in STEPS {
        let held = g.held().await;
        g.clock().step_back(step).await;
        g.pass(ms(held.lease_ttl.get() - 20)).await;
        assert_eq!(g.state(held.execution).await, PublicState::Active, "set back by {step}");
        g.complete(&held, "done").await.unwrap();
    }
}

/// Finished work with an idempotency key.
async fn finished(g: &Fixture) -> Submit {
    let work = Submit { key: Some(key("order-1")), ..g.work() };
    g.submit(work.clone()).await;
    g.complete(&g.claimed().await, "done").await.unwrap();
    work
}

/// Whether the same submit again finds it.
async fn is_kept(g: &Fixture, work: &Submit) -> bool {
    let again = Submit { id: g.new_id(), ..work.clone() };
    let answer = g.backend().submit(vec![again]).await.unwrap().remove(0).unwrap();
    answer.execution == work.id
}

pub(crate) async fn a_jump_that_is_taken_back_removes_nothing(g: Fixture) {
    let work = finished(&g).await;
    for _ in 0..2 {
        g.clock().step_ahead(EIGHT_DAYS).await;
        g.pass(ms(4_000)).await;
        assert!(is_kept(&g, &work).await, "while the clock is ahead");
        g.clock().step_back(EIGHT_DAYS).await;
        for _ in 0..10 {
            g.pass(Millis::from_secs(60)).await;
        }
        assert!(is_kept(&g, &work).await, "once it is back");
    }
}

pub(crate) async fn a_confirmed_jump_removes_expired_work(g: Fixture) {
    let work = finished(&g).await;
    g.clock().step_ahead(EIGHT_DAYS).await;
    g.pass(ms(0)).await;
    assert!(is_kept(&g, &work).await);
    g.pass(TWO_MINUTES).await;
    assert!(!is_kept(&g, &work).await);
}

pub(crate) async fn expired_work_is_removed_in_the_end_although_the_clock_was_set(g: Fixture) {
    let work = finished(&g).await;
    g.clock().step_ahead(EIGHT_DAYS).await;
    g.pass(ms(4_000)).await;
    g.clock().step_back(EIGHT_DAYS).await;
    time(&g).await;
    g.pass(Millis::from_days(7)).await;
    assert!(!is_kept(&g, &work).await);
}

pub(crate) async fn the_store_reports_how_far_it_is_ahead_of_its_clock(g: Fixture) {
    assert_eq!(offset(&g).await, Millis::ZERO);
    g.clock().step_back(Millis::from_hours(1)).await;
    assert_eq!(offset(&g).await, Millis::from_hours(1));
    g.pass(Millis::from_hours(5)).await;
    assert_eq!(offset(&g).await, ms(1_800_000));
    g.pass(Millis::from_hours(6)).await;
    assert_eq!(offset(&g).await, Millis::ZERO);
    assert_eq!(time(&g).await, g.now().await);
}
