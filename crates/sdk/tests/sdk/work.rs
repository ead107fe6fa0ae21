//! The loop of a worker: what it claims, when it ends, and how it is stopped.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ff_core::{Lane, Millis, Namespace, Patch, Payload, PublicState};
use ff_sdk::{
    ClaimedTask, Client, FlowFabricWorker, Json, Shutdown, StopReason, TaskContext, TaskError,
    Until, WorkerConfig, WorkerEvent,
};
use ff_testkit::proxy::Proxy;
use tokio::time::{Instant, timeout};

use crate::fixture::Fixture;
use crate::fixture::served::Served;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

/// What the tasks of a loop were, in order.
type Seen = Arc<Mutex<Vec<String>>>;

/// Completes its task.
async fn complete(seen: Seen, task: ClaimedTask) {
    seen.lock().unwrap().push(task.assignment().lane.to_string());
    task.complete(Payload::default()).await.unwrap();
}

/// Runs the loop of `config` to its end, and gives the lanes of the tasks in order.
async fn lanes_served(config: WorkerConfig, until: Until) -> Vec<String> {
    let (worker, seen) = (FlowFabricWorker::connect(config).await.unwrap(), Seen::default());
    timeout(HOUR, worker.work(until, |task| complete(seen.clone(), task))).await.unwrap().unwrap();
    std::mem::take(&mut *seen.lock().unwrap())
}

