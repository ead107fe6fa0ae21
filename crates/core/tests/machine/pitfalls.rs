//! What went wrong with lifecycles and leases elsewhere, and holds here.

use ff_core::event::EventKind;
use ff_core::machine::{
    CancelHeld, ClaimRequest, Command, Complete, Delay, Fail, LeaseRef, Renewed, Reply, Revoke,
    Submit,
};
use ff_core::payload::{BlobKey, BlobPart};
use ff_core::policy::{Backoff, Policy, Retry};
use ff_core::record::{EndReason, Exited};
use ff_core::refusal::Stale;
use ff_core::state::{Failure, Outcome, State};
use ff_core::table::Node;
use ff_core::timer::DueAction;
use ff_core::{
    Category, Code, Fence, IdempotencyKey, LeaseId, Millis, Namespace, Payload, Refusal, When,
    bounds,
};

use crate::fixture::invariants::code;
use crate::fixture::make::{
    assignments, brief, cancel, claim, claim_granted, complete, delay, fail, hand_back, id, ms,
    progress, renew, replay, request, revoke, submit, target,
};
use crate::fixture::{Fixture, START, invariants};

fn timed() -> Policy {
    Policy { attempt_timeout: Some(ms(80)), ..brief() }
}

/// When the attempt's time is over, by the record.
fn timeout(fixture: &Fixture) -> Millis {
    let lease = fixture.record(id(1)).lease().unwrap();
    lease.timeout_at.unwrap().since(fixture.now)
}

#[test]
fn a_delay_until_the_past_leaves_the_execution_claimable() {
    let (mut fixture, held) = Fixture::held(brief());
    fixture.advance(ms(20));
    let until = When::At(START + ms(5));
    let reply = fixture.act(Delay { hold: held.hold(), until });
    assert_eq!(reply, Ok(Reply::Exited(Exited::Delayed { until: fixture.now })));
    assert_eq!(fixture.claimed("b").execution, id(1));
}

#[test]
fn a_start_in_the_past_leaves_the_execution_claimable() {
    let mut fixture = Fixture::new();
    let start = When::At(START - ms(1));
    fixture.act(Submit { start, ..submit(1, brief()) }).unwrap();
    assert_eq!(fixture.claimed("a").execution, id(1));
}

#[test]
fn a_complete_whose_reply_was_lost_is_answered_again() {
    let (mut fixture, held) = Fixture::held(brief());
    let done = Ok(Reply::Exited(Exited::Completed));
    assert_eq!(fixture.act(complete(held.hold(), "done")), done);
    let stored = fixture.store.clone();
    fixture.advance(ms(50));
    assert_eq!(fixture.act(complete(held.hold(), "done")), done);
    assert_eq!(fixture.act(complete(held.hold(), "other")), Err(Refusal::ExitConflict));
    assert_eq!(fixture.act(fail(held.hold(), true)), Err(Refusal::ExitConflict));
    assert_eq!(fixture.store, stored);
}

#[test]
fn a_complete_is_answered_again_even_after_a_replay() {
    let (mut fixture, held) = Fixture::held(brief());
    fixture.act(complete(held.hold(), "done")).unwrap();
    fixture.act(replay(id(1), 0)).unwrap();
    fixture.claimed("b");
    let again = fixture.act(complete(held.hold(), "done"));
    assert_eq!(again, Ok(Reply::Exited(Exited::Completed)));
    assert_eq!(Node::of(fixture.get(id(1))), Node::Active);
}

#[test]
fn a_permanent_failure_is_not_retried() {
    let (mut fixture, held) = Fixture::held(brief());
    assert_eq!(fixture.act(fail(held.hold(), false)), Ok(Reply::Exited(Exited::Failed)));
}

#[test]
fn a_failure_of_a_category_outside_the_policy_is_not_retried() {
    let retry = Retry { categories: Some([Category::error()].into()), ..brief().retry };
    let policy = Policy { retry, ..brief() };
    let answer = |category| {
        let (mut fixture, held) = Fixture::held(policy.clone());
        let failure = Failure { category, retryable: true, message: "broke".into() };
        fixture.act(Fail { hold: held.hold(), failure }).unwrap()
    };
    assert_eq!(answer(Category::timeout()), Reply::Exited(Exited::Failed));
    assert_eq!(answer(Category::error()), Reply::Exited(Exited::Retrying { from: START }));
}

#[test]
fn a_backoff_is_jittered_by_default() {
    assert!(Backoff::default().wait(1, u16::MAX) < Backoff::default().wait(1, 0));
}

