//! `ff bench`: what the engine does on a store, compared with what the store could do at best.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::{Args, ValueEnum};
use ff_bench::{Crew, Load, Many, Processes, Progress, Report, Scenario};
use ff_core::Millis;

use super::{Verdict, parse};
use crate::duration;
use crate::error::Error;
use crate::session::Session;

const SCENARIOS: &str = "\
cycle      submit, claim and complete by many workers at once
classes    the cycle with ten capability sets, compared with none
scarce     latency of common work while rare work waits in the same lane
admission  the cycle with a budget and a quota, compared with none
raise      time until work blocked on a budget is claimable once it is raised
latency    from a submit to an idle waiting worker
http       the worker protocol over HTTP, compared with in process
idle       calls to the store while workers wait and nothing happens
backlog    claim latency with a long queue, compared with a short one
overload   goodput at three times a rate quota, with deadlines
many       longest store call and latencies with many lanes and budgets
memory     bytes per waiting and per finished execution
urgent     claims until an urgent execution is claimed
wait       from the end of an execution to those who wait for its result
signal     suspend, signal, resume and complete
step       results of durable steps, recorded by many workers at once
chain      flows of ten nodes: per second, and from one node to the next
fanout     flows of one node, 1,000 after it, and one after those
stream     frames from one writer to many viewers
pages      pages of the dashboard with many executions, and what an open one costs

The store should be fresh. Without --store a temporary SQLite file is used.";

/// How many flows fanout runs, one after the other.
const FLOWS: u64 = 5;

/// `ff bench`.
#[derive(Debug, Args)]
#[command(after_help = SCENARIOS)]
pub(crate) struct Bench {
    /// What to measure.
    #[arg(value_enum)]
    scenario: Which,

    /// How many executions in total; chain: how many flows; fanout: how many nodes in the middle; step: how many steps; stream: how many frames; pages: how many loads.
    #[arg(long, value_name = "N", value_parser = parse::number::<u64>(1, 10_000_000))]
    executions: Option<u64>,

    /// How many workers at once, or who wait; stream: how many viewers; idle: 16 when absent, else 64.
    #[arg(long, value_name = "N", value_parser = parse::number::<u16>(0, 10_000))]
    workers: Option<u16>,

    /// How many executions in one call; stream: how many frames; http: 16 when absent, else 1.
    #[arg(long, value_name = "N", value_parser = parse::number::<u16>(1, 256))]
    batch: Option<u16>,

    /// How many bytes an input has; step: and a result.
    #[arg(long, value_name = "BYTES", default_value_t = 100)]
    #[arg(value_parser = parse::number::<u32>(0, 1_048_575))]
    payload: u32,

    /// cycle: remove finished executions after this time, and count what that costs.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    retention: Option<Millis>,

    /// cycle: run it a second time with the feed on, and compare.
    #[arg(long)]
    feed: bool,

    /// idle, overload: how long to measure; 10s and 60s when absent.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    span: Option<Millis>,

    /// idle: wait in this many other processes instead of this one.
    #[arg(long, value_name = "N", value_parser = parse::number::<u16>(1, 100))]
    processes: Option<u16>,

    /// idle: how many namespaces have work that no worker can run.
    // The argument of all commands that names a namespace has the plain name.
    #[arg(id = "idle_namespaces", long = "namespaces", value_name = "N", default_value_t = 0)]
    #[arg(value_parser = parse::number::<u16>(0, 10_000))]
    namespaces: u16,

    /// classes, scarce, idle: how many different capabilities; 10, 9 and 1 when absent.
    #[arg(long, value_name = "N", value_parser = parse::number::<u16>(1, 1_000))]
    classes: Option<u16>,

    /// many: how many lanes.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    #[arg(value_parser = parse::number::<u32>(1, 1_000_000))]
    lanes: u32,

    /// many: how many budgets.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    #[arg(value_parser = parse::number::<u32>(0, 100_000))]
    budgets: u32,

    /// How many executions are queued; backlog, many, pages: 1000000 when absent, urgent: 10000, scarce: 1000.
    #[arg(long, value_name = "N", value_parser = parse::number::<u64>(1, 100_000_000))]
    queued: Option<u64>,
}

/// What to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Which {
    Cycle,
    Classes,
    Scarce,
    Admission,
    Raise,
    Latency,
    Http,
    Idle,
    Backlog,
    Overload,
    Many,
    Memory,
    Urgent,
    Wait,
    Signal,
    Step,
    Chain,
    Fanout,
    Stream,
    Pages,
    /// One of the processes of idle: waits until its input ends.
    #[value(hide = true)]
    IdleChild,
}

