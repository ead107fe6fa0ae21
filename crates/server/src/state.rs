//! The state that every handler shares.

use std::sync::Arc;

use ff_scheduler::{Scheduler, SchedulerConfig, SchedulerError};
use ff_store::EngineBackend;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::access::Routes;
use crate::backlog::Counting;
use crate::callers::Callers;
use crate::config::Config;
use crate::dashboard::Dashboard;
use crate::flight::Flights;
use crate::health::Health;
use crate::rate::Rates;

/// The state that every handler shares. Cheap to clone.
#[derive(Clone)]
pub(crate) struct AppState {
    pub(crate) backend: Arc<dyn EngineBackend>,
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) config: Arc<Config>,
    /// Who may call which route.
    pub(crate) routes: Arc<Routes>,
    /// Whose tokens are.
    pub(crate) callers: Arc<Callers>,
    /// How many requests it takes.
    pub(crate) rates: Arc<Rates>,
    /// What it serves now of each named token.
    pub(crate) flights: Arc<Flights>,
    /// Whether the store answers.
    pub(crate) health: Arc<Health>,
    /// The count of the backlog.
    pub(crate) counting: Arc<Counting>,
    /// What the dashboard keeps: sessions, live views, the last hour.
    pub(crate) dashboard: Arc<Dashboard>,
    /// A permit per claim that waits for work.
    pub(crate) waiting: Arc<Semaphore>,
    /// A permit per client that waits for the end of an execution.
    pub(crate) waiting_clients: Arc<Semaphore>,
    /// A permit per worker that waits for stops; as many as claims that wait.
    pub(crate) listening: Arc<Semaphore>,
    /// Set when the server stops: whoever waits is answered at once.
    pub(crate) stopping: CancellationToken,
    /// Tasks that outlive their requests.
    pub(crate) tasks: TaskTracker,
}

impl AppState {
    pub(crate) fn new(
        backend: Arc<dyn EngineBackend>,
        config: Config,
        stopping: CancellationToken,
    ) -> Result<AppState, SchedulerError> {
        let scheduler = Scheduler::new(backend.clone(), SchedulerConfig::default())?;
        let waiting = Arc::new(Semaphore::new(config.waiting_claims));
        let listening = Arc::new(Semaphore::new(config.waiting_claims));
        let waiting_clients = Arc::new(Semaphore::new(config.waiting_clients));
        let rates = Arc::new(Rates::new(config.rate, config.token_rate));
        let flights = Arc::new(Flights::new(config.token_requests, config.token_waits));
        let (scheduler, config) = (Arc::new(scheduler), Arc::new(config));
        let (health, counting, tasks) = (Arc::default(), Arc::default(), TaskTracker::new());
        Ok(AppState {
            backend,
            scheduler,
            config,
            routes: Arc::default(),
            callers: Arc::default(),
            rates,
            flights,
            health,
            counting,
            dashboard: Arc::default(),
            waiting,
            waiting_clients,
            listening,
            stopping,
            tasks,
        })
    }
}
