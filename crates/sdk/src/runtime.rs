//! The runtime: claims, runs handlers, reports how they ended, and drains.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ff_core::{Capabilities, Category, Kind, Lane, Namespace, Refusal, WorkerId, WorkerInstanceId};
use ff_store::WorkerBackend;

use crate::background::Heartbeats;
use crate::config::WorkerConfig;
use crate::context::{Shared, TaskContext};
use crate::error::SdkError;
use crate::extract::NeededState;
use crate::handler::{Handler, Handling};
use crate::round_robin::ServedLane;
use crate::shutdown::Shutdown;
use crate::task::ClaimedTask;
use crate::task_error::{self, Ending, TaskError};
use crate::work::Until;
use crate::worker::FlowFabricWorker;

type Route = Arc<dyn Fn(TaskContext) -> Handling + Send + Sync>;

/// Runs typed handlers for the kinds of work of some lanes.
pub struct WorkerRuntime {
    config: WorkerConfig,
    default_lane: bool,
    routes: HashMap<Kind, Route>,
    needs: Vec<(Kind, NeededState)>,
    shared: Shared,
    until: Until,
}

impl WorkerRuntime {
    /// A runtime without handlers, serving lane `default` unless others are given.
    pub fn new(backend: Arc<dyn WorkerBackend>) -> WorkerRuntime {
        let worker = WorkerId::new("worker").unwrap_or_else(|_| unreachable!("a valid name"));
        WorkerRuntime {
            config: WorkerConfig::new(backend, worker),
            default_lane: true,
            routes: HashMap::new(),
            needs: Vec::new(),
            shared: Shared::new(),
            until: Until::default(),
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

    /// How long running tasks may continue after a stop request before they are handed back.
    pub fn drain(mut self, longest: Duration) -> Self {
        self.config.drain = longest;
        self
    }

    /// When it stops by itself.
    pub fn until(mut self, until: Until) -> Self {
        self.until = until;
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

    /// Connects and runs until the process is told to stop (Ctrl-C or, on Unix, SIGTERM), then drains. A
    /// second signal does not wait for the drain.
    pub async fn run(self) -> Result<(), SdkError> {
        let mut running = self.start().await?;
        let shutdown = running.shutdown_handle();
        tokio::select! {
            ended = running.ended() => ended,
            () = shutdown.listen_for_signals() => Ok(()),
        }
    }

    /// Connects and runs in the background. A handler that takes a [`State`](crate::State) for which
    /// the runtime has no value is refused.
    pub async fn start(self) -> Result<Running, SdkError> {
        if let Some((kind, state)) =
            self.needs.iter().find(|(_, s)| !self.shared.contains_key(&s.id))
        {
            let why = format!("lacks {}, which the handler of {kind} takes; give it", state.name);
            return Err(SdkError::config("state", why));
        }
        let (until, shutdown) = (self.until, self.config.shutdown.clone());
        let worker = FlowFabricWorker::connect(self.config).await?;
        let shared = Arc::new(self.shared);
        let service = Arc::new(Service { worker, routes: self.routes, shared });
        let task = tokio::spawn(async move {
            let ended = service.worker.work(until, |task| service.clone().serve(task)).await;
            ended.inspect_err(|error| tracing::error!(%error, "the worker has ended"))
        });
        Ok(Running { shutdown, task })
    }
}

/// A runtime in the background.
#[derive(Debug)]
pub struct Running {
    shutdown: Shutdown,
    task: tokio::task::JoinHandle<Result<(), SdkError>>,
}

impl Running {
    /// Tells it to stop, without waiting until it has.
    pub fn stop(&self) {
        self.shutdown.drain();
    }

    /// The handle that requests the stop.
    pub fn shutdown_handle(&self) -> Shutdown {
        self.shutdown.clone()
    }

    /// Stops claiming, lets running tasks finish for the drain time, hands back the rest.
    pub async fn shutdown(mut self) {
        self.stop();
        // Why it ended, if not of this, is in the log.
        let _ = self.ended().await;
    }

    /// Waits until it has ended. The error is that of a claim which repeating cannot mend: it is
    /// refused, or its caller is not let in.
    pub async fn ended(&mut self) -> Result<(), SdkError> {
        (&mut self.task).await.unwrap_or_else(|error| {
            tracing::error!(%error, "the runtime ended badly");
            Ok(())
        })
    }
}

/// How a handler came to its end.
enum Handled {
    /// By itself.
    Ended(Result<ff_core::Payload, TaskError>),
    /// In a call that ended its hold: there is nothing to report.
    Parked,
    /// Because its outcome does not count any more, or the worker stops.
    Stopped,
}

struct Service {
    worker: FlowFabricWorker,
    routes: HashMap<Kind, Route>,
    shared: Arc<Shared>,
}

impl Service {
    /// Runs one task to its end and reports it. Never fails: what cannot be reported is logged.
    async fn serve(self: Arc<Self>, task: ClaimedTask) {
        let execution = task.assignment().execution;
        let reported = match self.handle(&task).await {
            Handled::Ended(outcome) => report(task, outcome).await,
            Handled::Parked => {
                tracing::debug!(%execution, "task parked");
                return;
            }
            Handled::Stopped if task.is_lost() => return,
            Handled::Stopped => task.hand_back().await,
        };
        match reported {
            Ok(exited) => tracing::debug!(%execution, ?exited, "task ended"),
            Err(error) => {
                tracing::warn!(%execution, %error, "the outcome of a task was not accepted")
            }
        }
    }

    /// Runs the handler.
    async fn handle(&self, task: &ClaimedTask) -> Handled {
        let context = TaskContext::new(task, self.shared.clone());
        let kind = &task.assignment().kind;
        let Some(route) = self.routes.get(kind) else {
            return Handled::Ended(Err(self.no_handler(kind)));
        };
        // A separate task, so that a panic is caught, also one before the first await: the
        // handler is called in that task.
        let (kind, execution, route) = (kind.clone(), context.execution(), route.clone());
        let work = async move { route(context).await };
        let mut work = tokio::spawn(self.worker.handlers().watch(kind, execution, work));
        let ended = tokio::select! {
            biased;
            () = task.parked() => {
                work.abort();
                return Handled::Parked;
            }
            ended = &mut work => ended,
            () = task.lost() => {
                tracing::warn!(execution = %task.assignment().execution, "the task was lost");
                work.abort();
                return Handled::Stopped;
            }
            () = self.worker.config().shutdown.drained() => {
                work.abort();
                return Handled::Stopped;
            }
        };
        Handled::Ended(ended.unwrap_or_else(|panic| Err(panicked(&panic.to_string()))))
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
        Err(TaskError(Ending::Delay(span))) => task.delay_execution(task_error::until(span)).await,
        Err(TaskError(Ending::Cancel(reason))) => task.cancel(Some(reason)).await,
    }
}

fn panicked(message: &str) -> TaskError {
    TaskError::of(Category::panic(), format!("the handler panicked: {message}"))
}
