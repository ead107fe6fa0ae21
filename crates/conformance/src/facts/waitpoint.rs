//! Waitpoints: opened before anything waits for them, closed for ever.

use ff_core::bounds::WAITPOINTS;
use ff_core::condition::Condition;
use ff_core::machine::{Signal, Suspend};
use ff_core::policy::{Backoff, Policy, Retry};
use ff_core::signal::SignalEffect;
use ff_core::{Code, Payload, PublicState};

use crate::fixture::{Fixture, Refused, any_signal, failure, ms, steady, waitpoint, waitpoint_for};

pub(crate) async fn opening_one_that_is_open_answers_it(g: Fixture) {
    let held = g.held().await;
    let first = g.open(&held, "gate").await;
    assert_eq!((first.signals, first.of, first.until), (0, None, None));
    let before = g.snapshot().await;
    assert_eq!(g.open(&held, "gate").await, first);
    g.snapshot().await.assert_same(&before);
    assert_ne!(g.open(&held, "other").await.id, first.id);
}

/// A token that was handed out before a failure stays good.
pub(crate) async fn one_that_is_open_stays_open_over_attempts(g: Fixture) {
    let retry = Retry { backoff: Backoff::none(), ..steady().retry };
    let held = g.held_under(Policy { retry, ..steady() }).await;
    let id = held.execution;
    let first = g.open(&held, "gate").await;
    g.send(g.signal_to(id, first.id)).await.unwrap();
    g.fail(&held, failure("broken")).await.unwrap();
    let again = g.claimed().await;
    assert_eq!(again.fence.attempt, 1);
    let open = g.open(&again, "gate").await;
    assert_eq!((open.id, open.signals), (first.id, 1));
    g.suspend(g.parking(&again, &["gate"], any_signal("gate"))).await.unwrap();
    assert_eq!(g.state(id).await, PublicState::Resumable, "the early signal counts");
}

pub(crate) async fn a_closed_one_stays_closed(g: Fixture) {
    let held = g.held().await;
    let id = held.execution;
    let first = g.open(&held, "gate").await;
    g.send(g.signal(id, "gate")).await.unwrap();
    g.close(&held, "gate").await.unwrap();
    g.close(&held, "gate").await.unwrap();
    assert!(g.open_keys(id).await.is_empty());
    let again = Signal { payload: Payload::bytes("2"), ..g.signal_to(id, first.id) };
    assert_eq!(g.send(again.clone()).await.refused(), Code::WaitpointClosed);
    let second = g.open(&held, "gate").await;
    assert_ne!(second.id, first.id);
    assert_eq!(g.send(again).await.refused(), Code::WaitpointClosed);
    g.suspend(g.parking(&held, &["gate"], any_signal("gate"))).await.unwrap();
    assert_eq!(g.state(id).await, PublicState::Suspended, "its early signal went with it");
}

pub(crate) async fn one_that_expired_is_replaced(g: Fixture) {
    let held = g.held().await;
    let id = held.execution;
    let first = g.try_open(&held, waitpoint_for("gate", ms(1_000))).await.unwrap();
    assert_eq!(first.until, Some(g.now().await + ms(1_000)));
    g.advance(ms(999)).await;
    assert_eq!(g.effect(g.signal(id, "gate")).await, SignalEffect::Recorded);
    g.advance(ms(1)).await;
    for signal in [g.signal_to(id, first.id), g.signal_of(id, "gate", "bob")] {
        let signal = Signal { payload: Payload::bytes("late"), ..signal };
        assert_eq!(g.send(signal).await.refused(), Code::WaitpointClosed);
    }
    assert!(g.open_keys(id).await.is_empty());
    let second = g.open(&held, "gate").await;
    assert_ne!(second.id, first.id);
    assert_eq!(g.open_keys(id).await, ["gate"]);
}