#[test]
fn an_attempt_timeout_feeds_the_retry_policy() {
    let (mut fixture, held) = Fixture::held(timed());
    fixture.advance(ms(70));
    fixture.act(renew(held.hold())).unwrap();
    assert_eq!(fixture.fire(id(1)).did, Some(DueAction::AttemptTimeout));
    assert_eq!(fixture.now, START + ms(80), "a renewal does not extend the attempt");
    assert_eq!(fixture.claimed("b").fence.attempt, 1);
    assert_eq!(fixture.fire(id(1)).did, Some(DueAction::AttemptTimeout));
    let (outcome, _) = fixture.record(id(1)).outcome().unwrap();
    let Outcome::Failed { failure } = outcome else { panic!("{outcome:?}") };
    assert_eq!(failure.category, Category::timeout());
}

#[test]
fn a_deadline_ends_the_execution_wherever_it_is() {
    let policy = Policy { deadline: Some(ms(60)), lease_ttl: ms(200), ..brief() };
    let reach: [fn(&mut Fixture); 4] = [
        |_| (),
        |fixture| drop(fixture.claimed("a")),
        |fixture| drop(fixture.granted("a", 1, ms(200))),
        |fixture| {
            let held = fixture.claimed("a");
            fixture.act(delay(held.hold(), ms(300))).unwrap();
        },
    ];
    for reach in reach {
        let mut fixture = Fixture::new();
        fixture.submitted(1, policy.clone());
        reach(&mut fixture);
        assert_eq!(fixture.fire(id(1)).did, Some(DueAction::Deadline));
        assert_eq!(fixture.now, START + ms(60));
        assert_eq!(Node::of(fixture.get(id(1))), Node::Expired);
    }
}

#[test]
fn the_attempt_timeout_is_armed_whole_at_each_claim() {
    let leave: [fn(&mut Fixture, LeaseRef); 3] = [
        |fixture, hold| {
            fixture.act(delay(hold, ms(40))).unwrap();
            fixture.fire(id(1));
        },
        |fixture, hold| drop(fixture.act(hand_back(hold)).unwrap()),
        |fixture, hold| drop(fixture.act(revoke(&hold)).unwrap()),
    ];
    for leave in leave {
        let (mut fixture, held) = Fixture::held(timed());
        assert_eq!(timeout(&fixture), ms(80));
        fixture.advance(ms(60));
        leave(&mut fixture, held.hold());
        assert_eq!(fixture.claimed("b").fence.attempt, 0, "the same attempt goes on");
        assert_eq!(timeout(&fixture), ms(80));
    }
}

#[test]
fn a_reclaimed_execution_does_not_inherit_the_old_attempts_timeout() {
    let (mut fixture, _) = Fixture::held(Policy { attempt_timeout: Some(ms(150)), ..brief() });
    assert_eq!(fixture.fire(id(1)).did, Some(DueAction::LeaseExpired));
    assert_eq!(fixture.claimed("b").fence.attempt, 1);
    assert_eq!(timeout(&fixture), ms(150));
}

#[test]
fn a_lease_taken_after_revoke_cancel_and_replay_is_as_good_as_any() {
    let (mut fixture, held) = Fixture::held(brief());
    fixture.act(revoke(&held.hold())).unwrap();
    fixture.act(cancel(id(1), None)).unwrap();
    fixture.act(replay(id(1), 0)).unwrap();
    let held = fixture.claimed("b");
    fixture.advance(ms(50));
    let until = fixture.now + ms(100);
    assert_eq!(fixture.act(renew(held.hold())), Ok(Renewed { until, cancel_by: None }.into()));
    fixture.act(progress(held.hold())).unwrap();
    fixture.act(complete(held.hold(), "done")).unwrap();
}

#[test]
fn a_lease_taken_again_by_the_same_request_has_another_name() {
    let (mut fixture, _) = Fixture::held(brief());
    let retried = ClaimRequest { retry: true, ..claim("a", 1_000) };
    let first = assignments(fixture.act(retried.clone()).unwrap()).remove(0);
    fixture.act(hand_back(first.hold())).unwrap();
    let second = assignments(fixture.act(retried.clone()).unwrap()).remove(0);
    assert_ne!(second.fence.lease, first.fence.lease);
    invariants::the_present_holder_is_heard(&fixture);
    assert_eq!(code(&fixture.act(renew(first.hold()))), Some(Code::StaleLease));
    fixture.act(revoke(&second.hold())).unwrap();
    let third = assignments(fixture.act(retried).unwrap()).remove(0);
    assert_eq!(fixture.act(revoke(&third.hold())), Ok(Reply::Exited(Exited::Revoked)));
    assert_eq!(Node::of(fixture.get(id(1))), Node::Queued);
}

