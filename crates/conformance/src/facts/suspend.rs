//! Suspension: a holder parks its execution, which holds no worker until it continues.

use ff_core::condition::{Condition, CountOf};
use ff_core::machine::{ClaimRequest, Signal, Suspend, Suspended};
use ff_core::placement::Attention;
use ff_core::policy::Policy;
use ff_core::record::{EndReason, Exited};
use ff_core::signal::SignalEffect;
use ff_core::state::{Intent, Outcome, State};
use ff_core::suspension::{OnTimeout, SuspendReason};
use ff_core::timer::DueAction;
use ff_core::view::{AttemptState, BlockingReason, LifecyclePhase, OwnershipState};
use ff_core::{Category, Code, PublicState, When};
use ff_store::listing::Filter;
use ff_store::{ListIndex, ListScan};

use crate::fixture::{
    Fixture, Refused, any_signal, at_once, count, ms, signal_named, steady, waitpoint,
};

pub(crate) async fn a_suspended_execution_holds_no_worker_and_keeps_its_attempt(g: Fixture) {
    let held = g.held().await;
    let suspend = g.parking(&held, &["gate"], any_signal("gate"));
    let answer = g.suspend(suspend).await.unwrap();
    assert_eq!(answer.exited, Some(Exited::Suspended { until: None }));
    assert_eq!(answer.waitpoints.len(), 1);
    let record = g.record(held.execution).await;
    assert_eq!(record.public_state(), PublicState::Suspended);
    assert_eq!(record.attempt.as_ref().unwrap().end, None);
    let vector = record.state_vector();
    assert_eq!(vector.lifecycle_phase, LifecyclePhase::Suspended);
    assert_eq!(vector.ownership_state, OwnershipState::Unowned);
    assert_eq!(vector.blocking_reason, BlockingReason::WaitingForSignal);
    assert_eq!(vector.attempt_state, AttemptState::AttemptInterrupted);
    assert!(g.nothing_to_claim().await);
    assert_eq!(g.renew(held.hold()).await.refused(), Code::StaleLease);
}

pub(crate) async fn a_signal_continues_the_same_attempt_under_a_new_lease(g: Fixture) {
    let first = g.parked().await;
    let effect = g.effect(g.signal(first.execution, "gate")).await;
    assert_eq!(effect, SignalEffect::Resumed);
    let record = g.record(first.execution).await;
    assert_eq!(record.state, State::Queued { why: Intent::Resume });
    assert_eq!(record.public_state(), PublicState::Resumable);
    let second = g.claimed_by("bob").await;
    assert_eq!((second.fence.attempt, second.fence.epoch), (0, 2));
    g.complete(&second, "done").await.unwrap();
    assert_eq!(g.attempts(first.execution).await.len(), 1);
}

pub(crate) async fn what_continues_keeps_its_place_in_the_queue(g: Fixture) {
    let g = g.in_one_partition();
    let first = g.parked().await;
    g.advance(ms(500)).await;
    let later = g.waiting().await;
    g.send(g.signal(first.execution, "gate")).await.unwrap();
    assert_eq!(g.claimed().await.execution, first.execution);
    assert_eq!(g.claimed().await.execution, later);
}

pub(crate) async fn what_continues_is_claimed_by_a_grant_too(g: Fixture) {
    let first = g.parked().await;
    g.send(g.signal(first.execution, "gate")).await.unwrap();
    let offer = g.granted().await;
    let claimed = g.backend().claim_granted(g.use_of(&offer)).await.unwrap();
    let second = &claimed.assignments[0];
    assert_eq!((second.execution, second.fence.attempt), (first.execution, 0));
}

pub(crate) async fn a_signal_wakes_a_claim_that_waits(g: Fixture) {
    let first = g.parked().await;
    let claim = ClaimRequest { ..g.claim() };
    let waits = g.backend().claim(claim, ms(30_000));
    let wakes = async {
        g.send(g.signal(first.execution, "gate")).await.unwrap();
    };
    let (claimed, ()) = tokio::join!(waits, wakes);
    assert_eq!(claimed.unwrap().assignments[0].execution, first.execution);
}

