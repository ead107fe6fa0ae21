//! Signals: counted once, in time, from whom the engine knows, with the bytes they carry.

use ff_core::approval::Decision;
use ff_core::bounds::{CONDITION_COUNT, EARLY_SIGNALS, PAYLOAD_BYTES, SIGNALS_PER_WAITPOINT};
use ff_core::condition::{Condition, CountOf};
use ff_core::machine::{Signal, Signalled, Suspend, WaitpointRef};
use ff_core::policy::Policy;
use ff_core::signal::SignalEffect;
use ff_core::suspension::OnTimeout;
use ff_core::{Category, Code, Payload, PublicState, SignalName};

use crate::fixture::{
    Fixture, Refused, any_signal, count, key, ms, signal_named, steady, waitpoint_for,
    waitpoint_key,
};

pub(crate) async fn a_signal_is_kept_as_it_came(g: Fixture) {
    let held = g.parked().await;
    let id = held.execution;
    let payload = Payload::json("{\"ok\" : true}");
    let signal = Signal {
        name: SignalName::new("approve").ok(),
        category: Category::new("decision").ok(),
        payload: payload.clone(),
        ..g.signal(id, "gate")
    };
    let waitpoint = g.backend().waitpoints(&g.target(id)).await.unwrap()[0].id;
    assert_eq!(g.send(signal.clone()).await.unwrap().number, Some(0));
    let received = g.received(id).await;
    assert_eq!(received.len(), 1);
    let found = &received[0];
    assert_eq!((found.number, found.waitpoint, &found.key), (0, waitpoint, &waitpoint_key("gate")));
    assert_eq!((&found.name, &found.category), (&signal.name, &signal.category));
    assert_eq!((found.source.as_str(), &found.payload), ("local", &payload));
    assert_eq!(found.at, g.now().await);
}

pub(crate) async fn the_bytes_of_a_signal_come_out_as_they_went_in(g: Fixture) {
    let held = g.held().await;
    g.open(&held, "gate").await;
    let all: Vec<Payload> = [0, 1, PAYLOAD_BYTES]
        .map(|len| Payload::bytes((0..len).map(|at| at as u8).collect::<Vec<_>>()))
        .into();
    for payload in &all {
        let signal = Signal { payload: payload.clone(), ..g.signal(held.execution, "gate") };
        assert_eq!(g.effect(signal).await, SignalEffect::Recorded);
    }
    let received = g.received(held.execution).await;
    let bytes: Vec<_> = received.into_iter().map(|signal| signal.payload).collect();
    assert_eq!(bytes, all);
    let over = Payload::bytes(vec![0; PAYLOAD_BYTES + 1]);
    let signal = Signal { payload: over, ..g.signal(held.execution, "gate") };
    assert_eq!(g.send(signal).await.refused(), Code::TooLarge);
}

pub(crate) async fn the_same_signal_again_changes_nothing(g: Fixture) {
    let held = g.held().await;
    let id = held.execution;
    g.suspend(g.parking(&held, &["gate"], count(2, CountOf::Signals))).await.unwrap();
    let keyed = || Signal { key: Some(key("k")), ..g.signal(id, "gate") };
    let first = g.send(keyed()).await.unwrap();
    assert_eq!(first, Signalled { effect: SignalEffect::Recorded, number: Some(0) });
    let before = g.snapshot().await;
    let other_body = Signal { payload: Payload::bytes("other"), ..keyed() };
    for again in [keyed(), other_body] {
        let answer = g.send(again).await.unwrap();
        assert_eq!(answer, Signalled { effect: SignalEffect::Duplicate, number: Some(0) });
        g.snapshot().await.assert_same(&before);
    }
    let other = Signal { key: Some(key("l")), ..g.signal(id, "gate") };
    assert_eq!(g.effect(other).await, SignalEffect::Resumed);
}