#[test]
fn the_holder_of_cancelled_work_hears_that_it_was_cancelled_whoever_ended_the_lease() {
    let (mut fixture, held) = Fixture::held(brief());
    fixture.act(cancel(id(1), Some(ms(50)))).unwrap();
    fixture.act(revoke(&held.hold())).unwrap();
    assert_eq!(fixture.act(renew(held.hold())), Err(Refusal::Cancelled));
    assert_eq!(fixture.act(complete(held.hold(), "done")), Err(Refusal::Cancelled));
}

#[test]
fn a_replay_starts_clean_and_keeps_the_old_run() {
    let (mut fixture, _) = Fixture::held(brief());
    fixture.fire(id(1));
    let held = fixture.claimed("b");
    fixture.act(fail(held.hold(), true)).unwrap();
    let held = fixture.claimed("b");
    fixture.act(complete(held.hold(), "first")).unwrap();
    fixture.act(replay(id(1), 0)).unwrap();
    let record = fixture.record(id(1));
    assert_eq!((record.run.number, record.run.failures, record.run.reclaims), (1, 0, 0));
    assert_eq!((record.lease(), record.outcome()), (None, None));
    assert!(matches!(record.past_runs[0].outcome, Outcome::Success { .. }));
    let key = BlobKey { execution: id(1), part: BlobPart::Result(0) };
    assert_eq!(fixture.store.blobs[&key], "first");
    let held = fixture.claimed("b");
    assert_eq!((held.fence.attempt, held.run), (3, 1));
    fixture.act(complete(held.hold(), "second")).unwrap();
    assert_eq!(fixture.store.blobs[&key], "first");
}

#[test]
fn an_expired_lease_hides_no_later_one() {
    let mut fixture = Fixture::new();
    for n in 1..=3 {
        fixture.submitted(n, brief());
        fixture.claimed("a");
    }
    fixture.advance(ms(500));
    for n in [3, 2, 1] {
        assert_eq!(fixture.tick(id(n)).did, Some(DueAction::LeaseExpired));
    }
    let reply = fixture.act(ClaimRequest { max: 3, ..claim("b", 9) }).unwrap();
    assert_eq!(assignments(reply).len(), 3);
}

#[test]
fn the_reclaim_cap_closes_the_attempt_and_tells() {
    let (mut fixture, _) = Fixture::held(Policy { max_reclaims: 0, ..brief() });
    fixture.fire(id(1));
    let record = fixture.record(id(1));
    let State::Finished { outcome: Outcome::Failed { failure }, .. } = &record.state else {
        panic!("{:?}", record.state)
    };
    assert_eq!(failure.category, Category::lease_lost());
    let end = record.attempt.as_ref().and_then(|attempt| attempt.end.as_ref()).unwrap();
    assert_eq!(end.reason, EndReason::LeaseLost);
    assert_eq!(fixture.events[&id(1)].last(), Some(&EventKind::Failed));
}

#[test]
fn cancelling_paused_work_ends_its_attempt() {
    let pause: [fn(&mut Fixture, LeaseRef); 3] = [
        |fixture, hold| drop(fixture.act(delay(hold, ms(50))).unwrap()),
        |fixture, hold| drop(fixture.act(hand_back(hold)).unwrap()),
        |fixture, hold| {
            fixture.act(hand_back(hold)).unwrap();
            fixture.granted("b", 5, ms(50));
        },
    ];
    for pause in pause {
        let (mut fixture, held) = Fixture::held(brief());
        pause(&mut fixture, held.hold());
        fixture.act(cancel(id(1), None)).unwrap();
        let attempt = fixture.record(id(1)).attempt.as_ref().unwrap();
        assert_eq!(attempt.end.as_ref().unwrap().reason, EndReason::Cancelled);
    }
}

#[test]
fn an_override_names_the_lease_it_takes_away() {
    let (mut fixture, first) = Fixture::held(brief());
    fixture.act(hand_back(first.hold())).unwrap();
    fixture.claimed("b");
    let stored = fixture.store.clone();
    let refusal = Err(Refusal::StaleLease { why: Stale::Replaced });
    assert_eq!(fixture.act(revoke(&first.hold())), refusal);
    let lease = LeaseId { request: request(5), index: 0 };
    assert_eq!(fixture.act(Revoke { target: target(id(1)), lease }), refusal);
    assert_eq!(fixture.store, stored);
}

