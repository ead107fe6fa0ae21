//! Work that a scheduler has chosen: permits first, then the grant, then the claim.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::World;
use common::served::Served;
use ff_core::machine::{ClaimRequest, GrantOffer};
use ff_core::quota::QuotaLimits;
use ff_core::state::Worker;
use ff_core::{Capabilities, ExecutionId, Lane, Millis, Namespace, Payload, PublicState};
use ff_scheduler::{ClaimGrant, Scheduler, SchedulerConfig};
use ff_sdk::{Client, FlowFabricWorker, SdkError, WorkerConfig};
use ff_store::{Roles, mint};
use ff_testkit::proxy::{Mode, Proxy};
use ff_testkit::wait::until_async;

const MINUTE: Duration = Duration::from_secs(60);

fn one_at_once() -> QuotaLimits {
    QuotaLimits {
        max_requests: None,
        window: Millis::from_secs(1),
        max_active: Some(1),
        jitter: Millis::ZERO,
    }
}

async fn submit(client: &Client) -> ExecutionId {
    let task = client.task("think").unwrap().quota("slots").unwrap();
    task.send().await.unwrap().execution
}

/// A grant to `worker`.
async fn granted(world: &World, worker: &FlowFabricWorker) -> Option<ClaimGrant> {
    let scheduler = Scheduler::new(world.backend.clone(), SchedulerConfig::default()).unwrap();
    let config = worker.config();
    let name = Worker { id: config.worker.clone(), instance: config.instance.clone() };
    let (namespace, lane) = (Namespace::default(), Lane::default());
    let ttl = Millis::from_secs(5);
    scheduler.claim_for_worker(&namespace, &lane, &name, &Capabilities::NONE, ttl).await.unwrap()
}

/// What holds in process and over HTTP alike.
async fn the_server_chooses(backend: Arc<dyn Roles>) {
    let client = Client::new(backend.clone());
    let config = WorkerConfig::new(backend, "tester".parse().unwrap());
    let worker =
        FlowFabricWorker::connect(WorkerConfig { concurrency: 2, ..config }).await.unwrap();
    client.put_quota("slots", one_at_once()).await.unwrap();
    assert!(worker.claim_via_server().await.unwrap().is_none(), "there is no work");
    let (first, second) = (submit(&client).await, submit(&client).await);
    let task = worker.claim_via_server().await.unwrap().unwrap();
    assert_eq!(task.assignment().execution, first);
    assert!(worker.claim_via_server().await.unwrap().is_none(), "a quota is asked here too");
    task.complete(Payload::default()).await.unwrap();
    let task = worker.claim_via_server().await.unwrap().unwrap();
    assert_eq!(task.assignment().execution, second);
    task.complete(Payload::default()).await.unwrap();
    assert_eq!(client.quota("slots").await.unwrap().active, 0);
}

#[tokio::test(start_paused = true)]
async fn the_server_chooses_in_process() {
    the_server_chooses(World::start().backend.clone()).await;
}

#[tokio::test]
async fn the_server_chooses_over_http() {
    let server = Served::start().await;
    the_server_chooses(server.client(server.address.port())).await;
}

#[tokio::test]
async fn a_grant_whose_reply_is_lost_is_found_again() {
    let server = Served::start().await;
    let proxy = Proxy::to(server.address.port());
    let client = Client::new(server.client(server.address.port()));
    client.put_quota("slots", one_at_once()).await.unwrap();
    let config = WorkerConfig::new(server.client(proxy.port()), "tester".parse().unwrap());
    let worker = FlowFabricWorker::connect(config).await.unwrap();
    let execution = submit(&client).await;
    let connections = proxy.accepted();
    proxy.set_at("/grant", Mode::CutAfterRequest);
    let restored = async {
        let reserved = async || (client.quota("slots").await.unwrap().active == 1).then_some(());
        until_async(MINUTE, reserved).await.unwrap();
        let cut = async || (proxy.accepted() > connections).then_some(());
        until_async(MINUTE, cut).await.unwrap();
        proxy.set(Mode::Forward);
    };
    let (task, ()) = tokio::join!(worker.claim_via_server(), restored);
    assert_eq!(task.unwrap().unwrap().assignment().execution, execution);
    assert_eq!(client.quota("slots").await.unwrap().active, 1, "it is reserved once");
}

