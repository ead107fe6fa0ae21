//! What every handler can reach.

use std::sync::Arc;

use ff_scheduler::{Scheduler, SchedulerConfig, SchedulerError};
use ff_store::EngineBackend;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::config::Config;

/// What every handler can reach. Cheap to clone.
#[derive(Clone)]
pub(crate) struct AppState {
    pub(crate) backend: Arc<dyn EngineBackend>,
    pub(crate) scheduler: Arc<Scheduler>,
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
    ) -> Result<AppState, SchedulerError> {
        let scheduler = Scheduler::new(backend.clone(), SchedulerConfig::default())?;
        let waiting = Arc::new(Semaphore::new(config.waiting_claims));
        let (scheduler, config) = (Arc::new(scheduler), Arc::new(config));
        Ok(AppState { backend, scheduler, config, waiting, stopping })
    }
}