pub(crate) async fn the_attempt_timeout_starts_again_when_it_continues(g: Fixture) {
    let policy = Policy { attempt_timeout: Some(ms(3_000)), ..steady() };
    let held = g.held_under(policy).await;
    g.suspend(g.parking(&held, &["gate"], any_signal("gate"))).await.unwrap();
    g.pass(ms(60_000)).await;
    assert_eq!(g.state(held.execution).await, PublicState::Suspended);
    g.send(g.signal(held.execution, "gate")).await.unwrap();
    let again = g.claimed().await;
    assert_eq!(again.timeout_at, Some(g.now().await + ms(3_000)));
    g.pass(ms(3_000)).await;
    let record = g.record(held.execution).await;
    assert_eq!(record.attempt.unwrap().end.map(|end| end.reason), Some(EndReason::TimedOut));
}

pub(crate) async fn a_slot_is_given_back_while_parked_and_asked_for_again(g: Fixture) {
    let g = g.in_one_partition();
    g.put_quota("api", at_once(1)).await;
    let first = g.under(&["api"]).await;
    let second = g.under(&["api"]).await;
    let held = g.claimed().await;
    assert_eq!(held.execution, first);
    assert!(g.nothing_to_claim().await);
    g.suspend(g.parking(&held, &["gate"], any_signal("gate"))).await.unwrap();
    assert_eq!(g.quota("api").await.active, 0);
    g.pass(ms(0)).await;
    let other = g.claimed().await;
    assert_eq!(other.execution, second);
    g.send(g.signal(first, "gate")).await.unwrap();
    assert!(g.nothing_to_claim().await, "the slot is taken");
    assert_eq!(g.state(first).await, PublicState::RateLimited);
    g.complete(&other, "done").await.unwrap();
    g.pass(ms(0)).await;
    let again = g.claimed().await;
    assert_eq!((again.execution, again.fence.attempt), (first, 0));
}

pub(crate) async fn a_suspension_without_a_timeout_waits_as_long_as_it_takes(g: Fixture) {
    let held = g.parked().await;
    g.pass(ms(86_400_000 * 90)).await;
    assert_eq!(g.state(held.execution).await, PublicState::Suspended);
    assert_eq!(g.effect(g.signal(held.execution, "gate")).await, SignalEffect::Resumed);
}

pub(crate) async fn a_timeout_continues_it(g: Fixture) {
    let held = g.held().await;
    let until = g.now().await + ms(1_000);
    let answer = g.suspend(g.parking_for(&held, ms(1_000), OnTimeout::Resume)).await.unwrap();
    assert_eq!(answer.exited, Some(Exited::Suspended { until: Some(until) }));
    g.advance(ms(999)).await;
    assert_eq!(g.tick(held.execution).await.did, None);
    g.advance(ms(1)).await;
    assert_eq!(g.tick(held.execution).await.did, Some(DueAction::SuspensionOver));
    assert_eq!(g.state(held.execution).await, PublicState::Resumable);
    assert_eq!(g.claimed().await.fence.attempt, 0);
}

pub(crate) async fn a_timeout_fails_it_for_good(g: Fixture) {
    let held = g.held().await;
    g.suspend(g.parking_for(&held, ms(1_000), OnTimeout::Fail)).await.unwrap();
    g.pass(ms(1_000)).await;
    let record = g.record(held.execution).await;
    let Some((Outcome::Failed { failure }, _)) = record.outcome() else {
        panic!("{:?}", record.state)
    };
    assert_eq!(failure.category, Category::suspension_timeout());
    assert!(!failure.retryable);
    assert_eq!(record.run.failures, 1);
}

pub(crate) async fn a_timeout_cancels_it_or_lets_it_expire(g: Fixture) {
    for (then, state) in
        [(OnTimeout::Cancel, PublicState::Cancelled), (OnTimeout::Expire, PublicState::Expired)]
    {
        let held = g.held().await;
        g.suspend(g.parking_for(&held, ms(1_000), then)).await.unwrap();
        g.pass(ms(1_000)).await;
        let record = g.record(held.execution).await;
        assert_eq!(record.public_state(), state);
        assert!(record.attempt.unwrap().end.is_some());
        assert!(g.open_keys(held.execution).await.is_empty());
    }
}

pub(crate) async fn a_suspend_while_a_cancel_is_open_cancels(g: Fixture) {
    let held = g.held().await;
    g.cancel(held.execution, Some(ms(5_000))).await.unwrap();
    let suspend = g.parking(&held, &["gate"], any_signal("gate"));
    let answer = g.suspend(suspend.clone()).await.unwrap();
    assert_eq!(answer, Suspended { exited: Some(Exited::Cancelled), waitpoints: vec![] });
    assert_eq!(g.suspend(suspend).await.unwrap(), answer);
    assert_eq!(g.state(held.execution).await, PublicState::Cancelled);
    assert!(g.open_keys(held.execution).await.is_empty());
}