pub(crate) async fn their_number_is_bounded(g: Fixture) {
    let held = g.held().await;
    for at in 0..WAITPOINTS {
        g.open(&held, &format!("w{at}")).await;
    }
    assert_eq!(g.try_open(&held, waitpoint("more")).await.refused(), Code::LimitReached);
    g.open(&held, "w3").await;
    let suspend = g.parking(&held, &["w0", "more"], any_signal("more"));
    assert_eq!(g.suspend(suspend).await.refused(), Code::LimitReached);
    g.close(&held, "w15").await.unwrap();
    g.open(&held, "more").await;
}

pub(crate) async fn those_of_a_suspension_close_with_it_and_others_stay(g: Fixture) {
    let held = g.held().await;
    let id = held.execution;
    g.open(&held, "aside").await;
    let either = Condition::Any(vec![any_signal("a"), any_signal("b")]);
    let answer = g.suspend(g.parking(&held, &["a", "b"], either)).await.unwrap();
    assert_eq!(answer.waitpoints.len(), 2);
    assert_eq!(g.open_keys(id).await, ["aside", "a", "b"]);
    assert_eq!(g.effect(g.signal(id, "aside")).await, SignalEffect::Recorded);
    assert_eq!(g.effect(g.signal(id, "b")).await, SignalEffect::Resumed);
    assert_eq!(g.open_keys(id).await, ["aside"]);
    assert_eq!(g.send(g.signal(id, "a")).await.refused(), Code::WaitpointClosed);
    assert_eq!(g.effect(g.signal_of(id, "aside", "ann")).await, SignalEffect::Recorded);
}

/// However an execution ends, no waitpoint of it stays open.
pub(crate) async fn what_has_ended_has_none(g: Fixture) {
    for end in 0..4 {
        let held = g.held_under(Policy { deadline: Some(ms(5_000)), ..steady() }).await;
        let id = held.execution;
        g.open(&held, "gate").await;
        g.send(g.signal_of(id, "gate", "ann")).await.unwrap();
        match end {
            0 => drop(g.complete(&held, "done").await.unwrap()),
            1 => drop(g.fail(&held, crate::fixture::permanent("broken")).await.unwrap()),
            2 => drop(g.cancel(id, None).await.unwrap()),
            _ => g.pass(ms(5_000)).await,
        }
        assert!(g.record(id).await.outcome().is_some());
        assert!(g.open_keys(id).await.is_empty());
        assert_eq!(g.send(g.signal_of(id, "gate", "bob")).await.refused(), Code::WaitpointClosed);
        assert_eq!(g.received(id).await.len(), 1, "what came stays readable");
        g.replay(id, 0).await.unwrap();
        assert!(g.open_keys(id).await.is_empty());
        g.complete(&g.claimed().await, "done").await.unwrap();
    }
}

pub(crate) async fn a_pending_one_takes_signals_in_every_state(g: Fixture) {
    let held = g.held().await;
    let id = held.execution;
    g.open(&held, "aside").await;
    let signal = |n: u32| g.signal_of(id, "aside", &format!("source-{n}"));
    assert_eq!(g.effect(signal(0)).await, SignalEffect::Recorded, "active");
    g.delay(&held, ff_core::When::After(ms(500))).await.unwrap();
    assert_eq!(g.effect(signal(1)).await, SignalEffect::Recorded, "delayed");
    g.pass(ms(500)).await;
    assert_eq!(g.effect(signal(2)).await, SignalEffect::Recorded, "queued");
    let offer = g.granted().await;
    assert_eq!(g.effect(signal(3)).await, SignalEffect::Recorded, "reserved");
    let claimed = g.backend().claim_granted(g.use_of(&offer)).await.unwrap();
    let again = &claimed.assignments[0];
    g.cancel(id, Some(ms(5_000))).await.unwrap();
    assert_eq!(g.effect(signal(4)).await, SignalEffect::Recorded, "asked to stop");
    g.complete(again, "done").await.unwrap();
    assert_eq!(g.received(id).await.len(), 5);
    let suspend = Suspend { ..g.parking(again, &["aside"], any_signal("aside")) };
    assert_eq!(g.suspend(suspend).await.refused(), Code::ExitConflict);
}
