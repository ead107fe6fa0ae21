//! The background tasks of a handle: the engine of its store, and its workers.
//!
//! All of it ends with [`Background::close`], or is stopped when the last handle is dropped.

use std::sync::{Arc, Mutex, PoisonError};

use ff_engine::services::Services;
use ff_engine::supervisor::Supervisor;
use ff_sdk::Running;
use ff_store::EngineBackend;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Error;

/// The engine of a store and the workers of a handle.
pub(crate) struct Background {
    engine: Option<Engine>,
    workers: TaskTracker,
    stop: CancellationToken,
}

struct Engine {
    store: Arc<dyn EngineBackend>,
    /// Taken by the first close.
    services: Mutex<Option<Supervisor>>,
}

impl Background {
    /// Runs the engine of `store`, if there is one.
    pub(crate) fn start(store: Option<Arc<dyn EngineBackend>>) -> Background {
        let engine = store.map(|store| {
            let services = Mutex::new(Some(Services::new(store.clone()).start()));
            Engine { store, services }
        });
        Background { engine, workers: TaskTracker::new(), stop: CancellationToken::new() }
    }

    /// Keeps a worker, and stops it when the handle closes. The answer completes when the worker has
    /// ended, with the error if one ended it.
    pub(crate) fn keep(&self, mut worker: Running) -> JoinHandle<Result<(), Error>> {
        let (all, shutdown) = (self.stop.clone(), worker.shutdown_handle());
        self.workers.spawn(async move {
            let stop = async {
                all.cancelled().await;
                shutdown.drain();
                std::future::pending().await
            };
            tokio::select! {
                ended = worker.ended() => ended,
                () = stop => Ok(()),
            }
        })
    }

    /// Ends workers first, then the engine, then pending calls.
    pub(crate) async fn close(&self) {
        self.stop.cancel();
        self.workers.close();
        self.workers.wait().await;
        if let Some(engine) = &self.engine {
            if let Some(services) = engine.take() {
                services.stop().await;
            }
            engine.store.drain().await;
        }
    }
}

impl Engine {
    fn take(&self) -> Option<Supervisor> {
        self.services.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.cancel();
        let (Some(engine), Ok(runtime)) = (&self.engine, tokio::runtime::Handle::try_current())
        else {
            // Outside a runtime there is nothing to wait on; its end ends them.
            return;
        };
        if let Some(services) = engine.take() {
            let (store, workers) = (engine.store.clone(), self.workers.clone());
            runtime.spawn(async move {
                workers.close();
                workers.wait().await;
                services.stop().await;
                store.drain().await;
            });
        }
    }
}