pub(crate) async fn without_a_key_the_same_body_is_the_same_signal(g: Fixture) {
    let held = g.held().await;
    let id = held.execution;
    g.suspend(g.parking(&held, &["gate"], count(5, CountOf::Signals))).await.unwrap();
    let plain = || g.signal_of(id, "gate", "ann");
    assert_eq!(g.effect(plain()).await, SignalEffect::Recorded);
    assert_eq!(g.effect(plain()).await, SignalEffect::Duplicate);
    let differing = [
        g.signal_of(id, "gate", "bob"),
        Signal { name: SignalName::new("yes").ok(), ..plain() },
        Signal { payload: Payload::bytes("1"), ..plain() },
    ];
    for signal in differing {
        assert_eq!(g.effect(signal).await, SignalEffect::Recorded);
    }
}

pub(crate) async fn the_first_decision_of_a_source_stands(g: Fixture) {
    let held = g.held().await;
    let id = held.execution;
    g.suspend(g.parking(&held, &["gate"], count(2, CountOf::Sources))).await.unwrap();
    let decide = |who: &str, decision: Decision, said: &'static str| Signal {
        name: decision.name().ok(),
        category: Decision::category().ok(),
        payload: Payload::bytes(said),
        ..g.signal_of(id, "gate", who)
    };
    assert_eq!(g.effect(decide("ann", Decision::Approve, "fine")).await, SignalEffect::Recorded);
    let before = g.snapshot().await;
    for (decision, said) in [(Decision::Approve, "very fine"), (Decision::Reject, "on reflection")]
    {
        assert_eq!(g.effect(decide("ann", decision, said)).await, SignalEffect::Duplicate);
        g.snapshot().await.assert_same(&before);
    }
    assert_eq!(g.effect(decide("bob", Decision::Reject, "no")).await, SignalEffect::Resumed);
    assert_eq!(g.received(id).await.len(), 2);
    // The next gate is another question, at another waitpoint of the same key.
    let again = g.claimed().await;
    g.suspend(g.parking(&again, &["gate"], any_signal("gate"))).await.unwrap();
    assert_eq!(g.effect(decide("ann", Decision::Approve, "fine")).await, SignalEffect::Resumed);
}

pub(crate) async fn a_lost_reply_of_the_signal_that_resumed_counts_once(g: Fixture) {
    let held = g.parked().await;
    let id = held.execution;
    let signal = Signal { key: Some(key("k")), ..g.signal(id, "gate") };
    assert_eq!(g.effect(signal.clone()).await, SignalEffect::Resumed);
    assert_eq!(g.effect(signal.clone()).await, SignalEffect::Duplicate);
    let again = g.claimed().await;
    assert_eq!(g.effect(signal.clone()).await, SignalEffect::Duplicate);
    g.suspend(g.parking(&again, &["gate"], any_signal("gate"))).await.unwrap();
    assert_eq!(g.effect(signal).await, SignalEffect::Duplicate, "the next wait is another one");
    assert_eq!(g.state(id).await, PublicState::Suspended);
    assert_eq!(g.received(id).await.len(), 1);
}

pub(crate) async fn a_second_signal_by_the_same_source_does_not_count(g: Fixture) {
    let held = g.held().await;
    let id = held.execution;
    let two = Condition::Count {
        n: 2,
        of: CountOf::Sources,
        waitpoints: vec![waitpoint_key("gate")],
        name: SignalName::new("approve").ok(),
    };
    g.suspend(g.parking(&held, &["gate"], two)).await.unwrap();
    let approve = |who: &str, said: &'static str| Signal {
        name: SignalName::new("approve").ok(),
        payload: Payload::bytes(said),
        ..g.signal_of(id, "gate", who)
    };
    assert_eq!(g.effect(approve("ann", "1")).await, SignalEffect::Recorded);
    assert_eq!(g.effect(approve("ann", "2")).await, SignalEffect::Recorded);
    assert_eq!(g.state(id).await, PublicState::Suspended);
    assert_eq!(g.effect(approve("bob", "1")).await, SignalEffect::Resumed);
    assert_eq!(g.received(id).await.len(), 3);
}

pub(crate) async fn distinct_waitpoints_are_counted_once_each(g: Fixture) {
    let held = g.held().await;
    let id = held.execution;
    let two = count(2, CountOf::Waitpoints);
    g.suspend(g.parking(&held, &["a", "b", "c"], two)).await.unwrap();
    assert_eq!(g.effect(g.signal_of(id, "a", "ann")).await, SignalEffect::Recorded);
    assert_eq!(g.effect(g.signal_of(id, "a", "bob")).await, SignalEffect::Recorded);
    assert_eq!(g.effect(g.signal_of(id, "c", "ann")).await, SignalEffect::Resumed);
}

