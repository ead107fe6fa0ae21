//! Who is claimed first: strict priority, then the place in the queue, which every command keeps
//! or renews by its own rule.

use ff_core::machine::{ClaimRequest, SetPriority, Submit};
use ff_core::placement::Score;
use ff_core::policy::{Backoff, Policy, Retry};
use ff_core::{Capabilities, ExecutionId, Lane, Namespace, Time, When, bounds};
use proptest::prelude::*;

use crate::fixture::make::{
    assignments, brief, cancel, claim, delay, fail, hand_back, id, ms, replay, revoke, submit,
    target,
};
use crate::fixture::{Fixture, START};

/// The order in which everything in the default lane is claimed.
fn order(fixture: &mut Fixture) -> Vec<ExecutionId> {
    let reply = fixture.act(ClaimRequest { max: 256, ..claim("a", 77) }).unwrap();
    assignments(reply).iter().map(|assignment| assignment.execution).collect()
}

/// A held execution, ten milliseconds after its submission.
fn held(policy: Policy) -> (Fixture, ff_core::machine::LeaseRef) {
    let (mut fixture, assignment) = Fixture::held(policy);
    fixture.advance(ms(10));
    (fixture, assignment.hold())
}

fn queued_at(fixture: &Fixture) -> Time {
    let record = fixture.record(id(1));
    assert!(record.placed.score.is_some(), "it is queued");
    record.queued_at
}

#[test]
fn a_higher_priority_goes_first_and_equals_go_first_in_first_out() {
    let mut fixture = Fixture::new();
    let (most, least) = (bounds::PRIORITY, bounds::PRIORITY_MIN);
    for (n, priority) in [(1, 0), (6, least), (7, -1), (2, 5), (3, 0), (4, 5), (5, most), (8, -1)] {
        fixture.act(Submit { priority, ..submit(n, brief()) }).unwrap();
        fixture.advance(ms(1));
    }
    assert_eq!(order(&mut fixture), [5, 2, 4, 1, 3, 7, 8, 6].map(id));
}

#[test]
fn of_two_submitted_in_one_millisecond_the_lower_id_goes_first() {
    let mut fixture = Fixture::new();
    for n in [3, 1, 2] {
        fixture.submitted(n, brief());
    }
    assert_eq!(order(&mut fixture), [1, 2, 3].map(id));
}

#[test]
fn a_claim_sees_only_its_namespace_its_lane_and_what_it_covers() {
    let mut fixture = Fixture::new();
    let gpu = Capabilities::new(["gpu"]).unwrap();
    let other = Namespace::new("other").unwrap();
    fixture.act(Submit { requires: gpu.clone(), ..submit(1, brief()) }).unwrap();
    fixture.act(Submit { namespace: other, ..submit(2, brief()) }).unwrap();
    fixture.act(Submit { lane: Lane::new("slow").unwrap(), ..submit(3, brief()) }).unwrap();
    fixture.submitted(4, brief());
    assert_eq!(order(&mut fixture), [id(4)]);
    let reply = fixture.act(ClaimRequest { capabilities: gpu, ..claim("b", 78) }).unwrap();
    assert_eq!(assignments(reply)[0].execution, id(1));
}

proptest! {
    #[test]
    fn scores_order_by_priority_then_time_and_stay_exact(
        a in (bounds::PRIORITY_MIN..=bounds::PRIORITY, 0..=1_000_000_000_000u64),
        b in (bounds::PRIORITY_MIN..=bounds::PRIORITY, 0..=1_000_000_000_000u64),
    ) {
        let score = |(priority, at): (i16, u64)| Score::of(priority, START + ms(at));
        let earlier = a.0 > b.0 || (a.0 == b.0 && a.1 < b.1);
        // Within the 31 years that a step of priority outweighs.
        prop_assume!(a.0 == b.0 || a.1.abs_diff(b.1) < 1_000_000_000_000);
        prop_assert_eq!(score(a) < score(b), earlier);
        prop_assert_eq!(score(a).get() as f64 as i64, score(a).get());
    }
}

#[test]
fn every_score_that_a_record_can_have_is_exact() {
    for priority in [bounds::PRIORITY_MIN, -1, 0, 1, bounds::PRIORITY] {
        for at in [Time::EPOCH, START, Time::MAX] {
            assert!(Score::of(priority, at).get().unsigned_abs() < 1 << 53);
        }
    }
}