fn two_lanes(fixture: &Fixture) -> WorkerConfig {
    let lanes = vec!["busy".parse().unwrap(), "calm".parse().unwrap()];
    WorkerConfig { lanes, ..fixture.config() }
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_stops_when_idle_has_emptied_all_its_lanes_and_is_gone() {
    let fixture = Fixture::start();
    for lane in ["calm", "busy", "busy", "busy", "other"] {
        fixture.submit_to(lane).await;
    }
    let mut served = lanes_served(two_lanes(&fixture), Until::Idle).await;
    served.sort();
    assert_eq!(served, ["busy", "busy", "busy", "calm"]);
    let left = fixture.backend.workers(&Namespace::default(), None, 10).await.unwrap();
    assert!(left.is_empty(), "its registration has ended");
}

#[tokio::test(start_paused = true)]
async fn a_busy_lane_does_not_keep_another_waiting() {
    let fixture = Fixture::start();
    for lane in ["busy"; 6].into_iter().chain(["calm"; 2]) {
        fixture.submit_to(lane).await;
    }
    let served = lanes_served(two_lanes(&fixture), Until::Idle).await;
    assert_eq!(served[..5], ["busy", "calm", "busy", "calm", "busy"]);
}

#[tokio::test(start_paused = true)]
async fn an_idle_worker_waits_for_work_that_is_about_to_be_due() {
    let fixture = Fixture::start();
    let delayed = fixture.submit_to("calm").await;
    let worker = FlowFabricWorker::connect(two_lanes(&fixture)).await.unwrap();
    let task = worker.claim_next().await.unwrap().unwrap();
    task.delay_execution(ff_core::When::After(Millis::new(700))).await.unwrap();
    drop(worker);
    assert_eq!(lanes_served(two_lanes(&fixture), Until::Idle).await, ["calm"]);
    assert_eq!(fixture.state(&delayed).await, PublicState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_worker_of_one_task_takes_one() {
    let fixture = Fixture::start();
    let (_, second) = (fixture.submit().await, fixture.submit().await);
    let config = WorkerConfig { concurrency: 8, ..fixture.config() };
    assert_eq!(lanes_served(config, Until::OneTask).await.len(), 1);
    assert_eq!(fixture.state(&second).await, PublicState::Waiting);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_is_told_to_stop_claims_nothing_more() {
    let fixture = Fixture::start();
    let (config, target) = (fixture.config(), fixture.submit().await);
    config.shutdown.drain();
    assert!(lanes_served(config, Until::Stopped).await.is_empty());
    assert_eq!(fixture.state(&target).await, PublicState::Waiting);
}

async fn endless(_task: TaskContext, Json(()): Json<()>) -> Result<(), TaskError> {
    std::future::pending().await
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_must_stop_at_once_does_not_wait_for_its_drain() {
    let fixture = Fixture::start();
    let client = Client::new(fixture.backend.clone());
    let runtime = fixture.runtime().drain(HOUR).on("endless", endless).unwrap();
    let mut running = runtime.start().await.unwrap();
    let task = client.submit("endless", &()).await.unwrap();
    let state = async || client.describe(task.execution).await.unwrap().public_state();
    while state().await != PublicState::Active {
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    running.stop();
    assert!(timeout(MINUTE, running.ended()).await.is_err(), "the task has an hour to finish");
    running.shutdown_handle().now();
    timeout(MINUTE, running.ended()).await.unwrap().unwrap();
    assert_eq!(state().await, PublicState::Resumable);
}

#[tokio::test(start_paused = true)]
async fn a_holder_learns_at_once_that_its_attempt_is_past_its_timeout() {
    let fixture = Fixture::start();
    let worker = fixture.worker().await;
    let limited = |policy: &mut ff_core::PolicyOverrides| {
        policy.lease_ttl = Some(Millis::from_secs(3_000));
        policy.attempt_timeout = Patch::Set(Millis::from_secs(5));
    };
    fixture.submit_with(limited).await;
    let claimed = Instant::now();
    let task = worker.claim_next().await.unwrap().unwrap();
    timeout(MINUTE, task.lost()).await.unwrap();
    assert_eq!(task.stop_reason(), Some(StopReason::TimedOut));
    let took = claimed.elapsed();
    assert!(took >= Duration::from_secs(5), "not before its time: {took:?}");
    drop(task);
    let again = timeout(MINUTE, worker.claim_next()).await.unwrap().unwrap();
    assert_eq!(again.unwrap().assignment().fence.attempt, 1, "the engine ended the attempt");
}

/// Collects the events of a worker, in words.
fn recording(config: WorkerConfig) -> (WorkerConfig, Seen) {
    let seen = Seen::default();
    let log = seen.clone();
    let events = Arc::new(move |event: WorkerEvent<'_>| {
        log.lock().unwrap().push(match event {
            WorkerEvent::NotRegistered { .. } => "not registered".to_owned(),
            WorkerEvent::ClaimFailed { lane, .. } => format!("claim from {lane} failed"),
            WorkerEvent::Claimed(assignment) => format!("claimed {}", assignment.execution),
            other => format!("{other:?}"),
        });
    });
    (WorkerConfig { events, ..config }, seen)
}

#[tokio::test]
async fn a_claim_whose_reply_is_lost_is_reported_and_repeated_with_the_same_id() {
    let server = Served::start().await;
    let proxy = Proxy::to(server.address.port());
    let client = Client::new(server.client(server.address.port()));
    let first = client.submit("think", &()).await.unwrap().execution;
    let second = client.submit("think", &()).await.unwrap().execution;
    proxy.cut_once("/claim");
    let config = WorkerConfig::new(server.client(proxy.port()), "tester".parse().unwrap());
    let (config, events) = recording(config);
    assert_eq!(lanes_served(config, Until::OneTask).await.len(), 1);
    assert_eq!(proxy.cuts(), 1, "one reply was lost");
    let claimed = format!("claimed {first}");
    assert_eq!(*events.lock().unwrap(), ["claim from default failed", claimed.as_str()]);
    assert_eq!(client.describe(first).await.unwrap().epoch, 1, "it was taken once");
    assert_eq!(client.describe(second).await.unwrap().epoch, 0, "the other not at all");
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_refused_ends_the_worker_at_once_and_is_not_repeated() {
    let fixture = Fixture::start();
    let (config, heard) = recording(WorkerConfig { poll_interval: HOUR, ..fixture.config() });
    let worker = FlowFabricWorker::connect(config).await.unwrap();
    let worked = worker.work(Until::Stopped, async |task| drop(task));
    let error = timeout(MINUTE, worked).await.unwrap().unwrap_err();
    assert_eq!((error.code(), error.field()), ("invalid_argument", Some("wait")));
    assert_eq!(*heard.lock().unwrap(), [""; 0]);
    let left = fixture.backend.workers(&Namespace::default(), None, 10).await.unwrap();
    assert!(left.is_empty(), "its registration has ended");
}

#[tokio::test]
async fn a_worker_may_start_before_its_backend_answers() {
    let server = Served::start().await;
    let port = server.address.port();
    let backend = server.client(port);
    drop(server);
    let gone = async || backend.ping().await.is_err().then_some(());
    ff_testkit::wait::until_async(MINUTE, gone).await.unwrap();
    let config = WorkerConfig::new(backend.clone(), "tester".parse().unwrap());
    let strict = WorkerConfig { connect_timeout: Some(Duration::ZERO), ..config.clone() };
    assert!(FlowFabricWorker::connect(strict).await.is_err());
    let (config, events) = recording(WorkerConfig { connect_timeout: None, ..config });
    FlowFabricWorker::connect(config).await.unwrap();
    assert_eq!(*events.lock().unwrap(), ["not registered"]);
}

#[tokio::test]
async fn a_worker_that_must_stop_at_once_soon_abandons_an_unanswered_call() {
    let server = Served::start().await;
    let port = server.address.port();
    let client = Client::new(server.client(port));
    let long = client.task("think").unwrap();
    long.policy(|ask| ask.lease_ttl = Some(Millis::from_hours(1))).send().await.unwrap();
    let shutdown = Shutdown::default();
    let config = WorkerConfig::new(server.client(port), "tester".parse().unwrap());
    let config = WorkerConfig { shutdown: shutdown.clone(), ..config };
    let worker = FlowFabricWorker::connect(config).await.unwrap();
    let task = worker.claim_next().await.unwrap().unwrap();
    assert_eq!(task.assignment().lane, Lane::default());
    drop(server);
    shutdown.now();
    let ended = timeout(MINUTE, task.complete(Payload::default())).await;
    assert!(
        ended.unwrap().unwrap_err().is_retryable(),
        "it is abandoned long before the lease ends"
    );
}
