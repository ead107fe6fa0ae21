//! The runtime: claims, runs handlers, reports how they ended, and drains.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ff_core::{Capabilities, Category, Kind, Lane, Namespace, Refusal, WorkerId, WorkerInstanceId};
use ff_store::WorkerBackend;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::background::Heartbeats;
use crate::config::WorkerConfig;
use crate::context::{Shared, TaskContext};
use crate::error::SdkError;
use crate::extract::NeededState;
use crate::handler::{Handler, Handling};
use crate::round_robin::ServedLane;
use crate::task::ClaimedTask;
use crate::task_error::{self, Ending, TaskError};
use crate::worker::{FlowFabricWorker, pauses};

type Route = Arc<dyn Fn(TaskContext) -> Handling + Send + Sync>;

/// Runs typed handlers for the kinds of work of some lanes.
pub struct WorkerRuntime {
    config: WorkerConfig,
    default_lane: bool,
    routes: HashMap<Kind, Route>,
    needs: Vec<(Kind, NeededState)>,
    shared: Shared,
    drain: Duration,
}

impl WorkerRuntime {
    /// A runtime without handlers, serving lane `default` unless told otherwise.
    pub fn new(backend: Arc<dyn WorkerBackend>) -> WorkerRuntime {
        let worker = WorkerId::new("worker").unwrap_or_else(|_| unreachable!("a valid name"));
        WorkerRuntime {
            config: WorkerConfig::new(backend, worker),
            default_lane: true,
            routes: HashMap::new(),
            needs: Vec::new(),
            shared: Shared::new(),
            drain: Duration::from_secs(10),
        }
    }

    /// Its name and the name of this process.
    pub fn named(mut self, worker: WorkerId, instance: WorkerInstanceId) -> Self {
        self.config.worker = worker;
        self.config.instance = instance;
        self
    }

    /// The tenant.
    pub fn namespace(mut self, namespace: Namespace) -> Self {
        self.config.namespace = namespace;
        self
    }

    /// Serves one more lane, with weight 1.
    pub fn lane(self, lane: &str) -> Result<Self, Refusal> {
        self.lane_weighted(lane, 1)
    }

    /// Serves one more lane, which has its turn `weight` times as often as one of weight 1: 1 to
    /// 100. While it has no work, its turns go to the others.
    pub fn lane_weighted(mut self, lane: &str, weight: u16) -> Result<Self, Refusal> {
        if std::mem::take(&mut self.default_lane) {
            self.config.lanes.clear();
        }
        self.config.lanes.push(ServedLane { lane: Lane::new(lane)?, weight });
        Ok(self)
    }

    /// What the worker offers.
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.config.capabilities = capabilities;
        self
    }

    /// How many tasks run at once.
    pub fn concurrency(mut self, tasks: usize) -> Self {
        self.config.concurrency = tasks;
        self
    }

    /// How long the worker may be silent before it counts as gone: 1 second to 24 hours.
    pub fn registration_ttl(mut self, longest: Duration) -> Self {
        self.config.registration_ttl = longest;
        self
    }

    /// Where renewals of leases and of the registration run.
    pub fn heartbeats(mut self, heartbeats: Heartbeats) -> Self {
        self.config.heartbeats = heartbeats;
        self
    }

    /// How long running tasks may go on after a stop before they are handed back.
    pub fn drain(mut self, longest: Duration) -> Self {
        self.drain = longest;
        self
    }

    /// A value all handlers can take as [`State`](crate::State).
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.shared.insert(TypeId::of::<T>(), Arc::new(value));
        self
    }

    /// Handles one kind of work. A kind has one handler.
    pub fn on<Args, H: Handler<Args>>(mut self, kind: &str, handler: H) -> Result<Self, Refusal> {
        let kind = Kind::new(kind)?;
        let route: Route = Arc::new(move |context| handler.handle(context));
        if self.routes.insert(kind.clone(), route).is_some() {
            let why = format!("{kind} has two handlers; give it one");
            return Err(Refusal::invalid("kind", why));
        }
        self.needs.extend(H::needs().into_iter().map(|state| (kind.clone(), state)));
        Ok(self)
    }

    /// Connects and runs until the process is told to stop (Ctrl-C or, on Unix, SIGTERM), then drains.
    pub async fn run(self) -> Result<(), SdkError> {
        let running = self.start().await?;
        stop_signal().await;
        tracing::info!("draining");
        running.shutdown().await;
        Ok(())
    }

    /// Connects and runs in the background. A handler that takes a [`State`](crate::State) of which the
    /// runtime was given no value is refused.
    pub async fn start(self) -> Result<Running, SdkError> {
        if let Some((kind, state)) =
            self.needs.iter().find(|(_, s)| !self.shared.contains_key(&s.id))
        {
            let why = format!("lacks {}, which the handler of {kind} takes; give it", state.name);
            return Err(SdkError::config("state", why));
        }
        let worker = FlowFabricWorker::connect(self.config).await?;
        let service = Service {
            worker,
            routes: self.routes,
            shared: Arc::new(self.shared),
            drain: self.drain,
            hand_back: CancellationToken::new(),
        };
        let stop = CancellationToken::new();
        let task = tokio::spawn(Arc::new(service).run(stop.clone()));
        Ok(Running { stop, task })
    }
}

