//! Work that a scheduler has chosen: permits first, then the grant, then the claim.

use std::sync::Arc;
use std::time::Duration;

use ff_core::machine::{ClaimRequest, GrantOffer};
use ff_core::quota::QuotaLimits;
use ff_core::state::{State, Worker};
use ff_core::{Capabilities, Code, ExecutionId, Lane, Millis, Namespace, Payload, PublicState};
use ff_scheduler::{Scheduler, SchedulerConfig};
use ff_sdk::{Client, FlowFabricWorker, Heartbeats, SdkError, WorkerConfig};
use ff_store::{ClientAndWorker, mint};
use ff_testkit::proxy::Proxy;
use ff_testkit::wait::until_async;

use crate::fixture::Fixture;
use crate::fixture::served::Served;

const MINUTE: Duration = Duration::from_secs(60);
const TTL: Millis = Millis::from_secs(5);

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
pub(crate) async fn granted(fixture: &Fixture, worker: &FlowFabricWorker) -> Option<GrantOffer> {
    let scheduler = Scheduler::new(fixture.backend.clone(), SchedulerConfig::default()).unwrap();
    let config = worker.config();
    let name = Worker { id: config.worker.clone(), instance: config.instance.clone() };
    let (namespace, lane) = (Namespace::default(), Lane::default());
    scheduler.claim_for_worker(&namespace, &lane, &name, &Capabilities::NONE, TTL).await.unwrap()
}

/// What holds in process and over HTTP alike.
async fn the_server_chooses(backend: Arc<dyn ClientAndWorker>) {
    let client = Client::new(backend.clone());
    let config = WorkerConfig::new(backend, "tester".parse().unwrap());
    let config = WorkerConfig { concurrency: 2, heartbeats: Heartbeats::SameRuntime, ..config };
    let worker = FlowFabricWorker::connect(config).await.unwrap();
    client.put_quota("slots", one_at_once()).await.unwrap();
    assert!(worker.claim_via_server(None, TTL).await.unwrap().is_none(), "there is no work");
    let (first, second) = (submit(&client).await, submit(&client).await);
    let task = worker.claim_via_server(None, TTL).await.unwrap().unwrap();
    assert_eq!(task.assignment().execution, first);
    assert!(
        worker.claim_via_server(None, TTL).await.unwrap().is_none(),
        "the quota applies here too"
    );
    task.complete(Payload::default()).await.unwrap();
    let task = worker.claim_via_server(None, TTL).await.unwrap().unwrap();
    assert_eq!(task.assignment().execution, second);
    task.complete(Payload::default()).await.unwrap();
    assert_eq!(client.quota("slots").await.unwrap().active, 0);
}

#[tokio::test(start_paused = true)]
async fn the_server_chooses_in_process() {
    the_server_chooses(Fixture::start().backend.clone()).await;
}

#[tokio::test]
async fn the_server_chooses_over_http() {
    let server = Served::start().await;
    the_server_chooses(server.client(server.address.port())).await;
}

/// A worker behind a proxy, and a client with two executions in its lane.
async fn behind(proxy: &Proxy, server: &Served) -> (FlowFabricWorker, Client, [ExecutionId; 2]) {
    let client = Client::new(server.client(server.address.port()));
    let config = WorkerConfig::new(server.client(proxy.port()), "tester".parse().unwrap());
    let worker = FlowFabricWorker::connect(config).await.unwrap();
    let unlimited = QuotaLimits { max_active: Some(9), ..one_at_once() };
    client.put_quota("slots", unlimited).await.unwrap();
    let two = [submit(&client).await, submit(&client).await];
    (worker, client, two)
}

/// One reply was cut, and still the first of two executions was taken once and the other not at all.
async fn one_was_taken(proxy: &Proxy, client: &Client, [first, second]: [ExecutionId; 2]) {
    assert_eq!(proxy.cuts(), 1, "one reply was lost");
    let record = client.describe(first).await.unwrap();
    assert_eq!((record.public_state(), record.epoch), (PublicState::Active, 1));
    let record = client.describe(second).await.unwrap();
    assert!(matches!(record.state, State::Queued { .. }), "{:?}", record.state);
    assert_eq!(client.quota("slots").await.unwrap().active, 1);
}

#[tokio::test]
async fn a_grant_whose_reply_is_lost_is_requested_again_with_the_same_id() {
    let server = Served::start().await;
    let proxy = Proxy::to(server.address.port());
    let (worker, client, two) = behind(&proxy, &server).await;
    proxy.cut_once("/grant");
    let task = worker.claim_via_server(None, TTL).await.unwrap().unwrap();
    assert_eq!(task.assignment().execution, two[0]);
    one_was_taken(&proxy, &client, two).await;
}

#[tokio::test]
async fn a_claim_of_a_grant_whose_reply_is_lost_finds_its_lease() {
    let server = Served::start().await;
    let proxy = Proxy::to(server.address.port());
    let (worker, client, two) = behind(&proxy, &server).await;
    proxy.cut_once("/claim-granted");
    let task = worker.claim_via_server(None, TTL).await.unwrap().unwrap();
    assert_eq!(task.assignment().execution, two[0]);
    one_was_taken(&proxy, &client, two).await;
}

#[tokio::test]
async fn a_claim_whose_reply_is_lost_is_repeated_with_the_same_id() {
    let server = Served::start().await;
    let proxy = Proxy::to(server.address.port());
    let (worker, client, two) = behind(&proxy, &server).await;
    proxy.cut_once("/claim");
    let task = worker.claim_next().await.unwrap().unwrap();
    assert_eq!(task.assignment().execution, two[0]);
    one_was_taken(&proxy, &client, two).await;
}