pub(crate) async fn a_repeated_suspend_is_one_suspension(g: Fixture) {
    let held = g.held().await;
    let suspend = || g.parking_for(&held, ms(5_000), OnTimeout::Resume);
    let first = g.suspend(suspend()).await.unwrap();
    let before = g.snapshot().await;
    g.advance(ms(300)).await;
    assert_eq!(g.suspend(suspend()).await.unwrap(), first, "with the same waitpoints");
    g.snapshot().await.assert_same(&before);
    let other = Suspend { message: Some("other".into()), ..suspend() };
    assert_eq!(g.suspend(other).await.refused(), Code::ExitConflict);
}

pub(crate) async fn a_repeated_suspend_is_answered_after_it_has_continued(g: Fixture) {
    let held = g.held().await;
    let suspend = || g.parking(&held, &["gate"], any_signal("gate"));
    let first = g.suspend(suspend()).await.unwrap();
    g.send(g.signal(held.execution, "gate")).await.unwrap();
    let over = Suspended { waitpoints: vec![], ..first.clone() };
    assert_eq!(g.suspend(suspend()).await.unwrap(), over, "its waitpoint is closed");
    let again = g.claimed().await;
    assert_eq!(g.suspend(suspend()).await.unwrap(), over, "the new lease is untouched");
    g.renew(again.hold()).await.unwrap();
    assert_eq!(g.state(held.execution).await, PublicState::Active);
}

pub(crate) async fn early_signals_count(g: Fixture) {
    let held = g.held().await;
    let id = held.execution;
    g.open(&held, "gate").await;
    assert_eq!(g.effect(g.signal(id, "gate")).await, SignalEffect::Recorded);
    let answer = g.suspend(g.parking(&held, &["gate"], any_signal("gate"))).await.unwrap();
    assert_eq!(answer.exited, Some(Exited::Suspended { until: None }));
    assert_eq!(g.state(id).await, PublicState::Resumable);
    assert!(g.open_keys(id).await.is_empty());
    assert_eq!(g.claimed().await.fence.attempt, 0);
}

pub(crate) async fn early_signals_count_in_composite_conditions(g: Fixture) {
    let held = g.held().await;
    let id = held.execution;
    g.open(&held, "a").await;
    g.open(&held, "b").await;
    g.send(g.signal(id, "a")).await.unwrap();
    let both = Condition::All(vec![any_signal("a"), any_signal("b")]);
    g.suspend(g.parking(&held, &["a", "b"], both)).await.unwrap();
    assert_eq!(g.state(id).await, PublicState::Suspended);
    assert_eq!(g.effect(g.signal(id, "b")).await, SignalEffect::Resumed);
}

pub(crate) async fn a_deeply_nested_condition_continues_it(g: Fixture) {
    let held = g.held().await;
    let deep = Condition::All(vec![Condition::Any(vec![Condition::All(vec![
        signal_named("a", "yes"),
        any_signal("b"),
    ])])]);
    g.suspend(g.parking(&held, &["a", "b"], deep)).await.unwrap();
    let named = |name: &str| Signal { name: name.parse().ok(), ..g.signal(held.execution, "a") };
    assert_eq!(g.effect(named("no")).await, SignalEffect::Recorded);
    assert_eq!(g.effect(g.signal(held.execution, "b")).await, SignalEffect::Recorded);
    assert_eq!(g.effect(named("yes")).await, SignalEffect::Resumed);
}

pub(crate) async fn a_try_that_is_satisfied_keeps_the_lease_and_changes_nothing(g: Fixture) {
    let held = g.held().await;
    g.open(&held, "gate").await;
    g.send(g.signal(held.execution, "gate")).await.unwrap();
    let before = g.snapshot().await;
    let attempt =
        || Suspend { keep_if_satisfied: true, ..g.parking(&held, &["gate"], any_signal("gate")) };
    for _ in 0..2 {
        let answer = g.suspend(attempt()).await.unwrap();
        assert_eq!(answer.exited, None);
        assert_eq!(answer.waitpoints.len(), 1);
        g.snapshot().await.assert_same(&before);
    }
    g.complete(&held, "done").await.unwrap();
}

