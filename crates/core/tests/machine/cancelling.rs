//! Cancelling held work: at once, or leaving its holder some time to stop by itself.

use ff_core::machine::{Cancel, Cancelled, Renewed, Reply};
use ff_core::record::Exited;
use ff_core::state::Outcome;
use ff_core::table::Node;
use ff_core::{Millis, Refusal};

use crate::fixture::Fixture;
use crate::fixture::make::{
    brief, cancel, cancel_held, complete, delay, fail, hand_back, id, ms, renew, target,
};

/// The answer to a cancel that leaves the holder `grace` from now.
fn cancelling(fixture: &Fixture, grace: Millis) -> Result<Reply, Refusal> {
    Ok(Cancelled::Cancelling { by: fixture.now + grace }.into())
}

/// The record of the cancel that ended the execution.
fn reason(fixture: &Fixture) -> Option<&str> {
    match fixture.record(id(1)).outcome() {
        Some((Outcome::Cancelled { reason }, _)) => reason.as_deref(),
        other => panic!("not cancelled: {other:?}"),
    }
}

#[test]
fn the_holder_of_cancelled_work_is_told_at_its_next_call() {
    let (mut fixture, held) = Fixture::held(brief());
    fixture.act(cancel(id(1), None)).unwrap();
    assert_eq!(fixture.act(renew(held.hold())), Err(Refusal::Cancelled));
    assert_eq!(fixture.act(complete(held.hold(), "done")), Err(Refusal::Cancelled));
}

#[test]
fn during_a_grace_the_holder_renews_and_is_told_when_it_ends() {
    let (mut fixture, held) = Fixture::held(brief());
    assert_eq!(fixture.act(cancel(id(1), Some(ms(50)))), cancelling(&fixture, ms(50)));
    let cancel_by = Some(fixture.now + ms(50));
    fixture.advance(ms(20));
    let renewed = Renewed { until: fixture.now + ms(100), cancel_by };
    assert_eq!(fixture.act(renew(held.hold())), Ok(renewed.into()));
}

#[test]
fn a_later_cancel_shortens_a_grace_and_never_extends_it() {
    let (mut fixture, _) = Fixture::held(brief());
    fixture.act(cancel(id(1), Some(ms(50)))).unwrap();
    assert_eq!(fixture.act(cancel(id(1), Some(ms(80)))), cancelling(&fixture, ms(50)));
    assert_eq!(fixture.act(cancel(id(1), Some(ms(20)))), cancelling(&fixture, ms(20)));
    assert_eq!(fixture.record(id(1)).placed.timer, Some(fixture.now + ms(20)));
}

#[test]
fn a_repeated_cancel_with_a_grace_changes_nothing_and_tells_nobody() {
    let (mut fixture, _) = Fixture::held(brief());
    let first = fixture.act(cancel(id(1), Some(ms(50))));
    let (stored, events) = (fixture.store.clone(), fixture.events.clone());
    fixture.advance(ms(10));
    assert_eq!(fixture.act(cancel(id(1), Some(ms(50)))), first);
    assert_eq!((fixture.store, fixture.events), (stored, events));
}

#[test]
fn during_a_grace_a_result_still_counts() {
    let (mut fixture, held) = Fixture::held(brief());
    fixture.act(cancel(id(1), Some(ms(50)))).unwrap();
    let reply = fixture.act(complete(held.hold(), "done"));
    assert_eq!(reply, Ok(Reply::Exited(Exited::Completed)));
}

#[test]
fn during_a_grace_every_other_exit_cancels() {
    for n in 0..4 {
        let (mut fixture, held) = Fixture::held(brief());
        fixture.act(cancel(id(1), Some(ms(50)))).unwrap();
        let hold = held.hold();
        let reply = match n {
            0 => fixture.act(fail(hold, true)),
            1 => fixture.act(delay(hold, ms(10))),
            2 => fixture.act(hand_back(hold)),
            _ => fixture.act(cancel_held(hold)),
        };
        assert_eq!(reply, Ok(Reply::Exited(Exited::Cancelled)));
        assert_eq!(Node::of(fixture.get(id(1))), Node::Cancelled);
    }
}

#[test]
fn the_reason_of_a_cancel_survives_to_its_end() {
    let (mut fixture, held) = Fixture::held(brief());
    let asked =
        Cancel { target: target(id(1)), grace: Some(ms(50)), reason: Some("budget".into()) };
    fixture.act(asked).unwrap();
    fixture.act(cancel(id(1), Some(ms(40)))).unwrap();
    fixture.act(hand_back(held.hold())).unwrap();
    assert_eq!(reason(&fixture), Some("budget"));
}

#[test]
fn an_immediate_cancel_during_a_grace_ends_it_with_the_reason_given_first() {
    let (mut fixture, _) = Fixture::held(brief());
    let asked =
        Cancel { target: target(id(1)), grace: Some(ms(50)), reason: Some("budget".into()) };
    fixture.act(asked).unwrap();
    assert_eq!(fixture.act(cancel(id(1), None)), Ok(Cancelled::Finished.into()));
    assert_eq!(reason(&fixture), Some("budget"));
}
