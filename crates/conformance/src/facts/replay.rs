//! Replays: a finished execution runs again, and nothing of the old run is lost.

use ff_core::bounds::RUNS;
use ff_core::policy::Policy;
use ff_core::state::{Intent, Outcome, State};
use ff_core::{Code, ExecutionId, Millis, PublicState};
use ff_store::listing::Filter;

use crate::fixture::{Fixture, Refused, failure, ms, steady};

/// Claims what is queued and completes it.
async fn completed_again(g: &Fixture, result: &'static str) {
    g.complete(&g.claimed().await, result).await.unwrap();
}

async fn result_of(g: &Fixture, id: ExecutionId, run: u32) -> Vec<u8> {
    g.backend().result(&g.target(id), Some(run)).await.unwrap().bytes.to_vec()
}

pub(crate) async fn every_outcome_can_be_replayed(g: Fixture) {
    for id in [g.completed().await, g.failed().await, g.cancelled().await, g.expired().await] {
        assert_eq!(g.replay(id, 0).await.unwrap(), 1);
        assert_eq!(g.record(id).await.state, State::Queued { why: Intent::Replay });
        let assignment = g.claimed().await;
        assert_eq!((assignment.execution, assignment.run), (id, 1));
        g.complete(&assignment, "done").await.unwrap();
    }
}

pub(crate) async fn a_replay_starts_from_clean_counters(g: Fixture) {
    let id = g.waiting().await;
    g.fail(&g.claimed().await, failure("broken")).await.unwrap();
    g.pass(ms(1_000)).await;
    g.claimed().await;
    g.pass(ms(10_000)).await;
    g.cancel(id, None).await.unwrap();
    let run = g.record(id).await.run;
    assert_eq!((run.failures, run.reclaims), (1, 1));
    g.advance(ms(5)).await;
    g.replay(id, 0).await.unwrap();
    let run = g.record(id).await.run;
    assert_eq!((run.number, run.started), (1, g.now().await));
    assert_eq!((run.failures, run.reclaims), (0, 0));
}

pub(crate) async fn old_results_stay_readable(g: Fixture) {
    let id = g.waiting().await;
    for (run, result) in ["zero", "one", "two"].into_iter().enumerate() {
        completed_again(&g, result).await;
        if run < 2 {
            g.replay(id, run as u32).await.unwrap();
        }
    }
    for (run, result) in ["zero", "one", "two"].into_iter().enumerate() {
        assert_eq!(result_of(&g, id, run as u32).await, result.as_bytes());
    }
    assert_eq!(g.result(id).await.unwrap().bytes, "two");
}

pub(crate) async fn old_outcomes_stay_readable(g: Fixture) {
    let id = g.failed().await;
    let ended = g.now().await;
    g.advance(ms(10)).await;
    g.replay(id, 0).await.unwrap();
    let record = g.record(id).await;
    assert!(matches!(record.past_runs[0].outcome, Outcome::Failed { .. }));
    assert_eq!(record.past_runs[0].ended, ended);
    assert_eq!(g.result(id).await.refused(), Code::WrongState, "the new run has none yet");
}

pub(crate) async fn attempts_are_numbered_across_runs(g: Fixture) {
    let id = g.waiting().await;
    for run in 0..3 {
        completed_again(&g, "done").await;
        g.replay(id, run).await.unwrap();
    }
    let attempts = g.attempts(id).await;
    let numbers: Vec<_> = attempts.iter().map(|a| (a.number, a.run)).collect();
    assert_eq!(numbers, [(0, 0), (1, 1), (2, 2)]);
}

pub(crate) async fn a_replay_goes_behind_what_waits(g: Fixture) {
    let id = g.completed().await;
    g.advance(ms(1)).await;
    let waiting = g.waiting().await;
    g.advance(ms(1)).await;
    g.replay(id, 0).await.unwrap();
    assert_eq!(g.claimed().await.execution, waiting);
    assert_eq!(g.claimed().await.execution, id);
}

pub(crate) async fn a_repeated_replay_starts_one_run(g: Fixture) {
    let id = g.completed().await;
    assert_eq!(g.replay(id, 0).await.unwrap(), 1);
    let before = g.snapshot().await;
    assert_eq!(g.replay(id, 0).await.unwrap(), 1);
    g.snapshot().await.assert_same(&before);
    completed_again(&g, "done").await;
    assert_eq!(g.replay(id, 0).await.unwrap(), 1, "also when the new run has ended");
}

pub(crate) async fn a_replay_of_another_run_is_refused(g: Fixture) {
    let id = g.completed().await;
    assert_eq!(g.replay(id, 1).await.refused(), Code::RunMismatch);
    assert_eq!(g.replay(id, u32::MAX).await.refused(), Code::RunMismatch);
    g.replay(id, 0).await.unwrap();
    completed_again(&g, "done").await;
    g.replay(id, 1).await.unwrap();
    assert_eq!(g.replay(id, 0).await.refused(), Code::RunMismatch);
}

pub(crate) async fn unfinished_work_cannot_be_replayed(g: Fixture) {
    let waiting = g.delayed(ms(50)).await;
    let active = g.held().await.execution;
    for id in [waiting, active] {
        assert_eq!(g.replay(id, 0).await.refused(), Code::WrongState);
    }
}

pub(crate) async fn the_number_of_runs_is_bounded(g: Fixture) {
    let id = g.waiting().await;
    for run in 0..RUNS - 1 {
        g.cancel(id, None).await.unwrap();
        assert_eq!(g.replay(id, run).await.unwrap(), run + 1);
    }
    g.cancel(id, None).await.unwrap();
    let before = g.snapshot().await;
    assert_eq!(g.replay(id, RUNS - 1).await.refused(), Code::LimitReached);
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_replay_arms_the_deadline_again(g: Fixture) {
    let id = g.waiting_under(Policy { deadline: Some(ms(500)), ..steady() }).await;
    g.pass(ms(500)).await;
    assert_eq!(g.state(id).await, PublicState::Expired);
    g.replay(id, 0).await.unwrap();
    assert_eq!(g.record(id).await.run.deadline, Some(g.now().await + ms(500)));
    g.pass(ms(499)).await;
    completed_again(&g, "in time").await;
}

pub(crate) async fn a_replayed_execution_is_not_removed(g: Fixture) {
    let id = g.completed().await;
    g.replay(id, 0).await.unwrap();
    g.pass(Millis::from_days(1_000)).await;
    assert_eq!(g.state(id).await, PublicState::Waiting);
}

pub(crate) async fn a_replayed_failure_is_no_longer_listed_as_failed(g: Fixture) {
    let id = g.failed().await;
    let failed = Filter { states: [PublicState::Failed].into(), ..Filter::default() };
    assert_eq!(g.listed(failed.clone()).await, [id]);
    g.replay(id, 0).await.unwrap();
    assert!(g.listed(failed).await.is_empty());
}

pub(crate) async fn the_holder_of_an_old_run_is_refused_in_the_new_one(g: Fixture) {
    let old = g.held().await;
    g.cancel(old.execution, None).await.unwrap();
    g.replay(old.execution, 0).await.unwrap();
    assert_eq!(g.renew(old.hold()).await.refused(), Code::StaleLease);
    assert_eq!(g.complete(&old, "late").await.refused(), Code::StaleLease);
    completed_again(&g, "done").await;
    assert_eq!(g.complete(&old, "late").await.refused(), Code::StaleLease);
}
