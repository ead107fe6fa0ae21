//! Benchmarks: what the engine does, beside what its store could do at best, in one run.
//!
//! Absolute times differ from machine to machine, so every report has the limit of the store or a
//! baseline measured in the same run, and the counts beside the times.

mod cycle;
mod http;
mod latency;
mod load;
mod report;
mod samples;

use std::sync::Arc;

use ff_store::EngineBackend;

pub use load::Load;
pub use report::Report;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    /// Submit, claim and complete by many workers at once.
    Cycle,
    /// From a submit to a waiting worker, with nothing else going on.
    Latency,
    /// The worker protocol over HTTP, beside the same in process.
    Http,
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
}

impl From<ff_core::Refusal> for BenchError {
    fn from(refusal: ff_core::Refusal) -> BenchError {
        BenchError::Store(refusal.into())
    }
}

/// Hears how many executions are done.
pub type Progress = Arc<dyn Fn(u64) + Send + Sync>;

/// Measures `scenario` on the store at `url`, which should be fresh.
pub async fn run(
    scenario: Scenario,
    url: &str,
    load: Load,
    progress: Progress,
) -> Result<Report, BenchError> {
    let backend: Arc<dyn EngineBackend> = ff_backends::open(url).await?;
    match scenario {
        Scenario::Cycle => cycle::run(url, backend, load, progress).await,
        Scenario::Latency => latency::run(url, backend, load, progress).await,
        Scenario::Http => http::run(url, backend, load, progress).await,
    }
}
