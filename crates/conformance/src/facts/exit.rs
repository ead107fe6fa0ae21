//! The exits from a hold: each once, each complete, and the same answer to the same call.

use ff_core::limits::ExecutionLimits;
use ff_core::machine::{Assignment, Reply, Submit, Suspend};
use ff_core::placement::Entry;
use ff_core::policy::{Policy, Retry};
use ff_core::record::{EndReason, Exited};
use ff_core::state::{Outcome, State};
use ff_core::suspension::OnTimeout;
use ff_core::view::AttemptState;
use ff_core::{Code, ExecutionId, PublicState, When};

use crate::fixture::{
    Fixture, Refused, any_signal, at_once, exit_calls, failure, holder_calls, ms, named, permanent,
    steady,
};

pub(crate) async fn completing_ends_the_execution_with_its_result(g: Fixture) {
    let assignment = g.held().await;
    g.advance(ms(5)).await;
    assert_eq!(g.complete(&assignment, "done").await.unwrap(), Exited::Completed);
    let record = g.record(assignment.execution).await;
    let State::Finished { outcome: Outcome::Success { result }, at } = &record.state else {
        panic!("it ended as {:?}", record.state);
    };
    assert_eq!((result.len, *at), (4, g.now().await));
    assert_eq!(record.attempt.unwrap().end.unwrap().reason, EndReason::Completed);
    assert_eq!(&g.result(assignment.execution).await.unwrap().bytes[..], b"done");
}