#[tokio::test(start_paused = true)]
async fn every_lane_is_asked() {
    let world = World::start();
    let mut config = world.config();
    config.lanes = vec!["a".parse().unwrap(), "b".parse().unwrap()];
    let worker = FlowFabricWorker::connect(config).await.unwrap();
    for lane in ["b", "b", "a"] {
        world.submit_to(lane).await;
    }
    let mut lanes = Vec::new();
    while let Some(task) = worker.claim_via_server().await.unwrap() {
        lanes.push(task.assignment().lane.to_string());
        task.complete(Payload::default()).await.unwrap();
    }
    lanes.sort();
    assert_eq!(lanes, ["a", "b", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_saturated_worker_leaves_a_grant_untouched() {
    let world = World::start();
    let worker = world.worker().await;
    world.submit().await;
    let second = world.submit().await;
    let task = worker.claim_via_server().await.unwrap().unwrap();
    let grant = granted(&world, &worker).await.unwrap();
    assert_eq!(grant.execution, second.execution);
    let before = world.record(&second).await;
    assert!(matches!(worker.claim_from_grant(&grant).await, Err(SdkError::WorkerAtCapacity)));
    assert!(matches!(worker.claim_via_server().await, Err(SdkError::WorkerAtCapacity)));
    assert_eq!(world.record(&second).await, before);
    task.complete(Payload::default()).await.unwrap();
    let task = worker.claim_from_grant(&grant).await.unwrap().unwrap();
    assert_eq!(task.assignment().execution, second.execution);
    assert_eq!(world.state(&second).await, PublicState::Active);
}

#[tokio::test(start_paused = true)]
async fn a_grant_whose_time_is_over_gives_nothing() {
    let world = World::start();
    let worker = world.worker().await;
    let target = world.submit().await;
    let grant = granted(&world, &worker).await.unwrap();
    tokio::time::advance(MINUTE).await;
    assert!(worker.claim_from_grant(&grant).await.unwrap().is_none());
    let task = worker.claim_via_server().await.unwrap();
    assert_eq!(task.unwrap().assignment().execution, target.execution, "the permit came back");
}

#[tokio::test(start_paused = true)]
async fn a_grant_is_used_once_however_often_it_is_claimed() {
    let world = World::start();
    let config = WorkerConfig { concurrency: 2, ..world.config() };
    let worker = FlowFabricWorker::connect(config).await.unwrap();
    world.submit().await;
    let grant = GrantOffer::from(&granted(&world, &worker).await.unwrap());
    let first = worker.claim_from_grant(grant.clone()).await.unwrap().unwrap();
    first.complete(Payload::default()).await.unwrap();
    assert!(worker.claim_from_grant(grant).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn what_its_holder_lost_is_claimed_as_a_new_attempt() {
    let world = World::start();
    let worker = world.worker().await;
    let target = world.submit_with(|policy| policy.lease_ttl = Some(Millis::from_secs(1))).await;
    // Another takes it and is never heard of again.
    let claim = ClaimRequest {
        namespace: Namespace::default(),
        lane: Lane::default(),
        worker: Worker { id: "gone".parse().unwrap(), instance: "gone-1".parse().unwrap() },
        capabilities: Capabilities::NONE,
        request: mint::request_id(),
        max: 1,
        retry: false,
    };
    assert_eq!(world.backend.claim(claim, Millis::ZERO).await.unwrap().assignments.len(), 1);
    tokio::time::advance(Duration::from_secs(2)).await;
    let lost = async || {
        let grant = granted(&world, &worker).await?;
        Some(grant.into_reclaim().unwrap())
    };
    let grant = until_async(MINUTE, lost).await.unwrap();
    let task = worker.claim_from_reclaim_grant(&grant).await.unwrap().unwrap();
    assert_eq!(task.assignment().execution, target.execution);
    assert_eq!(task.assignment().fence.attempt, 1);
}