pub(crate) async fn a_try_that_is_not_satisfied_suspends(g: Fixture) {
    let held = g.held().await;
    let suspend = g.parking(&held, &["gate"], any_signal("gate"));
    let answer = g.suspend(Suspend { keep_if_satisfied: true, ..suspend }).await.unwrap();
    assert!(answer.exited.is_some());
    assert_eq!(g.state(held.execution).await, PublicState::Suspended);
}

pub(crate) async fn a_suspended_execution_is_cancelled_at_once(g: Fixture) {
    for grace in [None, Some(ms(5_000))] {
        let held = g.parked().await;
        g.cancel(held.execution, grace).await.unwrap();
        let record = g.record(held.execution).await;
        assert_eq!(record.public_state(), PublicState::Cancelled);
        assert_eq!(record.attempt.unwrap().end.map(|end| end.reason), Some(EndReason::Cancelled));
        assert_eq!(g.send(g.signal(held.execution, "gate")).await.refused(), Code::WaitpointClosed);
    }
}

pub(crate) async fn a_deadline_ends_a_suspended_execution(g: Fixture) {
    let held = g.held_under(Policy { deadline: Some(ms(2_000)), ..steady() }).await;
    let id = held.execution;
    g.suspend(g.parking(&held, &["gate"], any_signal("gate"))).await.unwrap();
    g.advance(ms(2_000)).await;
    assert_eq!(
        g.send(g.signal(id, "gate")).await.refused(),
        Code::WaitpointClosed,
        "before a tick"
    );
    g.pass(ms(0)).await;
    assert_eq!(g.state(id).await, PublicState::Expired);
    assert_eq!(g.send(g.signal(id, "gate")).await.refused(), Code::WaitpointClosed);
}

pub(crate) async fn a_replay_starts_without_the_waitpoints_of_the_run_before(g: Fixture) {
    let held = g.parked().await;
    let id = held.execution;
    let old = g.backend().waitpoints(&g.target(id)).await.unwrap()[0].id;
    assert_eq!(g.replay(id, 0).await.refused(), Code::WrongState);
    g.cancel(id, None).await.unwrap();
    g.replay(id, 0).await.unwrap();
    assert!(g.open_keys(id).await.is_empty());
    let again = g.claimed().await;
    g.suspend(g.parking(&again, &["gate"], any_signal("gate"))).await.unwrap();
    assert_eq!(g.send(g.signal_to(id, old)).await.refused(), Code::WaitpointClosed);
    assert_eq!(g.state(id).await, PublicState::Suspended);
}

pub(crate) async fn an_operator_ends_a_suspension_without_its_condition(g: Fixture) {
    let held = g.parked().await;
    assert!(g.wake(held.execution).await.unwrap());
    assert!(!g.wake(held.execution).await.unwrap(), "it is not suspended any more");
    assert_eq!(g.state(held.execution).await, PublicState::Resumable);
    assert_eq!(g.send(g.signal(held.execution, "gate")).await.refused(), Code::WaitpointClosed);
    let again = g.claimed().await;
    g.complete(&again, "done").await.unwrap();
    assert_eq!(g.wake(held.execution).await.refused(), Code::WrongState);
    assert_eq!(g.elsewhere().wake(held.execution).await.refused(), Code::NotFound);
}

pub(crate) async fn approvals_are_one_listing(g: Fixture) {
    let mut ids = Vec::new();
    for reason in SuspendReason::ALL {
        let held = g.held().await;
        let suspend = g.parking(&held, &["gate"], any_signal("gate"));
        let message = Some("may it go out?".into());
        g.suspend(Suspend { reason: *reason, message, ..suspend }).await.unwrap();
        ids.push(held.execution);
    }
    let listed = async |attention| {
        let which = ListIndex::Attention(attention);
        let scan = ListScan { namespace: g.namespace.clone(), which, after: None, limit: 10 };
        g.store().list(scan).await.unwrap().iter().map(|one| one.position().id).collect::<Vec<_>>()
    };
    assert_eq!(listed(Attention::Approval).await, [*ids[1].as_bytes()]);
    let suspended = Filter { states: [PublicState::Suspended].into(), ..Filter::default() };
    assert_eq!(g.listed(suspended.clone()).await.len(), 4);
    let approvals = Filter { suspended_for: Some(SuspendReason::Approval), ..suspended };
    assert_eq!(g.listed(approvals).await, [ids[1]]);
    g.send(g.signal(ids[1], "gate")).await.unwrap();
    assert_eq!(listed(Attention::Approval).await, [] as [[u8; 16]; 0]);
    let explained = g.explained(ids[0]).await;
    assert_eq!(explained.reasons[0].as_str(), "suspended");
    let sentence = "The execution waits for a signal: may it go out?";
    assert_eq!(explained.sentence, sentence);
}

