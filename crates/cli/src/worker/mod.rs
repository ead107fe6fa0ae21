//! A worker in this process: claims executions of a lane and runs a program for each.
//!
//! One claim is in flight at a time, for as many executions as there are free slots. Each execution
//! has a [`keeper`] that renews its lease until its end is acknowledged, and a [`program`] that runs
//! in a process group of its own, which a [`watchdog`] ends should the worker be killed. Programs report
//! through a [`relay`]. Nothing the store answers ends the worker; a program that cannot be run does.

mod claims;
mod deliver;
mod dispatch;
mod environment;
mod job;
mod keeper;
mod log;
mod presence;
mod program;
mod relay;
mod retry;
mod shutdown;
mod tail;
mod verdict;
mod watchdog;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ff_api::WorkerReportView;
use ff_core::state::Worker;
use ff_core::{Capabilities, Lane, Millis, Namespace};
use ff_engine::services::Services;
use ff_store::{ClientAndWorker, WorkerBackend};

use crate::error::Error;
use crate::session::Place;
use log::Log;
use relay::Relay;
use shutdown::Shutdown;
use watchdog::Watchdog;

/// What a worker does.
pub(crate) struct Options {
    /// The tenant.
    pub(crate) namespace: Namespace,
    /// The queue.
    pub(crate) lane: Lane,
    /// The program, as `sh -c` runs it.
    pub(crate) exec: String,
    /// How many run at a time.
    pub(crate) concurrency: usize,
    /// What the worker offers.
    pub(crate) capabilities: Capabilities,
    /// Who it is.
    pub(crate) worker: Worker,
    /// How long it may be silent before it counts as gone.
    pub(crate) registration_ttl: Millis,
    /// When it stops by itself.
    pub(crate) stop: Stop,
    /// How long a program has between SIGTERM and SIGKILL.
    pub(crate) grace: Duration,
    /// How long programs may go on after a signal.
    pub(crate) drain: Duration,
}

/// When a worker stops by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Never.
    OnSignal,
    /// After one execution.
    AfterOne,
    /// When nothing is claimable and nothing runs here.
    WhenIdle,
}

/// What the parts of a worker share.
struct Context {
    backend: Arc<dyn ClientAndWorker>,
    options: Options,
    shutdown: Shutdown,
    log: Log,
    relay: Relay,
    watchdog: Watchdog,
    /// Why the program cannot be run on this machine, once that is seen.
    not_runnable: OnceLock<String>,
}

impl Context {
    /// The program cannot be run on this machine: the worker claims nothing more and ends.
    fn give_up(&self, why: String) {
        if self.not_runnable.set(why).is_ok() {
            self.log.stopping("the program cannot be run");
            self.shutdown.drain(self.options.drain);
        }
    }
}

/// Works until it is told to stop. On a store of its own it lets time pass meanwhile; a server does
/// that by itself.
pub(crate) async fn run(place: Place, options: Options) -> Result<WorkerReportView, Error> {
    // A wrong token is told at once; a server that is not there yet may come.
    if let Place::Server(client) = &place
        && let Err(error) = client.ping().await
        && !error.is_retryable()
    {
        return Err(error.into());
    }
    let log = Log::to_stderr();
    let shutdown = Shutdown::on_signals(options.drain, log.clone()).map_err(Error::Runtime)?;
    let watchdog = Watchdog::start().map_err(Error::Runtime)?;
    let background = match &place {
        Place::Server(_) => None,
        Place::Store(backend) => Some(Services::new(backend.clone()).start()),
    };
    let backend = place.roles();
    let relay = Relay::start(backend.clone()).await.map_err(Error::Runtime)?;
    let not_runnable = OnceLock::new();
    let context =
        Arc::new(Context { backend, options, shutdown, log, relay, watchdog, not_runnable });
    let worked = work(&context).await;
    if let Some(background) = background {
        background.stop().await;
    }
    if let Ok(report) = &worked {
        context.log.stopped(report);
    }
    context.log.close().await;
    worked
}

/// Registers, works, and leaves.
async fn work(context: &Arc<Context>) -> Result<WorkerReportView, Error> {
    let presence = presence::register(context).await?;
    context.log.started(&context.options);
    let report = dispatch::run(context).await;
    presence.leave().await;
    match context.not_runnable.get() {
        Some(why) => Err(Error::Program(why.clone())),
        None => Ok(report),
    }
}
