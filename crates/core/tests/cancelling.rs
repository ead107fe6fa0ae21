//! Cancelling held work: at once, or leaving its holder some time to stop by itself.
#![allow(clippy::unwrap_used)]

mod world;

use ff_core::machine::{Cancel, Cancelled, Renewed, Reply};
use ff_core::record::Exited;
use ff_core::state::Outcome;
use ff_core::table::Node;
use ff_core::{Millis, Refusal};
use world::World;
use world::make::{
    brief, cancel, cancel_held, complete, delay, fail, hand_back, id, ms, renew, target,
};

/// The answer to a cancel that leaves the holder `grace` from now.
fn cancelling(world: &World, grace: Millis) -> Result<Reply, Refusal> {
    Ok(Cancelled::Cancelling { by: world.now + grace }.into())
}

/// The record of the cancel that ended the execution.
fn reason(world: &World) -> Option<&str> {
    match world.record(id(1)).outcome() {
        Some((Outcome::Cancelled { reason }, _)) => reason.as_deref(),
        other => panic!("not cancelled: {other:?}"),
    }
}

#[test]
fn the_holder_of_cancelled_work_is_told_at_its_next_call() {
    let (mut world, held) = World::held(brief());
    world.act(cancel(id(1), None)).unwrap();
    assert_eq!(world.act(renew(held.hold())), Err(Refusal::Cancelled));
    assert_eq!(world.act(complete(held.hold(), "done")), Err(Refusal::Cancelled));
}

#[test]
fn during_a_grace_the_holder_renews_and_is_told_when_it_ends() {
    let (mut world, held) = World::held(brief());
    assert_eq!(world.act(cancel(id(1), Some(ms(50)))), cancelling(&world, ms(50)));
    let cancel_by = Some(world.now + ms(50));
    world.advance(ms(20));
    let renewed = Renewed { until: world.now + ms(100), cancel_by };
    assert_eq!(world.act(renew(held.hold())), Ok(renewed.into()));
}

#[test]
fn a_later_cancel_shortens_a_grace_and_never_extends_it() {
    let (mut world, _) = World::held(brief());
    world.act(cancel(id(1), Some(ms(50)))).unwrap();
    assert_eq!(world.act(cancel(id(1), Some(ms(80)))), cancelling(&world, ms(50)));
    assert_eq!(world.act(cancel(id(1), Some(ms(20)))), cancelling(&world, ms(20)));
    assert_eq!(world.record(id(1)).placed.timer, Some(world.now + ms(20)));
}

#[test]
fn a_repeated_cancel_with_a_grace_changes_nothing_and_tells_nobody() {
    let (mut world, _) = World::held(brief());
    let first = world.act(cancel(id(1), Some(ms(50))));
    let (stored, events) = (world.store.clone(), world.events.clone());
    world.advance(ms(10));
    assert_eq!(world.act(cancel(id(1), Some(ms(50)))), first);
    assert_eq!((world.store, world.events), (stored, events));
}

#[test]
fn during_a_grace_a_result_still_counts() {
    let (mut world, held) = World::held(brief());
    world.act(cancel(id(1), Some(ms(50)))).unwrap();
    let reply = world.act(complete(held.hold(), "done"));
    assert_eq!(reply, Ok(Reply::Exited(Exited::Completed)));
}

#[test]
fn during_a_grace_every_other_exit_cancels() {
    for n in 0..4 {
        let (mut world, held) = World::held(brief());
        world.act(cancel(id(1), Some(ms(50)))).unwrap();
        let hold = held.hold();
        let reply = match n {
            0 => world.act(fail(hold, true)),
            1 => world.act(delay(hold, ms(10))),
            2 => world.act(hand_back(hold)),
            _ => world.act(cancel_held(hold)),
        };
        assert_eq!(reply, Ok(Reply::Exited(Exited::Cancelled)));
        assert_eq!(Node::of(world.get(id(1))), Node::Cancelled);
    }
}

#[test]
fn the_reason_of_a_cancel_survives_to_its_end() {
    let (mut world, held) = World::held(brief());
    let asked =
        Cancel { target: target(id(1)), grace: Some(ms(50)), reason: Some("budget".into()) };
    world.act(asked).unwrap();
    world.act(cancel(id(1), Some(ms(40)))).unwrap();
    world.act(hand_back(held.hold())).unwrap();
    assert_eq!(reason(&world), Some("budget"));
}

#[test]
fn an_immediate_cancel_during_a_grace_ends_it_with_the_reason_given_first() {
    let (mut world, _) = World::held(brief());
    let asked =
        Cancel { target: target(id(1)), grace: Some(ms(50)), reason: Some("budget".into()) };
    world.act(asked).unwrap();
    assert_eq!(world.act(cancel(id(1), None)), Ok(Cancelled::Finished.into()));
    assert_eq!(reason(&world), Some("budget"));
}
