//! Cancelling held work that is being cancelled already: what each cancel tells, and which reason stays.

use ff_core::machine::{Cancel, Cancelled};
use ff_core::state::Outcome;

use crate::fixture::Fixture;
use crate::fixture::make::{brief, cancel, hand_back, id, ms, target};

/// The record of the cancel that ended the execution.
fn reason(fixture: &Fixture) -> Option<&str> {
    match fixture.record(id(1)).outcome() {
        Some((Outcome::Cancelled { reason }, _)) => reason.as_deref(),
        other => panic!("not cancelled: {other:?}"),
    }
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
