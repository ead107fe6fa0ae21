//! The background services of a store, as a server runs them.

use std::sync::Arc;

use ff_engine::services::Services;
use ff_engine::supervisor::Supervisor;
use ff_store::EngineBackend;

/// The background services, running.
pub(crate) struct Passing(Supervisor);

impl Passing {
    pub(crate) fn start(backend: Arc<dyn EngineBackend>) -> Passing {
        Passing(Services::new(backend).start())
    }

    pub(crate) async fn stop(self) {
        self.0.stop().await;
    }
}