pub(crate) async fn counts_do_not_satisfy_each_other(g: Fixture) {
    let held = g.held().await;
    let id = held.execution;
    let at = |at: &str, n| Condition::Count {
        n,
        of: CountOf::Signals,
        waitpoints: vec![waitpoint_key(at)],
        name: None,
    };
    let both = Condition::All(vec![at("a", 1), at("b", 2)]);
    g.suspend(g.parking(&held, &["a", "b"], both)).await.unwrap();
    for who in ["ann", "bob", "cleo"] {
        assert_eq!(g.effect(g.signal_of(id, "a", who)).await, SignalEffect::Recorded);
    }
    assert_eq!(g.effect(g.signal_of(id, "b", "ann")).await, SignalEffect::Recorded);
    assert_eq!(g.effect(g.signal_of(id, "b", "bob")).await, SignalEffect::Resumed);
}

pub(crate) async fn a_signal_of_another_name_is_recorded_and_does_not_count(g: Fixture) {
    let held = g.held().await;
    let id = held.execution;
    g.suspend(g.parking(&held, &["gate"], signal_named("gate", "approve"))).await.unwrap();
    let named = |name: &str| Signal { name: SignalName::new(name).ok(), ..g.signal(id, "gate") };
    assert_eq!(g.effect(named("comment")).await, SignalEffect::Recorded);
    assert_eq!(g.effect(g.signal(id, "gate")).await, SignalEffect::Recorded);
    assert_eq!(g.effect(named("approve")).await, SignalEffect::Resumed);
}

/// The timeout wins at its own millisecond, whether or not it was ticked.
pub(crate) async fn a_signal_at_the_end_of_the_time_is_too_late(g: Fixture) {
    for then in [OnTimeout::Resume, OnTimeout::Fail, OnTimeout::Cancel, OnTimeout::Expire] {
        let held = g.held().await;
        let id = held.execution;
        let opened = g.suspend(g.parking_for(&held, ms(1_000), then)).await.unwrap().waitpoints;
        let signals = || [g.signal(id, "gate"), g.signal_to(id, opened[0].id)];
        g.advance(ms(1_000)).await;
        let late = Signalled { effect: SignalEffect::TooLate, number: None };
        let before = g.snapshot().await;
        for signal in signals() {
            assert_eq!(g.send(signal).await.unwrap(), late, "before the tick");
        }
        g.snapshot().await.assert_same(&before);
        g.tick(id).await;
        for signal in signals() {
            assert_eq!(g.send(signal).await.unwrap(), late, "after the tick");
        }
        assert!(g.received(id).await.is_empty());
        if then == OnTimeout::Resume {
            g.complete(&g.claimed().await, "done").await.unwrap();
        }
    }
}

pub(crate) async fn a_signal_just_before_the_end_of_the_time_counts(g: Fixture) {
    let held = g.held().await;
    g.suspend(g.parking_for(&held, ms(1_000), OnTimeout::Fail)).await.unwrap();
    g.advance(ms(999)).await;
    assert_eq!(g.effect(g.signal(held.execution, "gate")).await, SignalEffect::Resumed);
    g.pass(ms(5_000)).await;
    assert_eq!(g.state(held.execution).await, PublicState::Resumable);
}

pub(crate) async fn of_two_waitpoints_one_may_expire(g: Fixture) {
    let held = g.held().await;
    let id = held.execution;
    let either = Condition::Any(vec![any_signal("short"), any_signal("long")]);
    let mut suspend = g.parking(&held, &["short", "long"], either);
    suspend.waitpoints[0] = waitpoint_for("short", ms(1_000));
    let opened = g.suspend(suspend).await.unwrap().waitpoints;
    g.advance(ms(1_000)).await;
    for signal in [g.signal(id, "short"), g.signal_to(id, opened[0].id)] {
        assert_eq!(g.send(signal).await.refused(), Code::WaitpointClosed);
    }
    assert_eq!(g.open_keys(id).await, ["long"]);
    assert_eq!(g.effect(g.signal(id, "long")).await, SignalEffect::Resumed);
}