/// A runtime in the background.
#[derive(Debug)]
pub struct Running {
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Running {
    /// Tells it to stop, without waiting until it has.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Stops claiming, lets running tasks finish for the drain time, hands back the rest.
    pub async fn shutdown(self) {
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the runtime ended badly");
        }
    }
}

struct Service {
    worker: FlowFabricWorker,
    routes: HashMap<Kind, Route>,
    shared: Arc<Shared>,
    drain: Duration,
    /// Set when the drain time is over.
    hand_back: CancellationToken,
}

impl Service {
    async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut running = JoinSet::new();
        let mut backoff = pauses();
        while !stop.is_cancelled() {
            let claimed = tokio::select! {
                claimed = self.claim() => claimed,
                () = stop.cancelled() => break,
            };
            match claimed {
                Ok(tasks) => {
                    backoff = pauses();
                    for task in tasks {
                        running.spawn(self.clone().serve(task));
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot claim; trying again");
                    tokio::select! {
                        () = tokio::time::sleep(backoff.pause()) => {}
                        () = stop.cancelled() => break,
                    }
                }
            }
            while running.try_join_next().is_some() {}
        }
        if tokio::time::timeout(self.drain, all_done(&mut running)).await.is_err() {
            self.hand_back.cancel();
            all_done(&mut running).await;
        }
        self.worker.disconnect().await;
    }

    async fn claim(&self) -> Result<Vec<ClaimedTask>, SdkError> {
        self.worker.ready().await;
        self.worker.claim_many(self.worker.config().concurrency).await
    }

    /// Runs one task to its end and reports it. Never fails: what cannot be reported is logged.
    async fn serve(self: Arc<Self>, task: ClaimedTask) {
        let execution = task.assignment().execution;
        let reported = match self.handle(&task).await {
            Some(outcome) => report(task, outcome).await,
            None if task.is_lost() => return,
            None => task.hand_back().await,
        };
        match reported {
            Ok(exited) => tracing::debug!(%execution, ?exited, "task ended"),
            Err(error) => {
                tracing::warn!(%execution, %error, "the outcome of a task was not accepted")
            }
        }
    }

    /// How the handler ended; `None` when its end counts for nothing or the task goes back.
    async fn handle(&self, task: &ClaimedTask) -> Option<Result<ff_core::Payload, TaskError>> {
        let context = TaskContext::new(task, self.shared.clone());
        let kind = &task.assignment().kind;
        let Some(route) = self.routes.get(kind) else {
            return Some(Err(self.no_handler(kind)));
        };
        // A task of its own, so that a panic is seen here, also one before the first await: the
        // handler is called in it.
        let (kind, execution, route) = (kind.clone(), context.execution(), route.clone());
        let work = async move { route(context).await };
        let mut work = tokio::spawn(self.worker.handlers().watch(kind, execution, work));
        let ended = tokio::select! {
            ended = &mut work => ended,
            () = task.lost() => {
                tracing::warn!(execution = %task.assignment().execution, "the task was lost");
                work.abort();
                return None;
            }
            () = self.hand_back.cancelled() => {
                work.abort();
                return None;
            }
        };
        Some(ended.unwrap_or_else(|panic| Err(panicked(&panic.to_string()))))
    }

    fn no_handler(&self, kind: &Kind) -> TaskError {
        let mut kinds: Vec<_> = self.routes.keys().map(Kind::as_str).collect();
        kinds.sort_unstable();
        let message = format!("no handler for kind {kind}; this worker has {}", kinds.join(", "));
        TaskError::of(Category::no_handler(), message)
    }
}

async fn report(
    task: ClaimedTask,
    outcome: Result<ff_core::Payload, TaskError>,
) -> Result<ff_core::record::Exited, SdkError> {
    match outcome {
        Ok(result) => task.complete(result).await,
        Err(TaskError(Ending::Failed(failure))) => task.fail(failure).await,
        Err(TaskError(Ending::PutOff(span))) => task.delay_execution(task_error::until(span)).await,
        Err(TaskError(Ending::Cancel(reason))) => task.cancel(Some(reason)).await,
    }
}

async fn all_done(running: &mut JoinSet<()>) {
    while running.join_next().await.is_some() {}
}

fn panicked(message: &str) -> TaskError {
    TaskError::of(Category::panic(), format!("the handler panicked: {message}"))
}

/// Waits until the process is told to stop: by Ctrl-C or, on Unix, SIGTERM.
pub async fn stop_signal() {
    tokio::select! {
        () = interrupted() => {}
        () = terminated() => {}
    }
}

async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

#[cfg(unix)]
async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminated) => drop(terminated.recv().await),
        Err(_) => std::future::pending().await,
    }
}

#[cfg(not(unix))]
async fn terminated() {
    std::future::pending().await
}
