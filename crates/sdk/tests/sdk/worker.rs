//! The worker in one virtual time with its store: permits, renewal, stops and lost replies.

use std::time::Duration;

use ff_core::bounds::{MESSAGE_BYTES, PAYLOAD_BYTES};
use ff_core::machine::{Cancel, Target};
use ff_core::state::{Failure, Outcome};
use ff_core::{Category, Code, Millis, Payload, PublicState, When};
use ff_sdk::{FlowFabricWorker, SdkError, StopReason, WorkerConfig};
use tokio::time::timeout;

use crate::fixture::Fixture;

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn a_saturated_worker_claims_nothing() {
    let fixture = Fixture::start();
    let worker = fixture.worker().await;
    let (first, second) = (fixture.submit().await, fixture.submit().await);
    let task = worker.claim_next().await.unwrap().unwrap();
    assert_eq!(task.assignment().execution, first.execution);
    assert!(matches!(worker.claim_next().await, Err(SdkError::WorkerAtCapacity)));
    assert_eq!(fixture.state(&second).await, PublicState::Waiting);
    task.complete(Payload::default()).await.unwrap();
    assert!(worker.claim_next().await.unwrap().is_some(), "the permit came back with the end");
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_renewed_for_as_long_as_the_task_is_held() {
    let fixture = Fixture::start();
    let worker = fixture.worker().await;
    let target = fixture.submit_with(|policy| policy.lease_ttl = Some(Millis::new(300))).await;
    let task = worker.claim_next().await.unwrap().unwrap();
    for _ in 0..600 {
        tokio::time::advance(MINUTE / 600).await;
    }
    assert_eq!(fixture.state(&target).await, PublicState::Active);
    task.complete(Payload::json("1")).await.unwrap();
    let record = fixture.record(&target).await;
    assert_eq!((record.epoch, record.public_state()), (1, PublicState::Completed));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_task_is_handed_back_at_once_without_spending_a_retry() {
    let fixture = Fixture::start();
    let worker = fixture.worker().await;
    let target = fixture.submit().await;
    drop(worker.claim_next().await.unwrap().unwrap());
    let again = timeout(MINUTE, worker.claim_next()).await.unwrap().unwrap().unwrap();
    assert_eq!(again.assignment().fence.attempt, 0);
    let record = fixture.record(&target).await;
    assert_eq!((record.run.failures, record.run.reclaims), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_holder_learns_that_it_is_asked_to_stop_and_may_still_finish() {
    let fixture = Fixture::start();
    let worker = fixture.worker().await;
    let target = fixture.submit().await;
    let task = worker.claim_next().await.unwrap().unwrap();
    let grace = Some(Millis::from_secs(30));
    fixture.backend.cancel(Cancel { target: target.clone(), grace, reason: None }).await.unwrap();
    timeout(MINUTE, task.stopped()).await.unwrap();
    assert_eq!(task.stop_reason(), Some(StopReason::CancelRequested));
    assert!(!task.is_lost());
    task.cancel(Some("as asked".into())).await.unwrap();
    assert_eq!(fixture.state(&target).await, PublicState::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_continues_past_its_grace_learns_that_its_hold_has_ended() {
    let fixture = Fixture::start();
    let worker = fixture.worker().await;
    let target = fixture.submit().await;
    let task = worker.claim_next().await.unwrap().unwrap();
    let grace = Some(Millis::from_secs(12));
    fixture.backend.cancel(Cancel { target: target.clone(), grace, reason: None }).await.unwrap();
    timeout(MINUTE, task.stopped()).await.unwrap();
    assert_eq!(task.stop_reason(), Some(StopReason::CancelRequested));
    let asked = tokio::time::Instant::now();
    timeout(MINUTE, task.lost()).await.unwrap();
    assert_eq!(task.stop_reason(), Some(StopReason::Cancelled));
    // The next renewal would be after ten seconds, a third of its lease, and the one after that too late.
    assert!(asked.elapsed() < Duration::from_secs(13), "it stops when the grace is over");
    assert_eq!(fixture.state(&target).await, PublicState::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_renewed_at_a_third_of_its_length() {
    let fixture = Fixture::start();
    let worker = fixture.worker().await;
    let target = fixture.submit_with(|policy| policy.lease_ttl = Some(Millis::from_secs(30))).await;
    let task = worker.claim_next().await.unwrap().unwrap();
    let until = async || fixture.record(&target).await.lease().unwrap().until;
    let first = until().await;
    for (ms, renewed) in [(9_900, 0), (200, 10_000), (9_800, 10_000), (200, 20_000)] {
        tokio::time::advance(Duration::from_millis(ms)).await;
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        let since = until().await.since(first).get();
        assert!(since.abs_diff(renewed) < 150, "{since} for {renewed}");
    }
    task.complete(Payload::default()).await.unwrap();
}

/// The one failure of an execution that has failed for good.
async fn failure_of(fixture: &Fixture, target: &Target) -> Failure {
    let record = fixture.record(target).await;
    assert_eq!((record.public_state(), record.epoch), (PublicState::Failed, 1), "it ran once");
    match record.outcome() {
        Some((Outcome::Failed { failure }, _)) => failure.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_over_the_limit_fails_its_execution_for_good() {
    let fixture = Fixture::start();
    let worker = fixture.worker().await;
    let target = fixture.submit().await;
    let task = worker.claim_next().await.unwrap().unwrap();
    let refused = task.complete(Payload::bytes(vec![0; PAYLOAD_BYTES + 1])).await.unwrap_err();
    assert_eq!(refused.refused(), Some(Code::TooLarge));
    let failure = failure_of(&fixture, &target).await;
    assert_eq!((failure.category.as_str(), failure.retryable), ("too_large", false));
    assert!(failure.message.contains("at most 1048576 are taken"), "{}", failure.message);
    assert!(worker.claim_next().await.unwrap().is_none(), "the permit is free, the work is not");
}

#[tokio::test(start_paused = true)]
async fn a_terminal_call_whose_content_is_refused_fails_its_execution_for_good() {
    let fixture = Fixture::start();
    let worker = fixture.worker().await;
    let target = fixture.submit().await;
    let task = worker.claim_next().await.unwrap().unwrap();
    let refused = task.delay_execution(When::After(Millis::from_days(40_000))).await.unwrap_err();
    assert_eq!(refused.refused(), Some(Code::InvalidArgument));
    let failure = failure_of(&fixture, &target).await;
    assert_eq!((failure.category.as_str(), failure.retryable), ("invalid_argument", false));
}

#[tokio::test(start_paused = true)]
async fn a_failure_message_that_is_too_long_is_cut() {
    let fixture = Fixture::start();
    let worker = fixture.worker().await;
    let target = fixture.submit().await;
    let task = worker.claim_next().await.unwrap().unwrap();
    let message = "no ".repeat(MESSAGE_BYTES).into();
    let failure = Failure { category: Category::error(), retryable: false, message };
    task.fail(failure).await.unwrap();
    assert_eq!(failure_of(&fixture, &target).await.message.len(), MESSAGE_BYTES);
}

#[tokio::test(start_paused = true)]
async fn work_that_is_dropped_repeatedly_is_delayed_and_then_fails() {
    let fixture = Fixture::start();
    let worker = fixture.worker().await;
    let target = fixture.submit().await;
    let mut dropped = 0;
    let began = tokio::time::Instant::now();
    let task = loop {
        match timeout(MINUTE, worker.claim_next()).await.unwrap().unwrap() {
            Some(task) if task.assignment().fence.attempt > 0 => break task,
            Some(_dropped) => dropped += 1,
            None => {}
        }
        assert!(dropped < 20, "it does not run forever");
    };
    assert_eq!((dropped, fixture.record(&target).await.run.failures), (6, 1));
    assert!(began.elapsed() > Duration::from_secs(8), "it was delayed in between");
    assert_eq!(task.assignment().fence.attempt, 1, "another try follows");
}

#[tokio::test(start_paused = true)]
async fn a_holder_learns_that_its_execution_was_cancelled() {
    let fixture = Fixture::start();
    let worker = fixture.worker().await;
    let target = fixture.submit().await;
    let task = worker.claim_next().await.unwrap().unwrap();
    fixture.backend.cancel(Cancel { target, grace: None, reason: None }).await.unwrap();
    timeout(MINUTE, task.lost()).await.unwrap();
    assert_eq!(task.stop_reason(), Some(StopReason::Cancelled));
    let refused = task.complete(Payload::default()).await.unwrap_err();
    assert_eq!(refused.refused(), Some(Code::Cancelled));
}

#[tokio::test(start_paused = true)]
async fn a_worker_without_a_lane_does_not_start() {
    let fixture = Fixture::start();
    let mut config = fixture.config();
    config.lanes.clear();
    let refused = FlowFabricWorker::connect(config).await.err().unwrap();
    assert!(matches!(refused, SdkError::Config { field: "lanes", .. }), "{refused}");
    let config = WorkerConfig { concurrency: 0, ..fixture.config() };
    let refused = FlowFabricWorker::connect(config).await.err().unwrap();
    assert!(matches!(refused, SdkError::Config { field: "concurrency", .. }), "{refused}");
    assert!(refused.to_string().contains("concurrency is 0"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn every_lane_is_served() {
    let fixture = Fixture::start();
    let mut config = fixture.config();
    config.lanes = vec!["a".parse().unwrap(), "b".parse().unwrap(), "c".parse().unwrap()];
    config.concurrency = 3;
    let worker = FlowFabricWorker::connect(config).await.unwrap();
    for lane in ["c", "b", "a"] {
        fixture.submit_to(lane).await;
    }
    let mut tasks = Vec::new();
    while tasks.len() < 3 {
        let task = timeout(MINUTE, worker.claim_next()).await.unwrap().unwrap();
        tasks.extend(task);
    }
    let mut lanes: Vec<_> = tasks.iter().map(|t| t.assignment().lane.to_string()).collect();
    lanes.sort();
    assert_eq!(lanes, ["a", "b", "c"]);
}
