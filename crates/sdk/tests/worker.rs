//! The worker in one virtual time with its store: permits, renewal, stops and lost replies.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::time::Duration;

use common::World;
use ff_core::machine::Cancel;
use ff_core::{Code, Millis, Payload, PublicState};
use ff_sdk::{SdkError, StopReason};
use tokio::time::timeout;

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn a_saturated_worker_claims_nothing() {
    let world = World::start();
    let worker = world.worker().await;
    let (first, second) = (world.submit().await, world.submit().await);
    let task = worker.claim_next().await.unwrap().unwrap();
    assert_eq!(task.assignment().execution, first.execution);
    assert!(matches!(worker.claim_next().await, Err(SdkError::WorkerAtCapacity)));
    assert_eq!(world.state(&second).await, PublicState::Waiting);
    task.complete(Payload::default()).await.unwrap();
    assert!(worker.claim_next().await.unwrap().is_some(), "the permit came back with the end");
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_renewed_for_as_long_as_the_task_is_held() {
    let world = World::start();
    let worker = world.worker().await;
    let target = world.submit_with(|policy| policy.lease_ttl = Some(Millis::new(300))).await;
    let task = worker.claim_next().await.unwrap().unwrap();
    for _ in 0..600 {
        tokio::time::advance(MINUTE / 600).await;
    }
    assert_eq!(world.state(&target).await, PublicState::Active);
    task.complete(Payload::json("1")).await.unwrap();
    let record = world.record(&target).await;
    assert_eq!((record.epoch, record.public_state()), (1, PublicState::Completed));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_task_is_handed_back_at_once_without_spending_a_retry() {
    let world = World::start();
    let worker = world.worker().await;
    let target = world.submit().await;
    drop(worker.claim_next().await.unwrap().unwrap());
    let again = timeout(MINUTE, worker.claim_next()).await.unwrap().unwrap().unwrap();
    assert_eq!(again.assignment().fence.attempt, 0);
    let record = world.record(&target).await;
    assert_eq!((record.run.failures, record.run.reclaims), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_holder_hears_that_it_is_asked_to_stop_and_may_still_finish() {
    let world = World::start();
    let worker = world.worker().await;
    let target = world.submit().await;
    let task = worker.claim_next().await.unwrap().unwrap();
    let grace = Some(Millis::from_secs(30));
    world.backend.cancel(Cancel { target: target.clone(), grace, reason: None }).await.unwrap();
    timeout(MINUTE, task.stopped()).await.unwrap();
    assert_eq!(task.stop_reason(), Some(StopReason::CancelRequested));
    assert!(!task.is_lost());
    task.cancel(Some("as asked".into())).await.unwrap();
    assert_eq!(world.state(&target).await, PublicState::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_holder_hears_that_its_execution_was_cancelled() {
    let world = World::start();
    let worker = world.worker().await;
    let target = world.submit().await;
    let task = worker.claim_next().await.unwrap().unwrap();
    world.backend.cancel(Cancel { target, grace: None, reason: None }).await.unwrap();
    timeout(MINUTE, task.lost()).await.unwrap();
    assert_eq!(task.stop_reason(), Some(StopReason::Cancelled));
    let refused = task.complete(Payload::default()).await.unwrap_err();
    assert_eq!(refused.refused(), Some(Code::Cancelled));
}

#[tokio::test(start_paused = true)]
async fn a_worker_without_a_lane_does_not_start() {
    let world = World::start();
    let mut config = world.config();
    config.lanes.clear();
    let refused = ff_sdk::FlowFabricWorker::connect(config).await;
    assert!(matches!(refused, Err(SdkError::Config(_))));
}

#[tokio::test(start_paused = true)]
async fn every_lane_is_served() {
    let world = World::start();
    let mut config = world.config();
    config.lanes = vec!["a".parse().unwrap(), "b".parse().unwrap(), "c".parse().unwrap()];
    config.concurrency = 3;
    let worker = ff_sdk::FlowFabricWorker::connect(config).await.unwrap();
    for lane in ["c", "b", "a"] {
        world.submit_to(lane).await;
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