#[tokio::test(start_paused = true)]
async fn a_grant_of_another_worker_is_refused_and_stays_valid() {
    let fixture = Fixture::start();
    let worker = fixture.worker().await;
    let other = FlowFabricWorker::connect(fixture.config()).await.unwrap();
    fixture.submit().await;
    let grant = granted(&fixture, &worker).await.unwrap();
    let refused = other.claim_from_grant(&grant).await.unwrap_err();
    assert_eq!(refused.refused(), Some(Code::WrongWorker));
    assert!(refused.to_string().contains("made for another worker"), "{refused}");
    let task = worker.claim_from_grant(&grant).await.unwrap().unwrap();
    assert_eq!(task.assignment().execution, grant.execution);
}

#[tokio::test(start_paused = true)]
async fn only_the_named_lane_is_tried_and_a_grant_lasts_as_long_as_requested() {
    let fixture = Fixture::start();
    let mut config = fixture.config();
    config.lanes = vec!["a".parse().unwrap(), "b".parse().unwrap()];
    config.concurrency = 2;
    let worker = FlowFabricWorker::connect(config).await.unwrap();
    fixture.submit_to("b").await;
    let (a, b) = ("a".parse().unwrap(), "b".parse().unwrap());
    assert!(worker.claim_via_server(Some(&a), TTL).await.unwrap().is_none());
    let too_long = Millis::from_hours(1);
    let refused = worker.claim_via_server(Some(&b), too_long).await.unwrap_err();
    assert_eq!(refused.refused(), Some(Code::InvalidArgument), "the time is sent as given");
    let task = worker.claim_via_server(Some(&b), TTL).await.unwrap().unwrap();
    assert_eq!(task.assignment().lane, b);
}

#[tokio::test(start_paused = true)]
async fn every_lane_is_tried() {
    let fixture = Fixture::start();
    let mut config = fixture.config();
    config.lanes = vec!["a".parse().unwrap(), "b".parse().unwrap()];
    let worker = FlowFabricWorker::connect(config).await.unwrap();
    for lane in ["b", "b", "a"] {
        fixture.submit_to(lane).await;
    }
    let mut lanes = Vec::new();
    while let Some(task) = worker.claim_via_server(None, TTL).await.unwrap() {
        lanes.push(task.assignment().lane.to_string());
        task.complete(Payload::default()).await.unwrap();
    }
    lanes.sort();
    assert_eq!(lanes, ["a", "b", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_saturated_worker_leaves_a_grant_untouched() {
    let fixture = Fixture::start();
    let worker = fixture.worker().await;
    fixture.submit().await;
    let second = fixture.submit().await;
    let task = worker.claim_via_server(None, TTL).await.unwrap().unwrap();
    let grant = granted(&fixture, &worker).await.unwrap();
    assert_eq!(grant.execution, second.execution);
    let before = fixture.record(&second).await;
    assert!(matches!(worker.claim_from_grant(&grant).await, Err(SdkError::WorkerAtCapacity)));
    assert!(matches!(worker.claim_via_server(None, TTL).await, Err(SdkError::WorkerAtCapacity)));
    assert_eq!(fixture.record(&second).await, before);
    task.complete(Payload::default()).await.unwrap();
    let task = worker.claim_from_grant(&grant).await.unwrap().unwrap();
    assert_eq!(task.assignment().execution, second.execution);
    assert_eq!(fixture.state(&second).await, PublicState::Active);
}

#[tokio::test(start_paused = true)]
async fn an_expired_grant_gives_nothing() {
    let fixture = Fixture::start();
    let worker = fixture.worker().await;
    let target = fixture.submit().await;
    let grant = granted(&fixture, &worker).await.unwrap();
    tokio::time::advance(MINUTE).await;
    assert!(worker.claim_from_grant(&grant).await.unwrap().is_none());
    let task = worker.claim_via_server(None, TTL).await.unwrap();
    assert_eq!(task.unwrap().assignment().execution, target.execution, "the permit came back");
}

#[tokio::test(start_paused = true)]
async fn a_grant_is_used_once_however_often_it_is_claimed() {
    let fixture = Fixture::start();
    let config = WorkerConfig { concurrency: 2, ..fixture.config() };
    let worker = FlowFabricWorker::connect(config).await.unwrap();
    fixture.submit().await;
    let grant = granted(&fixture, &worker).await.unwrap();
    let first = worker.claim_from_grant(&grant).await.unwrap().unwrap();
    first.complete(Payload::default()).await.unwrap();
    assert!(worker.claim_from_grant(&grant).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn an_execution_whose_lease_was_lost_is_claimed_as_a_new_attempt() {
    let fixture = Fixture::start();
    let worker = fixture.worker().await;
    let target = fixture.submit_with(|policy| policy.lease_ttl = Some(Millis::from_secs(1))).await;
    // Another worker takes it and goes silent.
    let claim = ClaimRequest {
        namespace: Namespace::default(),
        lane: Lane::default(),
        worker: Worker { id: "gone".parse().unwrap(), instance: "gone-1".parse().unwrap() },
        capabilities: Capabilities::NONE,
        request: mint::request_id(),
        max: 1,
        retry: false,
    };
    assert_eq!(fixture.backend.claim(claim, Millis::ZERO).await.unwrap().assignments.len(), 1);
    tokio::time::advance(Duration::from_secs(2)).await;
    let grant = until_async(MINUTE, async || granted(&fixture, &worker).await).await.unwrap();
    assert!(grant.reclaim);
    let task = worker.claim_from_grant(&grant).await.unwrap().unwrap();
    assert_eq!(task.assignment().execution, target.execution);
    assert_eq!(task.assignment().fence.attempt, 1);
}