pub(crate) async fn a_signal_to_a_later_suspension_needs_its_own_waitpoint(g: Fixture) {
    let held = g.held().await;
    let id = held.execution;
    let first = g.suspend(g.parking(&held, &["gate"], any_signal("gate"))).await.unwrap();
    let old = first.waitpoints[0].id;
    g.send(g.signal(id, "gate")).await.unwrap();
    let again = g.claimed().await;
    let second = g.suspend(g.parking(&again, &["gate"], any_signal("gate"))).await.unwrap();
    assert_ne!(second.waitpoints[0].id, old);
    let stale = Signal { payload: Payload::bytes("old"), ..g.signal_to(id, old) };
    assert_eq!(g.send(stale).await.refused(), Code::WaitpointClosed);
    assert_eq!(g.state(id).await, PublicState::Suspended);
    let fresh = g.signal_to(id, second.waitpoints[0].id);
    assert_eq!(g.effect(fresh).await, SignalEffect::Resumed);
}

pub(crate) async fn a_signal_for_what_was_removed_finds_it_closed(g: Fixture) {
    let held = g.held_under(Policy { retention: ms(1_000), ..steady() }).await;
    let id = held.execution;
    let opened = g.open(&held, "gate").await;
    g.complete(&held, "done").await.unwrap();
    assert_eq!(g.send(g.signal_to(id, opened.id)).await.refused(), Code::WaitpointClosed);
    g.pass(ms(3_000)).await;
    assert_eq!(g.send(g.signal_to(id, opened.id)).await.refused(), Code::WaitpointClosed);
    assert_eq!(g.send(g.signal(id, "gate")).await.refused(), Code::NotFound);
}

