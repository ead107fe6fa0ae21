//! The exits from a hold: each once, each complete, and the same answer to the same call.

use ff_core::machine::{Assignment, Reply};
use ff_core::placement::Entry;
use ff_core::policy::{Policy, Retry};
use ff_core::record::{EndReason, Exited};
use ff_core::state::{Outcome, State};
use ff_core::view::AttemptState;
use ff_core::{Code, ExecutionId, PublicState, When};

use crate::fixture::{Fixture, Refused, exit_calls, failure, holder_calls, ms, permanent, steady};

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
        "pass the deadline" => policy.deadline = Some(ms(50)),
        _ => {}
    }
    let held = g.held_under(policy).await;
    let id = held.execution;
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
        _ => g.pass(ms(50)).await,
    }
    held
}

/// What is left of a hold in the indexes.
async fn traces(g: &Fixture, id: ExecutionId) -> (bool, bool, bool) {
    let entries = g.entries(id).await;
    let any = |of: fn(&Entry) -> bool| entries.iter().any(of);
    (
        any(|entry| matches!(entry, Entry::Request(_))),
        any(|entry| matches!(entry, Entry::Timer(_))),
        any(|entry| matches!(entry, Entry::Queue(_))),
    )
}

pub(crate) async fn every_exit_cleans_up(g: Fixture) {
    for (how, over) in EXITS {
        let held = leave(&g, how).await;
        let record = g.record(held.execution).await;
        assert_eq!(record.lease(), None, "{how}");
        assert_eq!(record.outcome().is_some(), *over, "{how}: {:?}", record.state);
        let (request, timer, queue) = traces(&g, held.execution).await;
        assert!(!request, "{how} leaves the claim's entry");
        assert_eq!(queue, matches!(record.state, State::Queued { .. }), "{how}: the queue");
        assert_eq!(timer, !matches!(record.state, State::Queued { .. }), "{how}: the timer");
        let paused = record.state_vector().attempt_state == AttemptState::AttemptInterrupted;
        assert_eq!(record.attempt.unwrap().end.is_none(), paused, "{how}: the attempt");
        g.cancel(held.execution, None).await.ok();
    }
}

pub(crate) async fn a_former_holder_is_refused_after_every_exit(g: Fixture) {
    for (how, _) in EXITS {
        let held = leave(&g, how).await;
        let before = g.snapshot().await;
        for (call, action) in holder_calls(&held.hold()) {
            match g.run(action).await {
                Ok(Reply::Exited(_)) => {} // The same exit again.
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
                (_, other) => assert_eq!(other.refused(), Code::WrongState, "{call} of {state}"),
            }
        }
        assert_eq!(g.tick(id).await.did, None);
    }
    g.snapshot().await.assert_same(&before);
}
