//! A worker's registration in one virtual time with its store, and whose turn its lanes have.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::time::Duration;

use common::World;
use ff_core::resource::Registration;
use ff_core::state::Worker;
use ff_core::{Capabilities, Code, Millis, Namespace, Payload, PublicState};
use ff_sdk::{FlowFabricWorker, Json, ServedLane, TaskContext, TaskError, WorkerConfig};
use ff_store::mint;
use ff_store::roles::{LaneUpdate, Registering, Session};
use tokio::time::timeout;

const MINUTE: Duration = Duration::from_secs(60);

async fn registered(world: &World) -> Vec<Registration> {
    world.backend.workers(&Namespace::default(), None, 10).await.unwrap()
}

/// Returns when `count` workers are registered.
async fn until_registered(world: &World, count: usize) {
    let counted = async {
        while registered(world).await.len() != count {
            tokio::time::advance(Duration::from_millis(50)).await;
        }
    };
    timeout(10 * MINUTE, counted).await.unwrap();
}

fn config(world: &World, instance: &str) -> WorkerConfig {
    WorkerConfig { instance: instance.parse().unwrap(), ..world.config() }
}

/// Another process that registered as `instance` and is not heard of any more.
async fn silent(world: &World, instance: &str, ttl: Millis) {
    let worker = Worker { id: "tester".parse().unwrap(), instance: instance.parse().unwrap() };
    let registering = Registering {
        namespace: Namespace::default(),
        worker,
        session: mint::request_id(),
        lanes: vec!["default".parse().unwrap()],
        capabilities: Capabilities::NONE,
        ttl,
    };
    world.backend.register(registering).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_connected_worker_is_registered_for_as_long_as_it_lives() {
    let world = World::start();
    let mut config = config(&world, "one");
    config.capabilities = Capabilities::new(["gpu"]).unwrap();
    config.registration_ttl = Duration::from_secs(3);
    let worker = FlowFabricWorker::connect(config).await.unwrap();
    for _ in 0..100 {
        tokio::time::advance(Duration::from_millis(500)).await;
        let [found] = &registered(&world).await[..] else { panic!("it is registered") };
        assert_eq!((found.worker.instance.as_str(), found.ttl), ("one", Millis::from_secs(3)));
        assert_eq!(found.capabilities.as_str(), "gpu");
    }
    drop(worker);
    until_registered(&world, 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_second_process_with_a_live_instance_id_does_not_connect() {
    let world = World::start();
    let first = FlowFabricWorker::connect(config(&world, "one")).await.unwrap();
    for _ in 0..60 {
        tokio::time::advance(Duration::from_secs(10)).await;
    }
    let refused = FlowFabricWorker::connect(config(&world, "one")).await.err().unwrap();
    assert_eq!(refused.refused(), Some(Code::WorkerAlive));
    assert!(refused.to_string().contains("its own instance id"), "{refused}");
    first.disconnect().await;
    FlowFabricWorker::connect(config(&world, "one")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_instance_id_of_a_silent_process_is_taken_over() {
    let world = World::start();
    silent(&world, "one", Millis::from_secs(5)).await;
    tokio::time::advance(Duration::from_millis(4_900)).await;
    let refused = FlowFabricWorker::connect(config(&world, "one")).await.err().unwrap();
    assert_eq!(refused.refused(), Some(Code::WorkerAlive));
    tokio::time::advance(Duration::from_millis(100)).await;
    FlowFabricWorker::connect(config(&world, "one")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_was_forgotten_registers_again() {
    let world = World::start();
    let worker = FlowFabricWorker::connect(config(&world, "one")).await.unwrap();
    let found = registered(&world).await.remove(0);
    let session = Session {
        namespace: Namespace::default(),
        instance: found.worker.instance,
        session: found.session,
    };
    world.backend.disconnect(&session).await.unwrap();
    assert!(registered(&world).await.is_empty());
    until_registered(&world, 1).await;
    worker.disconnect().await;
    assert!(registered(&world).await.is_empty());
}

async fn nothing(_task: TaskContext, Json(()): Json<()>) -> Result<(), TaskError> {
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_runtime_is_registered_from_its_start_to_its_shutdown() {
    let world = World::start();
    let runtime = world.runtime().on("nothing", nothing).unwrap();
    let runtime = runtime.lane("a").unwrap().lane_weighted("b", 3).unwrap();
    let running = runtime.start().await.unwrap();
    let [found] = &registered(&world).await[..] else { panic!("it is registered") };
    let lanes: Vec<_> = found.lanes.iter().map(|lane| lane.as_str()).collect();
    assert_eq!(lanes, ["a", "b"]);
    running.shutdown().await;
    assert!(registered(&world).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn lanes_have_their_turns_by_weight_and_none_starves() {
    let world = World::start();
    let mut config = world.config();
    let weighted = |lane: &str, weight| ServedLane { lane: lane.parse().unwrap(), weight };
    config.lanes = vec![weighted("a", 1), weighted("b", 3)];
    let worker = FlowFabricWorker::connect(config).await.unwrap();
    for _ in 0..10 {
        world.submit_to("a").await;
        world.submit_to("b").await;
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
    let world = World::start();
    let order = |paused| LaneUpdate { paused: Some(paused), ..LaneUpdate::default() };
    world.backend.update_lane(order(true)).await.unwrap();
    let target = world.submit().await;
    let worker = world.worker().await;
    assert!(worker.claim_next().await.unwrap().is_none());
    let (task, resumed) =
        tokio::join!(timeout(MINUTE, worker.claim_next()), world.backend.update_lane(order(false)));
    assert!(!resumed.unwrap().paused);
    let task = task.unwrap().unwrap().unwrap();
    assert_eq!(task.assignment().execution, target.execution);
    assert_eq!(world.state(&target).await, PublicState::Active);
}
