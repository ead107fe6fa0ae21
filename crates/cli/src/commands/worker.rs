//! `ff worker`: any program is a worker.

use clap::Args;
use ff_core::bounds::CLAIM;
use ff_core::{Lane, Millis, WorkerId, WorkerInstanceId};

use super::{Verdict, parse};
use crate::duration;
use crate::error::Error;
use crate::session::Session;
#[cfg(unix)]
use crate::worker::Options;

const CONTRACT: &str = "\
The program gets the input on stdin. Its stdout becomes the result, the end of its stderr the
reason of a failure. In its environment it finds

  FF_EXECUTION FF_LEASE FF_EPOCH FF_ATTEMPT FF_RUN   what it holds
  FF_KIND FF_LANE FF_NAMESPACE FF_PRIORITY           what was submitted
  FF_FAILURES FF_MAX_ATTEMPTS FF_LAST_ATTEMPT        which try it is; true on the last one
  FF_BUDGETS FF_USED                                 what it spends from, and has used: a=1,b=2
  FF_STEPS FF_GENERATION                             how many steps earlier attempts have left
  FF_PROGRESS FF_PROGRESS_MESSAGE                    what was last reported, when it is resumed
  FF_URL                                             where it reports

and none of the worker's own settings: no token, no store. `ff progress`, `ff usage` and `ff step`
report what it does through the worker, which takes nothing else from it.

  exit 0              the execution is completed
  exit 75             the attempt has failed; the retry policy decides about another
  killed by a signal  the same
  exit 126 or 127     the program cannot be run: its work is handed back and the worker stops
  any other exit      the execution has failed

The lease is renewed while the program runs. When the execution is cancelled, its lease is lost or
its attempt is past its timeout, the program and all it started get SIGTERM, and SIGKILL after
--grace. A program that was asked to stop and exits with 0 all the same has done its work. What it
leaves running when it ends is killed; so are programs whose worker was killed.

On SIGTERM or SIGINT the worker claims nothing more and lets its programs finish. After --drain,
or at a second signal, it stops them and hands their work back, which costs no retry.";

/// `ff worker`.
#[derive(Debug, Args)]
#[command(after_help = CONTRACT)]
#[cfg_attr(not(unix), allow(dead_code, reason = "it is refused there"))]
pub(crate) struct Worker {
    /// A queue to take work from; may be repeated. Several queues take turns.
    #[arg(long = "lane", value_name = "NAME", default_values_t = [Lane::default()])]
    lanes: Vec<Lane>,

    /// The program, as sh -c runs it.
    #[arg(long, value_name = "COMMAND")]
    exec: String,

    /// How many to run at a time.
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<u16>(1, CLAIM as u64))]
    concurrency: u16,

    /// What this worker offers; may be repeated.
    #[arg(long = "capability", value_name = "CAPABILITY")]
    capabilities: Vec<String>,

    /// The name of this worker, shared by its instances.
    #[arg(long, value_name = "NAME", default_value = "ff-worker")]
    worker: WorkerId,

    /// The name of this process; unique among the live ones, random when absent.
    #[arg(long, value_name = "NAME")]
    instance: Option<WorkerInstanceId>,

    /// How long the worker may be silent before it counts as gone and its instance name is free.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    registration_ttl: Millis,

    /// Stop after one execution.
    #[arg(long)]
    once: bool,

    /// Stop when nothing is claimable and nothing runs here.
    #[arg(long, conflicts_with = "once")]
    until_idle: bool,

    /// How long a program has between SIGTERM and SIGKILL.
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    grace: Millis,

    /// How long running programs may continue after the worker is told to stop.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    drain: Millis,
}

#[cfg(not(unix))]
impl Worker {
    pub(crate) async fn run(self, _session: &Session<'_>) -> Result<Verdict, Error> {
        let why =
            "this command runs programs on Unix alone; here, write the worker in Rust or over HTTP";
        Err(Error::usage("worker", why))
    }
}

#[cfg(unix)]
impl Worker {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let options = self.options(session)?;
        let report = crate::worker::run(session.place().await?, options).await?;
        session.output.answer(&report, |_| String::new())?;
        Ok(Verdict::Good)
    }

    fn options(self, session: &Session<'_>) -> Result<Options, Error> {
        let capabilities = ff_core::Capabilities::new(&self.capabilities)
            .map_err(|refusal| Error::usage("--capability", format!("--capability: {refusal}")))?;
        let instance = match self.instance {
            Some(instance) => instance,
            None => {
                WorkerInstanceId::new(format!("{}-{:08x}", std::process::id(), fastrand::u32(..)))?
            }
        };
        let mut lanes = self.lanes;
        lanes.sort_unstable();
        lanes.dedup();
        Ok(Options {
            namespace: session.namespace.clone(),
            lanes,
            exec: self.exec,
            concurrency: self.concurrency.into(),
            capabilities,
            worker: ff_core::state::Worker { id: self.worker, instance },
            registration_ttl: std::time::Duration::from_millis(self.registration_ttl.get()),
            until: match (self.once, self.until_idle) {
                (true, _) => ff_sdk::Until::OneTask,
                (_, true) => ff_sdk::Until::Idle,
                _ => ff_sdk::Until::Stopped,
            },
            grace: std::time::Duration::from_millis(self.grace.get()),
            drain: std::time::Duration::from_millis(self.drain.get()),
        })
    }
}