impl Bench {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let dir = tempfile::tempdir().map_err(Error::Runtime)?;
        let temporary = format!("sqlite:{}", dir.path().join("bench.ff").display());
        let url = session.store_url().unwrap_or(&temporary);
        if self.scenario == Which::IdleChild {
            self.idle(url, session).await?;
            return Ok(Verdict::Good);
        }
        if self.workers == Some(0) && self.scenario != Which::Idle {
            return Err(Error::usage("--workers", "--workers is 0; only idle can do without any"));
        }
        let report = ff_bench::run(self.scenario()?, url, self.load(), bar()).await;
        clear_bar();
        let report = report.map_err(Error::Bench)?;
        session.output.answer(&report, table)?;
        Ok(Verdict::Good)
    }

    fn load(&self) -> Load {
        let (executions, workers, batch) = match self.scenario {
            Which::Cycle | Which::Admission => (20_000, 64, 1),
            Which::Raise => (50_000, 1, 1),
            Which::Classes => (50_000, 100, 1),
            Which::Scarce => (20_000, 18, 1),
            Which::Http => (20_000, 64, 16),
            Which::Memory => (100_000, 64, 1),
            Which::Idle | Which::IdleChild => (1, 16, 1),
            // How many executions there are depends on the span.
            Which::Overload => (1, 64, 1),
            Which::Latency | Which::Backlog | Which::Urgent => (1_000, 64, 1),
            Which::Many => (10_000, 64, 1),
            Which::Wait => (1_280, 64, 1),
            Which::Signal => (2_000, 1, 1),
            Which::Step => (20_000, 64, 1),
            Which::Chain => (2_000, 16, 1),
            Which::Fanout => (1_000, 16, 1),
            Which::Stream => (2_000, 100, 20),
            Which::Pages => (600, 1, 1),
        };
        Load {
            executions: self.executions.unwrap_or(executions),
            workers: self.workers.unwrap_or(workers).into(),
            batch: self.batch.unwrap_or(batch),
            payload: self.payload as usize,
            classes: match self.scenario {
                Which::Classes => self.classes.unwrap_or(10),
                Which::Scarce => self.classes.unwrap_or(9),
                Which::Idle => self.classes.unwrap_or(1),
                _ => 0,
            },
            limited: self.scenario == Which::Admission,
            retention: self.retention.filter(|_| self.scenario == Which::Cycle),
            feed: self.feed && self.scenario == Which::Cycle,
        }
    }

    fn scenario(&self) -> Result<Scenario, Error> {
        Ok(match self.scenario {
            Which::Cycle => Scenario::Cycle,
            Which::Classes => Scenario::Classes,
            Which::Scarce => Scenario::Scarce { queued: self.queued.unwrap_or(1_000) },
            Which::Admission => Scenario::Admission,
            Which::Raise => Scenario::Raise,
            Which::Latency => Scenario::Latency,
            Which::Http => Scenario::Http,
            Which::Backlog => Scenario::Backlog { queued: self.queued.unwrap_or(1_000_000) },
            Which::Overload => Scenario::Overload { span: self.span(60) },
            Which::Many => Scenario::Many(Many {
                lanes: self.lanes,
                budgets: self.budgets,
                queued: self.queued.unwrap_or(1_000_000),
            }),
            Which::Memory => Scenario::Memory,
            Which::Urgent => Scenario::Urgent { queued: self.queued.unwrap_or(10_000) },
            Which::Wait => Scenario::Wait,
            Which::Signal => Scenario::Signal,
            Which::Step => Scenario::Step,
            Which::Chain => Scenario::Chain,
            Which::Fanout => Scenario::Fanout { flows: FLOWS },
            Which::Stream => Scenario::Stream,
            Which::Pages => Scenario::Pages { queued: self.queued.unwrap_or(1_000_000) },
            Which::Idle | Which::IdleChild => Scenario::Idle {
                span: self.span(10),
                processes: self.processes.map(|count| self.children(count)).transpose()?,
                namespaces: self.namespaces,
            },
        })
    }

    /// How long to measure; `seconds` if not given.
    fn span(&self, seconds: u64) -> Duration {
        let span = self.span.unwrap_or(Millis::from_secs(seconds));
        Duration::from_millis(span.get())
    }

    /// This program again, as one of the processes of idle.
    fn children(&self, count: u16) -> Result<Processes, Error> {
        let program = std::env::current_exe().map_err(Error::Runtime)?;
        let workers = self.load().workers.to_string();
        let arguments = ["bench", "idle-child", "--workers", &workers].map(str::to_owned).into();
        Ok(Processes { count, program, arguments })
    }

    /// Waits with its workers until the input ends.
    async fn idle(&self, url: &str, session: &Session<'_>) -> Result<(), Error> {
        let crew = Crew::start(url, self.load().workers).await.map_err(Error::Bench)?;
        session.output.bytes(b"started\n")?;
        let until_end = || std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        // An input that cannot be read has ended.
        let _ = tokio::task::spawn_blocking(until_end).await;
        crew.stop().await.map_err(Error::Bench)
    }
}

fn table(report: &Report) -> String {
    let rows = report.rows();
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter().map(|(name, value)| format!("{name:width$}  {value}\n")).collect()
}

/// A bar on a terminal, drawn at every hundredth; nothing elsewhere.
fn bar() -> Progress {
    const WIDTH: u64 = 40;
    if !std::io::stderr().is_terminal() {
        return Arc::new(|_, _| ());
    }
    let shown = AtomicU64::new(u64::MAX);
    Arc::new(move |done, of| {
        let percent = (done * 100 / of.max(1)).min(100);
        if shown.swap(percent, Ordering::Relaxed) != percent {
            let full = "#".repeat((percent * WIDTH / 100) as usize);
            let empty = ".".repeat((WIDTH - percent * WIDTH / 100) as usize);
            // A bar that is not visible is not missed.
            let _ = write!(std::io::stderr().lock(), "\r[{full}{empty}] {percent:3} %");
        }
    })
}

fn clear_bar() {
    if std::io::stderr().is_terminal() {
        let _ = write!(std::io::stderr().lock(), "\r\x1b[K");
    }
}