#[test]
fn what_the_caller_believes_of_the_attempt_must_be_what_the_record_says() {
    let (mut fixture, held) = Fixture::held(brief());
    fixture.fire(id(1));
    let second = fixture.claimed("b");
    let wrong = Fence { attempt: held.fence.attempt, ..second.fence };
    let hold = LeaseRef { fence: wrong, ..second.hold() };
    assert_eq!(code(&fixture.act(renew(hold))), Some(Code::StaleLease));
    let mut hold = second.hold();
    hold.target.namespace = Namespace::new("other").unwrap();
    assert_eq!(fixture.act(renew(hold)), Err(Refusal::NotFound));
}

#[test]
fn a_refused_command_changes_nothing() {
    let (mut fixture, held) = Fixture::held(brief());
    fixture.submitted(2, brief());
    fixture.act(cancel(id(2), None)).unwrap();
    let stored = fixture.store.clone();
    let long: Box<str> = "x".repeat(bounds::MESSAGE_BYTES + 1).into();
    let result = Payload::bytes(vec![0; bounds::PAYLOAD_BYTES + 1]);
    let refused = [
        fixture.act(Complete { hold: held.hold(), result }),
        fixture.act(CancelHeld { hold: held.hold(), reason: Some(long) }),
        fixture.act(Delay { hold: held.hold(), until: When::After(ms(u64::MAX)) }),
        fixture.act(cancel(id(1), Some(Millis::ZERO))),
        fixture.act(cancel(id(9), None)),
        fixture.act(claim_granted(id(1), "a", 9)),
        fixture.act(replay(id(1), 0)),
        fixture.act(replay(id(2), 7)),
        fixture.act(Submit { priority: 3, ..submit(1, brief()) }),
    ];
    for answer in refused {
        assert!(answer.is_err(), "{answer:?}");
    }
    assert_eq!(fixture.store, stored);
}

#[test]
fn an_idempotency_key_with_another_body_is_refused() {
    let key = IdempotencyKey::new("order-1").ok();
    let policy = Policy { retention: bounds::DEDUP_WINDOW, ..brief() };
    let order = Submit { key, ..submit(1, policy) };
    let mut fixture = Fixture::new();
    fixture.act(order.clone()).unwrap();
    let again = Submit { id: id(2), ..order.clone() };
    let Ok(Reply::Submitted(found)) = fixture.act(again.clone()) else { panic!("not found") };
    assert_eq!((found.execution, found.created), (id(1), false));
    let other = Submit { input: Payload::bytes("other"), ..again.clone() };
    assert_eq!(fixture.act(other), Err(Refusal::IdempotencyConflict));
    let elsewhere = Submit { namespace: Namespace::new("other").unwrap(), ..again };
    let Ok(Reply::Submitted(made)) = fixture.act(elsewhere) else { panic!("not made") };
    assert!(made.created, "a key belongs to its namespace");
    let brief = Submit { policy: brief().into(), ..order };
    assert_eq!(code(&fixture.act(brief)), Some(Code::InvalidArgument), "a key outlives its end");
}

#[test]
fn a_renewal_after_the_exit_is_refused_and_the_exit_is_still_answered() {
    let (mut fixture, held) = Fixture::held(brief());
    fixture.act(renew(held.hold())).unwrap();
    fixture.act(complete(held.hold(), "done")).unwrap();
    let finished = Err(Refusal::StaleLease { why: Stale::Finished });
    assert_eq!(fixture.act(renew(held.hold())), finished);
    let again = fixture.act(complete(held.hold(), "done"));
    assert_eq!(again, Ok(Reply::Exited(Exited::Completed)));
}

#[test]
fn a_burst_of_renewals_extends_a_lease_no_further_than_one() {
    let (mut fixture, held) = Fixture::held(brief());
    fixture.advance(ms(30));
    for _ in 0..5 {
        fixture.act(renew(held.hold())).unwrap();
    }
    assert_eq!(fixture.record(id(1)).lease().unwrap().until, fixture.now + ms(100));
}

#[test]
fn a_payload_of_exactly_the_limit_comes_out_as_it_went_in() {
    let bytes: Vec<u8> = (0..bounds::PAYLOAD_BYTES).map(|n| (n % 256) as u8).collect();
    let input = Payload::json(bytes);
    let mut fixture = Fixture::new();
    fixture.act(Submit { input: input.clone(), ..submit(1, brief()) }).unwrap();
    let held = fixture.claimed("a");
    assert_eq!(held.input, input);
    let done = Complete { hold: held.hold(), result: input.clone() };
    fixture.run(&Command { entropy: 7, action: done.into() }).unwrap();
    let key = BlobKey { execution: id(1), part: BlobPart::Result(0) };
    assert_eq!(fixture.store.blobs[&key], input.bytes);
}
