//! The timer loop skips timers that fail.

use std::sync::Arc;

use ff_backend_memory::MemoryStore;
use ff_core::state::Worker;
use ff_core::{Capabilities, Lane, Millis, Namespace, WorkerInstanceId};
use ff_engine::timers::{Options, Timers};
use ff_store::roles::{Engine, Registering};
use ff_store::{ClientBackend, WorkerBackend, mint};
use ff_testkit::{Forwarding, ManualClock};

use super::broken::Broken;

const SILENCE: Millis = Millis::from_secs(10);

async fn register(backend: &Engine<Forwarding<Broken>>, instance: &str) {
    let registering = Registering {
        namespace: Namespace::default(),
        worker: Worker { id: "ada".parse().unwrap(), instance: instance.parse().unwrap() },
        session: mint::request_id(),
        lanes: vec![Lane::default()],
        capabilities: Capabilities::NONE,
        ttl: SILENCE,
    };
    backend.register(registering).await.unwrap();
}

async fn registered(backend: &Engine<Forwarding<Broken>>) -> Vec<WorkerInstanceId> {
    let workers = backend.workers(&Namespace::default(), None, 100).await.unwrap();
    workers.into_iter().map(|worker| worker.worker.instance).collect()
}

#[tokio::test]
async fn more_stuck_timers_than_a_batch_hide_no_later_ones() {
    let clock = ManualClock::default();
    let store = MemoryStore::serial(Arc::new(clock.clone()));
    let backend = Engine::new(Broken::new(store, "broken"));
    for number in 0..5 {
        register(&backend, &format!("broken-{number}")).await;
    }
    clock.advance(Millis::new(1));
    register(&backend, "able").await;
    clock.advance(SILENCE);
    backend.store().fail(true);
    let options = Options { batch: 2, ..Options::default() };
    let timers = Timers::new(Arc::new(backend.clone()), options);
    let report = timers.run_once().await.unwrap();
    assert_eq!((report.fired, report.errors), (1, 5));
    assert!(!registered(&backend).await.contains(&"able".parse().unwrap()));
    backend.store().fail(false);
    assert_eq!(timers.run_once().await.unwrap().fired, 5, "they are retried");
    assert!(registered(&backend).await.is_empty());
}
