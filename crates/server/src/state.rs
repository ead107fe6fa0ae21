//! What every handler can reach.

use std::sync::Arc;

use ff_store::EngineBackend;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::config::Config;

/// What every handler can reach. Cheap to clone.
#[derive(Clone)]
pub(crate) struct AppState {
    pub(crate) backend: Arc<dyn EngineBackend>,
    pub(crate) config: Arc<Config>,
    /// A permit per claim that waits for work.
    pub(crate) waiting: Arc<Semaphore>,
    /// Set when the server stops: waiting claims answer at once.
    pub(crate) stopping: CancellationToken,
}

impl AppState {
    pub(crate) fn new(
        backend: Arc<dyn EngineBackend>,
        config: Config,
        stopping: CancellationToken,
    ) -> AppState {
        let waiting = Arc::new(Semaphore::new(config.waiting_claims));
        AppState { backend, config: Arc::new(config), waiting, stopping }
    }
}
