//! Workers: described, started, ended.

use std::time::Duration;

use ff_core::{Capabilities, WorkerId, WorkerInstanceId};
use ff_sdk::{Handler, Shutdown, WorkerRuntime};
use tokio::task::JoinHandle;

use crate::Error;
use crate::flowfabric::FlowFabric;

/// Describes a worker. Made by [`FlowFabric::worker`]; checked by [`start`](WorkerBuilder::start).
#[must_use = "nothing runs before `start()` or `run()`"]
pub struct WorkerBuilder {
    flowfabric: FlowFabric,
    name: String,
    instance: Option<String>,
    capabilities: Vec<String>,
    handlers: usize,
    /// The worker, or the first error.
    runtime: Result<WorkerRuntime, Error>,
}

impl WorkerBuilder {
    pub(crate) fn new(flowfabric: FlowFabric) -> WorkerBuilder {
        let runtime = WorkerRuntime::new(flowfabric.backend.clone())
            .namespace(flowfabric.namespace.clone())
            .heartbeats(flowfabric.heartbeats);
        WorkerBuilder {
            flowfabric,
            name: "worker".to_owned(),
            instance: None,
            capabilities: Vec::new(),
            handlers: 0,
            runtime: Ok(runtime),
        }
    }

    /// Handles one kind of task, with an async function: see [`Handler`].
    pub fn on<Args>(mut self, kind: &str, handler: impl Handler<Args>) -> WorkerBuilder {
        self.handlers += 1;
        self.with(|runtime| Ok(runtime.on(kind, handler)?))
    }

    /// A value that handlers take as [`State`](crate::State); one for each type.
    pub fn state<S: Send + Sync + 'static>(self, value: S) -> WorkerBuilder {
        self.with(|runtime| Ok(runtime.state(value)))
    }

    /// A queue to serve; by default `default`. It may be called again for more.
    pub fn lane(self, lane: &str) -> WorkerBuilder {
        self.lane_weighted(lane, 1)
    }

    /// A queue that has its turn `weight` times as often as one of weight 1: 1 to 100. While it is
    /// empty, its turns go to the others.
    pub fn lane_weighted(self, lane: &str, weight: u16) -> WorkerBuilder {
        self.with(|runtime| Ok(runtime.lane_weighted(lane, weight)?))
    }

    /// How many tasks run at once; by default 1.
    pub fn concurrency(self, tasks: usize) -> WorkerBuilder {
        self.with(|runtime| Ok(runtime.concurrency(tasks)))
    }

    /// A capability that it offers to tasks that require it. It may be called again for more.
    pub fn capability(mut self, capability: &str) -> WorkerBuilder {
        self.capabilities.push(capability.to_owned());
        self
    }

    /// Its name, which the processes of one program share; by default `worker`.
    pub fn name(mut self, name: &str) -> WorkerBuilder {
        self.name = name.to_owned();
        self
    }

    /// The name of this process, which no other live one has; by default random.
    pub fn instance(mut self, instance: &str) -> WorkerBuilder {
        self.instance = Some(instance.to_owned());
        self
    }

    /// How long running tasks may take to finish when the worker ends, before they are handed back;
    /// by default 10 seconds.
    pub fn drain(self, longest: Duration) -> WorkerBuilder {
        self.with(|runtime| Ok(runtime.drain(longest)))
    }

    /// Checks the worker and starts it in the background. It is refused without a handler, without a
    /// state that a handler takes, and with an invalid name or a value out of range.
    pub async fn start(self) -> Result<Worker, Error> {
        let mut runtime = self.runtime?;
        if self.handlers == 0 {
            let why = "are missing; give at least one with `on(kind, handler)`";
            return Err(Error::config("handlers", why));
        }
        let instance = self.instance.unwrap_or_else(|| ff_store::mint::request_id().to_string());
        runtime = runtime.named(WorkerId::new(self.name)?, WorkerInstanceId::new(instance)?);
        runtime = runtime.capabilities(match self.capabilities.is_empty() {
            true => Capabilities::NONE,
            false => Capabilities::new(&self.capabilities)?,
        });
        let running = runtime.start().await?;
        let shutdown = running.shutdown_handle();
        let ended = self.flowfabric.background.keep(running);
        Ok(Worker { shutdown, ended, _flowfabric: self.flowfabric })
    }

    /// Starts it, and runs until the process is told to stop (Ctrl-C or, on Unix, SIGTERM); then drains. A
    /// second signal does not wait for the drain.
    pub async fn run(self) -> Result<(), Error> {
        let mut worker = self.start().await?;
        tokio::select! {
            ended = &mut worker.ended => ended.unwrap_or(Ok(())),
            () = worker.shutdown.listen_for_signals() => Ok(()),
        }
    }

    fn with(
        mut self,
        change: impl FnOnce(WorkerRuntime) -> Result<WorkerRuntime, Error>,
    ) -> WorkerBuilder {
        self.runtime = self.runtime.and_then(change);
        self
    }
}

/// A worker that runs in the background. It ends with [`shutdown`](Worker::shutdown) or
/// [`FlowFabric::close`]; dropping this value leaves it running.
pub struct Worker {
    shutdown: Shutdown,
    ended: JoinHandle<Result<(), Error>>,
    _flowfabric: FlowFabric,
}

impl Worker {
    /// Takes no more tasks, lets those that run finish for the drain time, hands back the rest, and
    /// returns when all of that is done.
    pub async fn shutdown(self) {
        self.shutdown.drain();
        // Why it ended, if not of this, is in the log.
        let _ = self.ended.await;
    }
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("ended", &self.ended.is_finished()).finish_non_exhaustive()
    }
}
