//! A worker's registration in one virtual time with its store, and the turns of its lanes.

use std::time::Duration;

use ff_core::resource::Registration;
use ff_core::state::Worker;
use ff_core::{Capabilities, Code, Millis, Namespace, Payload, PublicState};
use ff_sdk::{FlowFabricWorker, Json, ServedLane, TaskContext, TaskError, WorkerConfig};
use ff_store::mint;
use ff_store::roles::{LaneUpdate, Registering, Session};
use tokio::time::timeout;

use crate::fixture::Fixture;

const MINUTE: Duration = Duration::from_secs(60);

async fn registered(fixture: &Fixture) -> Vec<Registration> {
    fixture.backend.workers(&Namespace::default(), None, 10).await.unwrap()
}

/// Returns when `count` workers are registered.
async fn until_registered(fixture: &Fixture, count: usize) {
    let counted = async {
        while registered(fixture).await.len() != count {
            tokio::time::advance(Duration::from_millis(50)).await;
        }
    };
    timeout(10 * MINUTE, counted).await.unwrap();
}

fn config(fixture: &Fixture, instance: &str) -> WorkerConfig {
    WorkerConfig { instance: instance.parse().unwrap(), ..fixture.config() }
}

/// Another process that registered as `instance` and went silent.
async fn silent(fixture: &Fixture, instance: &str, ttl: Millis) {
    let worker = Worker { id: "tester".parse().unwrap(), instance: instance.parse().unwrap() };
    let registering = Registering {
        namespace: Namespace::default(),
        worker,
        session: mint::request_id(),
        lanes: vec!["default".parse().unwrap()],
        capabilities: Capabilities::NONE,
        ttl,
    };
    fixture.backend.register(registering).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_connected_worker_is_registered_for_as_long_as_it_lives() {
    let fixture = Fixture::start();
    let mut config = config(&fixture, "one");
    config.capabilities = Capabilities::new(["gpu"]).unwrap();
    config.registration_ttl = Duration::from_secs(3);
    let worker = FlowFabricWorker::connect(config).await.unwrap();
    for _ in 0..100 {
        tokio::time::advance(Duration::from_millis(500)).await;
        let [found] = &registered(&fixture).await[..] else { panic!("it is registered") };
        assert_eq!((found.worker.instance.as_str(), found.ttl), ("one", Millis::from_secs(3)));
        assert_eq!(found.capabilities.as_str(), "gpu");
    }
    drop(worker);
    until_registered(&fixture, 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_second_process_with_a_live_instance_id_does_not_connect() {
    let fixture = Fixture::start();
    let first = FlowFabricWorker::connect(config(&fixture, "one")).await.unwrap();
    for _ in 0..60 {
        tokio::time::advance(Duration::from_secs(10)).await;
    }
    let refused = FlowFabricWorker::connect(config(&fixture, "one")).await.err().unwrap();
    assert_eq!(refused.refused(), Some(Code::WorkerAlive));
    assert!(refused.to_string().contains("its own instance id"), "{refused}");
    first.disconnect().await;
    FlowFabricWorker::connect(config(&fixture, "one")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_instance_id_of_a_silent_process_is_taken_over() {
    let fixture = Fixture::start();
    silent(&fixture, "one", Millis::from_secs(5)).await;
    tokio::time::advance(Duration::from_millis(4_900)).await;
    let refused = FlowFabricWorker::connect(config(&fixture, "one")).await.err().unwrap();
    assert_eq!(refused.refused(), Some(Code::WorkerAlive));
    tokio::time::advance(Duration::from_millis(100)).await;
    FlowFabricWorker::connect(config(&fixture, "one")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_was_forgotten_registers_again() {
    let fixture = Fixture::start();
    let worker = FlowFabricWorker::connect(config(&fixture, "one")).await.unwrap();
    let found = registered(&fixture).await.remove(0);
    let session = Session {
        namespace: Namespace::default(),
        instance: found.worker.instance,
        session: found.session,
    };
    fixture.backend.disconnect(&session).await.unwrap();
    assert!(registered(&fixture).await.is_empty());
    until_registered(&fixture, 1).await;
    worker.disconnect().await;
    assert!(registered(&fixture).await.is_empty());
}

async fn nothing(_task: TaskContext, Json(()): Json<()>) -> Result<(), TaskError> {
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_runtime_is_registered_from_its_start_to_its_shutdown() {
    let fixture = Fixture::start();
    let runtime = fixture.runtime().on("nothing", nothing).unwrap();
    let runtime = runtime.lane("a").unwrap().lane_weighted("b", 3).unwrap();
    let running = runtime.start().await.unwrap();
    let [found] = &registered(&fixture).await[..] else { panic!("it is registered") };
    let lanes: Vec<_> = found.lanes.iter().map(|lane| lane.as_str()).collect();
    assert_eq!(lanes, ["a", "b"]);
    running.shutdown().await;
    assert!(registered(&fixture).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn lanes_have_their_turns_by_weight_and_none_starves() {
    let fixture = Fixture::start();
    let mut config = fixture.config();
    let weighted = |lane: &str, weight| ServedLane { lane: lane.parse().unwrap(), weight };
    config.lanes = vec![weighted("a", 1), weighted("b", 3)];
    let worker = FlowFabricWorker::connect(config).await.unwrap();
    for _ in 0..10 {
        fixture.submit_to("a").await;
        fixture.submit_to("b").await;
    }
    let mut served = String::new();
    for _ in 0..20 {
        let task = timeout(MINUTE, worker.claim_next()).await.unwrap().unwrap().unwrap();
        served.push_str(task.assignment().lane.as_str());
        task.complete(Payload::default()).await.unwrap();
    }
    assert_eq!(&served[..12], "babbbabbbabb");
    assert_eq!((served.matches('a').count(), served.matches('b').count()), (10, 10));
}

#[tokio::test(start_paused = true)]
async fn a_waiting_worker_gets_the_work_of_a_lane_that_is_resumed() {
    let fixture = Fixture::start();
    let order = |paused| LaneUpdate { paused: Some(paused), ..LaneUpdate::default() };
    fixture.backend.update_lane(order(true)).await.unwrap();
    let target = fixture.submit().await;
    let worker = fixture.worker().await;
    assert!(worker.claim_next().await.unwrap().is_none());
    let (task, resumed) = tokio::join!(
        timeout(MINUTE, worker.claim_next()),
        fixture.backend.update_lane(order(false))
    );
    assert!(!resumed.unwrap().paused);
    let task = task.unwrap().unwrap().unwrap();
    assert_eq!(task.assignment().execution, target.execution);
    assert_eq!(fixture.state(&target).await, PublicState::Active);
}