pub(crate) async fn completing_twice_answers_the_same(g: Fixture) {
    let assignment = g.held().await;
    g.complete(&assignment, "done").await.unwrap();
    let before = g.snapshot().await;
    g.advance(ms(60_000)).await;
    assert_eq!(g.complete(&assignment, "done").await.unwrap(), Exited::Completed);
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn completing_with_another_result_is_refused(g: Fixture) {
    let assignment = g.held().await;
    g.complete(&assignment, "done").await.unwrap();
    let before = g.snapshot().await;
    assert_eq!(g.complete(&assignment, "other").await.refused(), Code::ExitConflict);
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn the_first_exit_of_a_lease_is_final(g: Fixture) {
    for first in 0..exit_calls(&g.held().await.hold()).len() {
        let assignment = g.held().await;
        let calls = exit_calls(&assignment.hold());
        let answer = g.run(calls[first].1.clone()).await.unwrap();
        let before = g.snapshot().await;
        for (second, (call, action)) in calls.iter().enumerate() {
            let after = format!("{call} after {}", calls[first].0);
            match g.run(action.clone()).await {
                Ok(again) if second == first => assert_eq!(again, answer, "{after}"),
                other => assert_eq!(other.refused(), Code::ExitConflict, "{after}"),
            }
        }
        g.snapshot().await.assert_same(&before);
        g.cancel(assignment.execution, None).await.ok();
    }
}

pub(crate) async fn an_exit_is_answered_again_while_the_next_holder_works(g: Fixture) {
    let first = g.held().await;
    g.hand_back(&first).await.unwrap();
    let second = g.claimed_by("bob").await;
    assert_eq!(g.hand_back(&first).await.unwrap(), Exited::HandedBack);
    g.renew(second.hold()).await.unwrap();
    g.complete(&second, "done").await.unwrap();
    assert_eq!(g.hand_back(&first).await.refused(), Code::StaleLease, "one exit is remembered");
}

pub(crate) async fn concurrent_exits_of_one_lease_have_one_outcome(g: Fixture) {
    let assignment = g.held().await;
    let mut calls = tokio::task::JoinSet::new();
    for result in ["a", "b", "c", "d", "e", "f"] {
        let (g, assignment) = (g.clone(), assignment.clone());
        calls.spawn(async move { (result, g.complete(&assignment, result).await) });
    }
    let answers = calls.join_all().await;
    let accepted: Vec<_> = answers.iter().filter(|(_, answer)| answer.is_ok()).collect();
    assert_eq!(accepted.len(), 1, "{answers:?}");
    let stored = g.result(assignment.execution).await.unwrap();
    assert_eq!(stored.bytes, accepted[0].0);
}

/// Every exit from a hold, and whether it finishes the execution.
const EXITS: &[(&str, bool)] = &[
    ("complete", true),
    ("fail for good", true),
    ("fail and back off", false),
    ("fail and retry at once", false),
    ("delay", false),
    ("delay into the past", false),
    ("cancel by its holder", true),
    ("hand back", false),
    ("cancel", true),
    ("cancel with a grace", true),
    ("revoke", false),
    ("lose the lease", false),
    ("lose the last lease", true),
    ("time out", false),
    ("time out for good", true),
    ("pass the deadline", true),
    ("suspend", false),
    ("suspend for a while", false),
    ("suspend after its signal", false),
    ("continue by a signal", false),
    ("continue by an operator", false),
    ("continue by its timeout", false),
    ("fail by its timeout", true),
    ("be cancelled by its timeout", true),
    ("expire by its timeout", true),
    ("be cancelled while suspended", true),
    ("pass the deadline while suspended", true),
];

/// New work, ended by the named exit.
async fn leave(g: &Fixture, how: &str) -> Assignment {
    let mut policy = steady();
    match how {
        "fail and retry at once" => policy.retry.backoff = ff_core::policy::Backoff::none(),
        "lose the last lease" => policy.max_reclaims = 0,
        "time out" => policy.attempt_timeout = Some(ms(50)),
        "time out for good" => {
            policy = Policy { retry: Retry::never(), attempt_timeout: Some(ms(50)), ..policy }
        }
        "pass the deadline" | "pass the deadline while suspended" => {
            policy.deadline = Some(ms(50));
        }
        _ => {}
    }
    let limits = ExecutionLimits { quotas: [named("api")].into(), ..ExecutionLimits::default() };
    g.submit(Submit { limits, policy: policy.into(), ..g.work() }).await;
    let held = g.claimed().await;
    let id = held.execution;
    assert_eq!(g.quota("api").await.active, 1, "{how}");
    let parked = || g.parking(&held, &["gate"], any_signal("gate"));
    let over = |then| g.parking_for(&held, ms(50), then);
    match how {
        "complete" => drop(g.complete(&held, "done").await.unwrap()),
        "fail for good" => drop(g.fail(&held, permanent("broken")).await.unwrap()),
        "fail and back off" | "fail and retry at once" => {
            g.fail(&held, failure("broken")).await.unwrap();
        }
        "delay" => drop(g.delay(&held, When::After(ms(70))).await.unwrap()),
        "delay into the past" => drop(g.delay(&held, When::Now).await.unwrap()),
        "cancel by its holder" => drop(g.cancel_held(&held, None).await.unwrap()),
        "hand back" => drop(g.hand_back(&held).await.unwrap()),
        "cancel" => drop(g.cancel(id, None).await.unwrap()),
        "cancel with a grace" => {
            g.cancel(id, Some(ms(50))).await.unwrap();
            g.pass(ms(50)).await;
        }
        "revoke" => drop(g.revoke(id, held.fence).await.unwrap()),
        "lose the lease" | "lose the last lease" => g.pass(held.lease_ttl).await,
        "suspend" | "be cancelled while suspended" | "pass the deadline while suspended" => {
            g.suspend(parked()).await.unwrap();
            match how {
                "be cancelled while suspended" => drop(g.cancel(id, None).await.unwrap()),
                _ => g.pass(ms(50)).await,
            }
        }
        "suspend for a while" => drop(g.suspend(over(OnTimeout::Fail)).await.unwrap()),
        "suspend after its signal" => {
            g.open(&held, "gate").await;
            g.send(g.signal(id, "gate")).await.unwrap();
            g.suspend(parked()).await.unwrap();
        }
        "continue by a signal" => {
            g.suspend(parked()).await.unwrap();
            g.send(g.signal(id, "gate")).await.unwrap();
        }
        "continue by an operator" => {
            g.suspend(parked()).await.unwrap();
            assert!(g.wake(id).await.unwrap());
        }
        "continue by its timeout" => suspended_past(g, over(OnTimeout::Resume)).await,
        "fail by its timeout" => suspended_past(g, over(OnTimeout::Fail)).await,
        "be cancelled by its timeout" => suspended_past(g, over(OnTimeout::Cancel)).await,
        "expire by its timeout" => suspended_past(g, over(OnTimeout::Expire)).await,
        _ => g.pass(ms(50)).await,
    }
    held
}

/// A suspension whose time is over.
async fn suspended_past(g: &Fixture, suspend: Suspend) {
    g.suspend(suspend).await.unwrap();
    g.pass(ms(50)).await;
}

/// What is left of a hold in the indexes: the entries of its claim, its timer, its place in the queue, and
/// of what a person should see.
async fn traces(g: &Fixture, id: ExecutionId) -> [bool; 4] {
    let entries = g.entries(id).await;
    let any = |of: fn(&Entry) -> bool| entries.iter().any(of);
    [
        any(|entry| matches!(entry, Entry::Request(_))),
        any(|entry| matches!(entry, Entry::Timer(_))),
        any(|entry| matches!(entry, Entry::Queue(_))),
        any(|entry| matches!(entry, Entry::Attention(..))),
    ]
}

pub(crate) async fn every_exit_cleans_up(g: Fixture) {
    g.put_quota("api", at_once(1)).await;
    for (how, over) in EXITS {
        let held = leave(&g, how).await;
        let record = g.record(held.execution).await;
        assert_eq!(record.lease(), None, "{how}");
        assert_eq!(record.outcome().is_some(), *over, "{how}: {:?}", record.state);
        let [request, timer, queue, attention] = traces(&g, held.execution).await;
        assert!(!request, "{how} leaves the claim's entry");
        let is_queued = matches!(record.state, State::Queued { .. });
        let endless = match &record.state {
            State::Suspended { suspension } => suspension.until.is_none(),
            _ => false,
        };
        assert_eq!(queue, is_queued, "{how}: the queue");
        assert_eq!(timer, !is_queued && !endless, "{how}: the timer");
        let seen = [PublicState::Suspended, PublicState::Failed].contains(&record.public_state());
        assert_eq!(attention, seen, "{how}: what a person sees");
        assert_eq!(g.quota("api").await.active, 0, "{how}: the slot");
        assert_eq!(g.tickets().await, [], "{how}: the ticket");
        let open = g.open_keys(held.execution).await;
        let waits = record.public_state() == PublicState::Suspended;
        assert_eq!(open.len(), usize::from(waits), "{how}: waitpoints {open:?}");
        let paused = record.state_vector().attempt_state == AttemptState::AttemptInterrupted;
        assert_eq!(record.attempt.unwrap().end.is_none(), paused, "{how}: the attempt");
        g.cancel(held.execution, None).await.ok();
    }
}

pub(crate) async fn a_former_holder_is_refused_after_every_exit(g: Fixture) {
    g.put_quota("api", at_once(1)).await;
    for (how, _) in EXITS {
        let held = leave(&g, how).await;
        let before = g.snapshot().await;
        for (call, action) in holder_calls(&held.hold()) {
            match g.run(action).await {
                // The same exit again.
                Ok(Reply::Exited(_) | Reply::Suspended(_)) => {}
                other => {
                    let code = other.refused();
                    let known = [Code::StaleLease, Code::Cancelled, Code::ExitConflict];
                    assert!(known.contains(&code), "{call} after {how}: {code}");
                }
            }
        }
        g.snapshot().await.assert_same(&before);
        g.cancel(held.execution, None).await.ok();
    }
}

pub(crate) async fn a_finished_execution_does_not_change(g: Fixture) {
    let finished = [
        (g.completed().await, PublicState::Completed),
        (g.failed().await, PublicState::Failed),
        (g.cancelled().await, PublicState::Cancelled),
        (g.expired().await, PublicState::Expired),
    ];
    let before = g.snapshot().await;
    for (id, state) in finished {
        let calls = crate::fixture::steering_calls(&g.target(id));
        for (call, action) in
            calls.into_iter().filter(|(call, _)| !["replay", "delete"].contains(call))
        {
            match (call, g.run(action).await) {
                ("cancel", Ok(_)) if state == PublicState::Cancelled => {}
                ("claim granted", other) => assert_eq!(other.refused(), Code::StaleGrant),
                ("revoke", other) => assert_eq!(other.refused(), Code::StaleLease),
                ("signal", other) => assert_eq!(other.refused(), Code::WaitpointClosed),
                (_, other) => assert_eq!(other.refused(), Code::WrongState, "{call} of {state}"),
            }
        }
        assert_eq!(g.tick(id).await.did, None);
    }
    g.snapshot().await.assert_same(&before);
}
