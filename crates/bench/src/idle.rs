//! What waiting costs: the calls that idle workers and timers make, in this process or in several.

use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ff_core::machine::Submit;
use ff_core::{Millis, Namespace};
use ff_store::EngineBackend;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use crate::calls::{Taker, class};
use crate::meter::Meter;
use crate::samples::round;
use crate::time::Passing;
use crate::{BenchError, Load, Progress, Report};

/// How long a worker's claim waits before it is repeated: the default of a worker.
const WAIT: Millis = Millis::from_secs(1);
/// How long everything runs before it is measured.
const SETTLE: Duration = Duration::from_secs(3);
/// How often progress is reported.
const STEP: Duration = Duration::from_millis(100);
/// How long a child may take to start.
const START: Duration = Duration::from_secs(30);

/// Idle workers and the timer loop, on a separate store handle.
pub struct Crew {
    workers: JoinSet<Result<(), BenchError>>,
    time: Passing,
}

impl Crew {
    /// Opens the store at `url` and lets `workers` wait for work that never arrives.
    pub async fn start(url: &str, workers: usize) -> Result<Crew, BenchError> {
        let backend: Arc<dyn EngineBackend> = ff_backends::open(url).await?;
        let mut waiting = JoinSet::new();
        for number in 0..workers {
            let taker = Taker::new(backend.clone(), number)?;
            waiting.spawn(async move {
                loop {
                    taker.claim(1, WAIT).await?;
                }
            });
        }
        Ok(Crew { workers: waiting, time: Passing::start(backend) })
    }

    /// Stops all of them.
    pub async fn stop(mut self) -> Result<(), BenchError> {
        let failed = self.workers.try_join_next();
        self.workers.shutdown().await;
        self.time.stop().await;
        failed.map_or(Ok(()), |ended| ended?)
    }
}

/// Other processes that each run a [`Crew`].
#[derive(Debug, Clone)]
pub struct Processes {
    /// How many.
    pub count: u16,
    /// What starts one. It prints a line once its crew has started, and ends with its input.
    pub program: std::path::PathBuf,
    /// The program's arguments.
    pub arguments: Vec<String>,
}

/// Submits one execution of each class to each of `namespaces` namespaces.
pub(crate) async fn fill(
    backend: &dyn EngineBackend,
    namespaces: u16,
    classes: u16,
) -> Result<(), BenchError> {
    for tenant in 0..namespaces {
        let namespace = Namespace::new(format!("tenant-{tenant}"))?;
        let work = |number: u16| {
            Ok(Submit {
                namespace: namespace.clone(),
                requires: class(number.into(), classes)?,
                ..Submit::new(backend.new_id(&namespace, None))
            })
        };
        let batch = (0..classes.max(1)).map(work).collect::<Result<_, BenchError>>()?;
        backend.submit(batch).await?.into_iter().collect::<Result<Vec<_>, _>>()?;
    }
    Ok(())
}

pub(crate) async fn run(
    url: &str,
    load: Load,
    span: Duration,
    processes: Option<Processes>,
    progress: Progress,
) -> Result<Report, BenchError> {
    let mut meter = Meter::open(url).await?;
    let mut report = Report::new("idle", url, Load { executions: 0, batch: 1, ..load });
    report.processes = processes.as_ref().map(|processes| processes.count);
    let crew = match &processes {
        None => Idlers::Here(Crew::start(url, load.workers).await?),
        Some(processes) => Idlers::There(children(url, processes).await?),
    };
    tokio::time::sleep(SETTLE).await;
    let started = Instant::now();
    let (elapsed, calls) = meter.watch(wait(started, span, progress)).await?;
    crew.stop().await?;
    report.store_commands_per_second =
        calls.map(|calls| round(calls as f64 / elapsed.as_secs_f64()));
    Ok(report)
}

enum Idlers {
    Here(Crew),
    There(Vec<Child>),
}

impl Idlers {
    async fn stop(self) -> Result<(), BenchError> {
        match self {
            Idlers::Here(crew) => crew.stop().await,
            Idlers::There(children) => {
                for mut child in children {
                    drop(child.stdin.take());
                    let status = child.wait().await.map_err(BenchError::Child)?;
                    if !status.success() {
                        return Err(BenchError::Child(std::io::Error::other(status.to_string())));
                    }
                }
                Ok(())
            }
        }
    }
}

/// Starts the processes and waits for the first line of each.
async fn children(url: &str, processes: &Processes) -> Result<Vec<Child>, BenchError> {
    let mut children = Vec::new();
    for _ in 0..processes.count {
        let mut command = Command::new(&processes.program);
        command.args(&processes.arguments).kill_on_drop(true);
        // A password in a URL must not be visible in a process list.
        command.env("FF_STORE", url).stdin(Stdio::piped()).stdout(Stdio::piped());
        children.push(command.spawn().map_err(BenchError::Child)?);
    }
    for child in &mut children {
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            let mut stdout = BufReader::new(stdout);
            let read = tokio::time::timeout(START, stdout.read_line(&mut line)).await;
            read.unwrap_or_else(|late| Err(late.into())).map_err(BenchError::Child)?;
        }
        if line.is_empty() {
            return Err(BenchError::Child(std::io::Error::other("it did not start")));
        }
    }
    Ok(children)
}

/// Waits for `span` and answers how long that took.
async fn wait(
    started: Instant,
    span: Duration,
    progress: Progress,
) -> Result<Duration, BenchError> {
    let whole = span.as_millis() as u64;
    let mut elapsed = started.elapsed();
    while elapsed < span {
        progress(elapsed.as_millis() as u64, whole);
        tokio::time::sleep(STEP.min(span - elapsed)).await;
        elapsed = started.elapsed();
    }
    Ok(elapsed)
}
