//! What went wrong with lifecycles and leases elsewhere, and holds here.

use ff_core::event::EventKind;
use ff_core::machine::{
    CancelHeld, ClaimRequest, Command, Complete, Delay, LeaseRef, Reply, Submit,
};
use ff_core::payload::{BlobKey, BlobPart};
use ff_core::policy::{Backoff, Policy};
use ff_core::record::{EndReason, Exited};
use ff_core::state::{Outcome, State};
use ff_core::table::Node;
use ff_core::timer::DueAction;
use ff_core::{Category, Code, Millis, Payload, Refusal, When, bounds};

use crate::fixture::invariants::code;
use crate::fixture::make::{
    assignments, brief, cancel, claim, claim_granted, complete, delay, hand_back, id, ms, renew,
    replay, revoke, submit,
};
use crate::fixture::{Fixture, invariants};

fn timed() -> Policy {
    Policy { attempt_timeout: Some(ms(80)), ..brief() }
}

/// When the attempt's time is over, by the record.
fn timeout(fixture: &Fixture) -> Millis {
    let lease = fixture.record(id(1)).lease().unwrap();
    lease.timeout_at.unwrap().since(fixture.now)
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
fn a_backoff_is_jittered_by_default() {
    assert!(Backoff::default().wait(1, u16::MAX) < Backoff::default().wait(1, 0));
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
        assert_eq!(fixture.claimed("b").fence.attempt, 0, "the same attempt continues");
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
        fixture.act(Delay { hold: held.hold(), until: When::After(ms(u64::MAX)), step: None }),
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
    fixture.run(&Command { entropy: 7, by: None, action: done.into() }).unwrap();
    let key = BlobKey { execution: id(1), part: BlobPart::Result(0) };
    assert_eq!(fixture.store.blobs[&key], input.bytes);
}