#[test]
fn a_new_execution_queues_at_its_creation() {
    let mut fixture = Fixture::new();
    fixture.submitted(1, brief());
    assert_eq!(queued_at(&fixture), fixture.record(id(1)).created);
}

#[test]
fn a_delayed_start_queues_at_its_due_time_however_late_the_tick() {
    let mut fixture = Fixture::new();
    let start = When::After(ms(50));
    fixture.act(Submit { start, ..submit(1, brief()) }).unwrap();
    fixture.advance(ms(500));
    fixture.tick(id(1));
    assert_eq!(queued_at(&fixture), START + ms(50));
}

#[test]
fn a_delay_by_the_holder_queues_at_its_due_time() {
    let (mut fixture, hold) = held(brief());
    fixture.act(delay(hold, ms(50))).unwrap();
    fixture.advance(ms(500));
    fixture.tick(id(1));
    assert_eq!(queued_at(&fixture), START + ms(60));
}

#[test]
fn a_delay_until_the_past_queues_now() {
    let (mut fixture, hold) = held(brief());
    let until = When::At(START);
    fixture.act(ff_core::machine::Delay { hold, until }).unwrap();
    assert_eq!(queued_at(&fixture), START + ms(10));
}

#[test]
fn an_expired_grant_returns_to_its_place() {
    let mut fixture = Fixture::new();
    fixture.submitted(1, brief());
    fixture.advance(ms(10));
    fixture.granted("a", 1, ms(50));
    fixture.fire(id(1));
    assert_eq!(queued_at(&fixture), START);
}

#[test]
fn a_hand_back_keeps_the_place() {
    let (mut fixture, hold) = held(brief());
    fixture.act(hand_back(hold)).unwrap();
    assert_eq!(queued_at(&fixture), START);
}

#[test]
fn a_revocation_keeps_the_place() {
    let (mut fixture, hold) = held(brief());
    fixture.act(revoke(&hold)).unwrap();
    assert_eq!(queued_at(&fixture), START);
}

#[test]
fn a_change_of_priority_keeps_the_place_among_equals() {
    let mut fixture = Fixture::new();
    fixture.submitted(1, brief());
    fixture.advance(ms(10));
    fixture.act(Submit { priority: 7, ..submit(2, brief()) }).unwrap();
    fixture.act(SetPriority { target: target(id(1)), priority: 7 }).unwrap();
    assert_eq!(queued_at(&fixture), START);
    assert_eq!(order(&mut fixture), [1, 2].map(id));
}

#[test]
fn a_retry_queues_now() {
    let (mut fixture, hold) = held(brief());
    fixture.act(fail(hold, true)).unwrap();
    assert_eq!(queued_at(&fixture), START + ms(10));
}

#[test]
fn a_retry_after_backoff_queues_at_its_due_time() {
    let retry = Retry { backoff: Backoff::fixed(ms(50)), ..brief().retry };
    let (mut fixture, hold) = held(Policy { retry, ..brief() });
    fixture.act(fail(hold, true)).unwrap();
    fixture.advance(ms(500));
    fixture.tick(id(1));
    assert_eq!(queued_at(&fixture), START + ms(60));
}

#[test]
fn a_reclaim_queues_now_so_that_poison_never_returns_to_the_head() {
    let (mut fixture, _) = held(brief());
    fixture.submitted(2, brief());
    fixture.advance(ms(490));
    fixture.tick(id(1));
    assert_eq!(queued_at(&fixture), START + ms(500));
    assert_eq!(order(&mut fixture), [2, 1].map(id));
}

#[test]
fn an_attempt_timeout_queues_now() {
    let (mut fixture, _) = held(Policy { attempt_timeout: Some(ms(50)), ..brief() });
    fixture.fire(id(1));
    assert_eq!(queued_at(&fixture), START + ms(50));
}

#[test]
fn a_replay_queues_now() {
    let (mut fixture, _) = held(brief());
    fixture.act(cancel(id(1), None)).unwrap();
    fixture.advance(ms(10));
    fixture.act(replay(id(1), 0)).unwrap();
    assert_eq!(queued_at(&fixture), START + ms(20));
}
