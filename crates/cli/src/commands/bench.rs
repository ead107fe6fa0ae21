//! `ff bench`: what the engine does on a store, beside what the store could do at best.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::{Args, ValueEnum};
use ff_bench::{Load, Progress, Report, Scenario};

use super::{Verdict, parse};
use crate::error::Error;
use crate::session::Session;

/// `ff bench`.
#[derive(Debug, Args)]
#[command(
    after_help = "The store should be fresh. Without --store a temporary SQLite file is used."
)]
pub(crate) struct Bench {
    /// What to measure.
    #[arg(value_enum)]
    scenario: Which,

    /// How many executions in all.
    #[arg(long, value_name = "N", value_parser = parse::number::<u64>(1, 10_000_000))]
    executions: Option<u64>,

    /// How many workers at once.
    #[arg(long, value_name = "N", default_value_t = 64)]
    #[arg(value_parser = parse::number::<u16>(1, 10_000))]
    workers: u16,

    /// How many executions in one call; http: 16 when absent, else 1.
    #[arg(long, value_name = "N", value_parser = parse::number::<u16>(1, 256))]
    batch: Option<u16>,

    /// How many bytes an input has.
    #[arg(long, value_name = "BYTES", default_value_t = 100)]
    #[arg(value_parser = parse::number::<u32>(0, 1_048_576))]
    payload: u32,
}

/// What to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Which {
    /// Submit, claim and complete by many workers at once.
    Cycle,
    /// From a submit to a waiting worker, with nothing else going on.
    Latency,
    /// The worker protocol over HTTP, beside the same in process.
    Http,
}

impl Bench {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let (scenario, executions, batch) = match self.scenario {
            Which::Cycle => (Scenario::Cycle, 20_000, 1),
            Which::Latency => (Scenario::Latency, 1_000, 1),
            Which::Http => (Scenario::Http, 20_000, 16),
        };
        let load = Load {
            executions: self.executions.unwrap_or(executions),
            workers: self.workers.into(),
            batch: self.batch.unwrap_or(batch),
            payload: self.payload as usize,
        };
        let dir = tempfile::tempdir().map_err(Error::Runtime)?;
        let temporary = format!("sqlite:{}", dir.path().join("bench.ff").display());
        let url = session.store_url().unwrap_or(&temporary);
        let report = ff_bench::run(scenario, url, load, bar(load.executions)).await;
        clear_bar();
        let report = report.map_err(Error::Bench)?;
        session.output.answer(&report, table)?;
        Ok(Verdict::Good)
    }
}

fn table(report: &Report) -> String {
    let rows = report.rows();
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter().map(|(name, value)| format!("{name:width$}  {value}\n")).collect()
}

/// A bar on a terminal, drawn at every hundredth; nothing elsewhere.
fn bar(total: u64) -> Progress {
    const WIDTH: u64 = 40;
    if !std::io::stderr().is_terminal() {
        return Arc::new(|_| ());
    }
    let shown = AtomicU64::new(u64::MAX);
    Arc::new(move |done| {
        let percent = (done * 100 / total.max(1)).min(100);
        if shown.swap(percent, Ordering::Relaxed) != percent {
            let full = "#".repeat((percent * WIDTH / 100) as usize);
            let empty = ".".repeat((WIDTH - percent * WIDTH / 100) as usize);
            // A bar that nobody sees is not missed.
            let _ = write!(std::io::stderr().lock(), "\r[{full}{empty}] {percent:3} %");
        }
    })
}

fn clear_bar() {
    if std::io::stderr().is_terminal() {
        let _ = write!(std::io::stderr().lock(), "\r\x1b[K");
    }
}
