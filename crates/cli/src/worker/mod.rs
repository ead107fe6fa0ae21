//! A worker in this process: runs a program for each execution of its lanes.
//!
//! The SDK claims, keeps leases, repeats unanswered calls and drains. This module adds the
//! [`program`] of each task, which runs in a separate process group that a [`watchdog`] ends should
//! the worker be killed. Programs report through a [`relay`]. Nothing the store answers ends the worker;
//! a program that cannot be run does.

mod environment;
mod job;
mod lines;
mod log;
mod program;
mod relay;
mod tail;
mod verdict;
mod watchdog;

use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use ff_api::WorkerReportView;
use ff_core::state::Worker;
use ff_core::{Capabilities, Lane, Namespace};
use ff_engine::services::Services;
use ff_sdk::{FlowFabricWorker, ServedLane, Shutdown, Until, WorkerConfig};
use ff_store::WorkerBackend;

use crate::duration;
use crate::error::Error;
use crate::session::Place;
use crate::signals::Signals;
use job::Ending;
use log::Log;
use relay::Relay;
use watchdog::Watchdog;

/// How long a claim waits for work.
const WAIT: Duration = Duration::from_secs(20);
/// The same where the wait delays something else: the other lanes, or the end of an idle worker.
/// Long enough for due work to appear.
const SHORT_WAIT: Duration = Duration::from_millis(500);

/// The settings of a worker.
pub(crate) struct Options {
    /// The tenant.
    pub(crate) namespace: Namespace,
    /// The queues, which take turns.
    pub(crate) lanes: Vec<Lane>,
    /// The program, as `sh -c` runs it.
    pub(crate) exec: String,
    /// How many run at a time.
    pub(crate) concurrency: usize,
    /// What the worker offers.
    pub(crate) capabilities: Capabilities,
    /// Its name and instance.
    pub(crate) worker: Worker,
    /// How long it may be silent before it counts as gone.
    pub(crate) registration_ttl: Duration,
    /// When it stops by itself.
    pub(crate) until: Until,
    /// How long a program has between SIGTERM and SIGKILL.
    pub(crate) grace: Duration,
    /// How long programs may continue after a signal.
    pub(crate) drain: Duration,
}

/// What the parts of a worker share.
struct Context {
    options: Options,
    shutdown: Shutdown,
    log: Log,
    relay: Relay,
    watchdog: Watchdog,
    report: Mutex<WorkerReportView>,
    /// Why the program cannot be run on this machine, once that is known.
    not_runnable: OnceLock<String>,
}

impl Context {
    /// The program cannot be run on this machine: the worker claims nothing more and ends.
    fn give_up(&self, why: String) {
        if self.not_runnable.set(why).is_ok() {
            self.log.stopping("the program cannot be run");
            self.shutdown.drain();
        }
    }

    /// One more execution has ended for this worker.
    fn count(&self, ending: Ending) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report.claimed += 1;
        *match ending {
            Ending::Completed => &mut report.completed,
            Ending::Retrying => &mut report.retrying,
            Ending::Failed => &mut report.failed,
            Ending::Cancelled => &mut report.cancelled,
            Ending::Lost => &mut report.lost,
            Ending::HandedBack => &mut report.handed_back,
        } += 1;
    }
}

/// Works until it is told to stop. With direct access to a store it also runs the background
/// services; otherwise the server does.
pub(crate) async fn run(place: Place, options: Options) -> Result<WorkerReportView, Error> {
    let log = Log::to_stderr();
    let shutdown = Shutdown::default();
    listen_for_signals(shutdown.clone(), options.drain, log.clone()).map_err(Error::Runtime)?;
    let watchdog = Watchdog::start().map_err(Error::Runtime)?;
    let background = match &place {
        Place::Server(_) => None,
        Place::Store(backend) => Some(Services::new(backend.clone()).start()),
    };
    let backend = place.roles();
    let relay = Relay::start(backend.clone()).await.map_err(Error::Runtime)?;
    let (report, not_runnable) = (Mutex::default(), OnceLock::new());
    let context =
        Arc::new(Context { options, shutdown, log, relay, watchdog, report, not_runnable });
    let worked = work(&context, backend).await;
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
async fn work(
    context: &Arc<Context>,
    backend: Arc<dyn WorkerBackend>,
) -> Result<WorkerReportView, Error> {
    let worker = FlowFabricWorker::connect(config(context, backend)).await?;
    context.log.started(&context.options);
    let worked = worker.work(context.options.until, |task| job::run(context.clone(), task)).await;
    if let Some(why) = context.not_runnable.get() {
        return Err(Error::Program(why.clone()));
    }
    worked?;
    Ok(context.report.lock().unwrap_or_else(PoisonError::into_inner).clone())
}

fn config(context: &Context, backend: Arc<dyn WorkerBackend>) -> WorkerConfig {
    let options = &context.options;
    let waits_alone = options.lanes.len() == 1 && options.until != Until::Idle;
    let log = context.log.clone();
    WorkerConfig {
        namespace: options.namespace.clone(),
        lanes: options.lanes.iter().cloned().map(ServedLane::from).collect(),
        instance: options.worker.instance.clone(),
        capabilities: options.capabilities.clone(),
        concurrency: options.concurrency,
        poll_interval: if waits_alone { WAIT } else { SHORT_WAIT },
        // A refusal is reported at once; a server that is not up yet may come up.
        connect_timeout: None,
        registration_ttl: options.registration_ttl,
        drain: options.drain,
        shutdown: context.shutdown.clone(),
        events: Arc::new(move |event| log.event(event)),
        ..WorkerConfig::new(backend, options.worker.id.clone())
    }
}

/// The first SIGTERM or SIGINT drains; a second one stops at once.
fn listen_for_signals(shutdown: Shutdown, drain: Duration, log: Log) -> io::Result<()> {
    let mut signals = Signals::listen()?;
    let left = duration::rough(ff_sdk::millis(drain));
    tokio::spawn(async move {
        signals.next().await;
        log.stopping(format!("running programs have {left}"));
        shutdown.drain();
        signals.next().await;
        shutdown.now();
    });
    Ok(())
}
