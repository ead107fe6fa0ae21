//! Benchmarks: what the engine does, compared with what its store could do at best, in one run.
//!
//! Absolute times differ from machine to machine, so every report has the limit of the store or a
//! baseline measured in the same run, and the counts next to the times.

mod admission;
mod backlog;
mod calls;
mod classes;
mod crowd;
mod cycle;
mod flow;
mod http;
mod idle;
mod latency;
mod load;
mod many;
mod memory;
mod meter;
mod overload;
mod pages;
mod queue;
mod report;
mod samples;
mod scarce;
mod signal;
mod step;
mod stream;
mod time;
mod urgent;
mod wait;

use std::sync::Arc;
use std::time::Duration;

pub use idle::{Crew, Processes};
pub use load::Load;
pub use many::Many;
pub use report::Report;

/// What is measured.
#[derive(Debug, Clone)]
pub enum Scenario {
    /// Submit, claim and complete by many workers at once.
    Cycle,
    /// The cycle with different required capabilities, compared with the same without.
    Classes,
    /// How long common work waits while rare work is queued in the same lane.
    Scarce {
        /// How much rare work is queued.
        queued: u64,
    },
    /// The cycle with a budget and a quota, compared with the same without.
    Admission,
    /// How soon work that waits for a budget can be claimed once there is capacity.
    Raise,
    /// From a submit to a waiting worker, without other load.
    Latency,
    /// The worker protocol over HTTP, compared with the same in process.
    Http,
    /// Calls to the store while nothing happens.
    Idle {
        /// For how long.
        span: Duration,
        /// The idle processes, if not this one.
        processes: Option<Processes>,
        /// How many namespaces have work in each of the load's classes that no worker can run.
        namespaces: u16,
    },
    /// How long claims take with a long queue, compared with a short one.
    Backlog {
        /// How many executions are queued.
        queued: u64,
    },
    /// Three times as much work as a rate quota admits, with deadlines.
    Overload {
        /// For how long.
        span: Duration,
    },
    /// How long one call occupies a store of many lanes and budgets, and what that costs.
    Many(Many),
    /// Memory of the store per execution.
    Memory,
    /// How soon an urgent execution is claimed.
    Urgent {
        /// How many executions are queued before it.
        queued: u64,
    },
    /// From the end of an execution to those who wait for its result.
    Wait,
    /// From the suspension of an execution to its end, with the signal that it waits for sent at once.
    Signal,
    /// Results of durable steps, recorded by many workers at once.
    Step,
    /// Flows of ten nodes, one after the other.
    Chain,
    /// Flows of one node, many after it, and one after all of those.
    Fanout {
        /// How many flows, one after the other.
        flows: u64,
    },
    /// Frames from one writer to many viewers.
    Stream,
    /// The pages of the dashboard.
    Pages {
        /// How many executions are queued.
        queued: u64,
    },
}

/// Why a benchmark did not finish.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] ff_store::StoreError),
    /// The server did not start.
    #[error(transparent)]
    Server(#[from] ff_server::ConfigError),
    /// A worker of the benchmark died.
    #[error("a worker of the benchmark died: {0}")]
    Worker(#[from] tokio::task::JoinError),
    /// A process of the benchmark did not start, or died.
    #[error("a process of the benchmark failed: {0}")]
    Child(std::io::Error),
    /// A page of the dashboard was not shown.
    #[error("a page of the dashboard failed: {0}")]
    Page(std::io::Error),
    /// Some executions were never claimed.
    #[error("only {done} of {of} executions were found by the workers; is the store fresh?")]
    Missing {
        /// How many were.
        done: u64,
        /// How many should have been.
        of: u64,
    },
    /// An execution was admitted that should have had to wait.
    #[error("a full budget admitted an execution; is the store fresh?")]
    Admitted,
    /// Some executions were not removed.
    #[error("finished executions stay longer than they should; is the store fresh?")]
    NotRemoved,
}

impl From<ff_core::Refusal> for BenchError {
    fn from(refusal: ff_core::Refusal) -> BenchError {
        BenchError::Store(refusal.into())
    }
}

/// Called with how much is done, and of how much.
pub type Progress = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// Measures `scenario` on the store at `url`, which should be fresh.
pub async fn run(
    scenario: Scenario,
    url: &str,
    load: Load,
    progress: Progress,
) -> Result<Report, BenchError> {
    let open = async || ff_backends::open(url).await;
    match scenario {
        Scenario::Cycle => cycle::run(url, open().await?, load, progress).await,
        Scenario::Classes => classes::run(url, open().await?, load, progress).await,
        Scenario::Scarce { queued } => {
            scarce::run(url, open().await?, load, queued, progress).await
        }
        Scenario::Admission => admission::run(url, open().await?, load, progress).await,
        Scenario::Raise => admission::raise(url, open().await?, load, progress).await,
        Scenario::Latency => latency::run(url, open().await?, load, progress).await,
        Scenario::Http => http::run(url, open().await?, load, progress).await,
        // The idle processes open it themselves.
        Scenario::Idle { span, processes, namespaces } => {
            if namespaces > 0 {
                idle::fill(&*open().await?, namespaces, load.classes).await?;
            }
            idle::run(url, load, span, processes, progress).await
        }
        Scenario::Backlog { queued } => {
            backlog::run(url, open().await?, load, queued, progress).await
        }
        Scenario::Overload { span } => {
            overload::run(url, open().await?, load, span, progress).await
        }
        Scenario::Many(many) => many::run(url, open().await?, load, many, progress).await,
        Scenario::Memory => memory::run(url, open().await?, load, progress).await,
        Scenario::Urgent { queued } => {
            urgent::run(url, open().await?, load, queued, progress).await
        }
        Scenario::Wait => wait::run(url, open().await?, load, progress).await,
        Scenario::Signal => signal::run(url, open().await?, load, progress).await,
        Scenario::Step => step::run(url, open().await?, load, progress).await,
        Scenario::Chain => flow::chain(url, open().await?, load, progress).await,
        Scenario::Fanout { flows } => flow::fanout(url, open().await?, load, flows, progress).await,
        Scenario::Stream => stream::run(url, open().await?, load, progress).await,
        Scenario::Pages { queued } => pages::run(url, open().await?, load, queued, progress).await,
    }
}