pub(crate) async fn a_condition_that_no_signal_satisfies_is_refused(g: Fixture) {
    let held = g.held().await;
    let n = |n, of| Condition::Count { n, of, waitpoints: Vec::new(), name: None };
    let nest =
        |depth: usize| (0..depth).fold(any_signal("a"), |inner, _| Condition::All(vec![inner]));
    for bad in [
        any_signal("b"),
        Condition::All(vec![]),
        Condition::Any(vec![]),
        n(0, CountOf::Signals),
        n(257, CountOf::Signals),
        n(2, CountOf::Waitpoints),
    ] {
        let refused = g.suspend(g.parking(&held, &["a"], bad.clone())).await.refused();
        assert_eq!(refused, Code::InvalidArgument, "{bad:?}");
    }
    for large in [
        nest(4),
        Condition::Any(vec![any_signal("a"); 32]),
        Condition::All(vec![n(200, CountOf::Signals), n(57, CountOf::Sources)]),
    ] {
        let refused = g.suspend(g.parking(&held, &["a"], large)).await.refused();
        assert_eq!(refused, Code::TooLarge);
    }
    let two = Suspend { waitpoints: vec![], ..g.parking(&held, &["a"], any_signal("a")) };
    assert_eq!(g.suspend(two).await.refused(), Code::InvalidArgument);
    let twice = g.parking(&held, &["a", "a"], any_signal("a"));
    assert_eq!(g.suspend(twice).await.refused(), Code::InvalidArgument);
    g.suspend(g.parking(&held, &["a"], nest(3))).await.unwrap();
}

pub(crate) async fn the_largest_condition_is_kept_as_it_is(g: Fixture) {
    let held = g.held().await;
    let keys: Vec<String> = (0..16).map(|at| format!("{at:02}{}", "k".repeat(62))).collect();
    let all = keys.iter().map(|key| key.parse().unwrap()).collect::<Vec<_>>();
    let name = "n".repeat(64).parse().ok();
    let leaf = Condition::Count { n: 8, of: CountOf::Sources, waitpoints: all, name };
    let condition = Condition::Any(vec![leaf; 31]);
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let suspend = g.parking(&held, &keys, condition.clone());
    let message: Box<str> = "m".repeat(4_096).into();
    g.suspend(Suspend { message: Some(message), ..suspend }).await.unwrap();
    for (at, key) in keys.iter().enumerate().take(7) {
        let signal = g.signal_of(held.execution, key, &format!("source-{at}"));
        let name = "n".repeat(64).parse().ok();
        assert_eq!(g.effect(Signal { name, ..signal }).await, SignalEffect::Recorded);
    }
    let record = g.record(held.execution).await;
    let State::Suspended { suspension } = &record.state else { panic!("{:?}", record.state) };
    assert_eq!(suspension.condition, condition);
    assert_eq!(suspension.counted.len(), 31 * 7);
}

pub(crate) async fn a_stale_holder_suspends_nothing(g: Fixture) {
    let held = g.held().await;
    g.hand_back(&held).await.unwrap();
    let again = g.claimed().await;
    let before = g.snapshot().await;
    let suspend = g.parking(&held, &["gate"], any_signal("gate"));
    assert_eq!(g.suspend(suspend).await.refused(), Code::ExitConflict);
    assert_eq!(g.try_open(&held, waitpoint("gate")).await.refused(), Code::StaleLease);
    assert_eq!(g.close(&held, "gate").await.refused(), Code::StaleLease);
    g.snapshot().await.assert_same(&before);
    g.complete(&again, "done").await.unwrap();
}

pub(crate) async fn a_timeout_in_the_past_is_over_at_once(g: Fixture) {
    let held = g.held().await;
    let suspend = g.parking(&held, &["gate"], count(1, CountOf::Signals));
    let timeout = Some(When::At(g.now().await - ms(5)));
    g.suspend(Suspend { timeout, ..suspend }).await.unwrap();
    assert_eq!(g.effect(g.signal(held.execution, "gate")).await, SignalEffect::TooLate);
    g.pass(ms(0)).await;
    assert_eq!(g.state(held.execution).await, PublicState::Resumable);
}
