//! A store, its timers and its workers in tokio's virtual time.
#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod served;

use std::sync::Arc;

use ff_backend_memory::MemoryStore;
use ff_core::machine::{Submit, Target};
use ff_core::{Description, Namespace, PolicyOverrides, PublicState};
use ff_engine::timers::{Options, Timers};
use ff_sdk::{FlowFabricWorker, Heartbeats, WorkerConfig, WorkerRuntime};
use ff_store::EngineBackend;
use ff_store::roles::Engine;
use ff_testkit::TokioClock;
use tokio_util::sync::{CancellationToken, DropGuard};

pub(crate) struct World {
    pub(crate) backend: Arc<dyn EngineBackend>,
    _timers: DropGuard,
}

impl World {
    pub(crate) fn start() -> World {
        let store = MemoryStore::serial(Arc::new(TokioClock::start()));
        let backend: Arc<dyn EngineBackend> = Arc::new(Engine::new(store));
        let stop = CancellationToken::new();
        let timers = Timers::new(backend.clone(), Options::default());
        let stopped = stop.clone();
        tokio::spawn(async move { timers.run(stopped).await });
        World { backend, _timers: stop.drop_guard() }
    }

    pub(crate) fn config(&self) -> WorkerConfig {
        // A thread of its own would not share the virtual time.
        let heartbeats = Heartbeats::SameRuntime;
        let config = WorkerConfig::new(self.backend.clone(), "tester".parse().unwrap());
        WorkerConfig { heartbeats, ..config }
    }

    pub(crate) fn runtime(&self) -> WorkerRuntime {
        WorkerRuntime::new(self.backend.clone()).heartbeats(Heartbeats::SameRuntime)
    }

    pub(crate) async fn worker(&self) -> FlowFabricWorker {
        FlowFabricWorker::connect(self.config()).await.unwrap()
    }

    pub(crate) async fn submit(&self) -> Target {
        self.submit_with(|_| {}).await
    }

    pub(crate) async fn submit_with(&self, change: impl FnOnce(&mut PolicyOverrides)) -> Target {
        let mut submit = self.new_submit();
        change(&mut submit.policy);
        self.send(submit).await
    }

    pub(crate) async fn submit_to(&self, lane: &str) -> Target {
        self.send(Submit { lane: lane.parse().unwrap(), ..self.new_submit() }).await
    }

    fn new_submit(&self) -> Submit {
        Submit::new(self.backend.new_id(&Namespace::default(), None))
    }

    async fn send(&self, submit: Submit) -> Target {
        let target = Target { namespace: submit.namespace.clone(), execution: submit.id };
        self.backend.submit(vec![submit]).await.unwrap().remove(0).unwrap();
        target
    }

    pub(crate) async fn record(&self, target: &Target) -> Description {
        self.backend.describe(target).await.unwrap()
    }

    pub(crate) async fn state(&self, target: &Target) -> PublicState {
        self.record(target).await.public_state()
    }
}