pub(crate) async fn a_signal_from_another_namespace_finds_nothing(g: Fixture) {
    let held = g.parked().await;
    let elsewhere = g.elsewhere();
    let before = g.snapshot().await;
    let signal = elsewhere.signal(held.execution, "gate");
    assert_eq!(elsewhere.send(signal).await.refused(), Code::NotFound);
    let target = elsewhere.target(held.execution);
    assert_eq!(elsewhere.backend().signals(&target, 0, 10).await.refused(), Code::NotFound);
    assert_eq!(elsewhere.backend().waitpoints(&target).await.refused(), Code::NotFound);
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_signal_to_no_waitpoint_is_refused(g: Fixture) {
    let held = g.held().await;
    for key in ["gate", "other"] {
        let refused = g.send(g.signal(held.execution, key)).await.refused();
        assert_eq!(refused, Code::WaitpointClosed);
    }
}

/// A renewal and a signal change the same record: neither is lost.
pub(crate) async fn a_signal_to_a_held_execution_and_its_renewals_do_not_disturb_each_other(
    g: Fixture,
) {
    let held = g.held().await;
    let id = held.execution;
    g.open(&held, "gate").await;
    for turn in 0..20 {
        let signal = g.signal_of(id, "gate", &format!("source-{turn}"));
        let (renewed, sent) = tokio::join!(g.renew(held.hold()), g.send(signal));
        renewed.unwrap();
        assert_eq!(sent.unwrap().effect, SignalEffect::Recorded);
    }
    assert_eq!(g.received(id).await.len(), 20);
    g.suspend(g.parking(&held, &["gate"], count(20, CountOf::Sources))).await.unwrap();
    assert_eq!(g.state(id).await, PublicState::Resumable);
}

pub(crate) async fn a_thousand_signals_into_one_count(g: Fixture) {
    let held = g.held().await;
    let id = held.execution;
    g.suspend(g.parking(&held, &["gate"], count(2, CountOf::Sources))).await.unwrap();
    let numbered =
        |n: u32| Signal { key: Some(key(&format!("n{n}"))), ..g.signal_of(id, "gate", "ann") };
    for n in 0..SIGNALS_PER_WAITPOINT {
        let answer = g.send(numbered(n)).await.unwrap();
        let number = Some(u64::from(n));
        assert_eq!(answer, Signalled { effect: SignalEffect::Recorded, number });
    }
    let over = numbered(SIGNALS_PER_WAITPOINT);
    assert_eq!(g.send(over).await.refused(), Code::LimitReached);
    let known = g.send(numbered(3)).await.unwrap();
    let first = Signalled { effect: SignalEffect::Duplicate, number: Some(3) };
    assert_eq!(known, first, "what is known is found before the bound applies");
    assert_eq!(g.received(id).await.len(), 1_000);
    assert_eq!(g.state(id).await, PublicState::Suspended);
}

pub(crate) async fn the_largest_count_ends_with_its_last_signal(g: Fixture) {
    let held = g.held().await;
    let id = held.execution;
    let most = CONDITION_COUNT as u32;
    g.suspend(g.parking(&held, &["gate"], count(most, CountOf::Signals))).await.unwrap();
    let numbered = |n: u32| Signal { key: Some(key(&format!("n{n}"))), ..g.signal(id, "gate") };
    for n in 1..most {
        assert_eq!(g.effect(numbered(n)).await, SignalEffect::Recorded, "{n}");
    }
    assert_eq!(g.effect(numbered(1)).await, SignalEffect::Duplicate);
    assert_eq!(g.effect(numbered(most)).await, SignalEffect::Resumed);
    assert_eq!(g.send(numbered(most + 1)).await.refused(), Code::WaitpointClosed);
    assert_eq!(g.received(id).await.len(), CONDITION_COUNT);
}

pub(crate) async fn signals_that_wait_for_a_suspension_are_bounded(g: Fixture) {
    let held = g.held().await;
    let id = held.execution;
    g.open(&held, "a").await;
    g.open(&held, "b").await;
    let numbered =
        |at: &str, n: usize| Signal { key: Some(key(&format!("n{n}"))), ..g.signal(id, at) };
    for n in 0..EARLY_SIGNALS {
        let at = if n % 2 == 0 { "a" } else { "b" };
        assert_eq!(g.effect(numbered(at, n)).await, SignalEffect::Recorded);
    }
    assert_eq!(g.send(numbered("a", EARLY_SIGNALS)).await.refused(), Code::LimitReached);
    assert_eq!(g.effect(numbered("a", 0)).await, SignalEffect::Duplicate);
    let half = count(128, CountOf::Signals);
    let more = Condition::Count {
        n: 128,
        of: CountOf::Signals,
        waitpoints: vec![waitpoint_key("a")],
        name: None,
    };
    let suspend = g.parking(&held, &["a", "b"], Condition::All(vec![half, more]));
    g.suspend(Suspend { ..suspend }).await.unwrap();
    assert_eq!(g.state(id).await, PublicState::Resumable, "all of them count");
}

pub(crate) async fn a_page_of_signals_begins_where_it_is_asked_to(g: Fixture) {
    let held = g.held().await;
    let id = held.execution;
    g.open(&held, "gate").await;
    for n in 0..5 {
        let key = Some(key(&format!("n{n}")));
        g.send(Signal { key, ..g.signal(id, "gate") }).await.unwrap();
    }
    let target = g.target(id);
    let numbers = async |from, limit| {
        let page = g.backend().signals(&target, from, limit).await.unwrap();
        page.iter().map(|signal| signal.number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(0, 2).await, [0, 1]);
    assert_eq!(numbers(3, 100).await, [3, 4]);
    assert_eq!(numbers(5, 100).await, [] as [u64; 0]);
    assert_eq!(g.backend().received(&target, 4, 9).await.unwrap().len(), 1);
    for limit in [0, 1_001] {
        assert_eq!(g.backend().signals(&target, 0, limit).await.refused(), Code::InvalidArgument);
    }
    let absent = g.target(g.new_id());
    assert_eq!(g.backend().signals(&absent, 0, 10).await.refused(), Code::NotFound);
    let unknown = Signal {
        target: absent,
        waitpoint: WaitpointRef::ByKey(waitpoint_key("gate")),
        ..g.signal(id, "gate")
    };
    assert_eq!(g.send(unknown).await.refused(), Code::NotFound);
}
