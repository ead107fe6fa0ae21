//! What a store does at best, without the engine.

use std::path::Path;

use ff_store::StoreError;

use crate::StoreUrl;

/// The load on the bare store: that of the engine's run that it is compared with.
#[derive(Debug, Clone, Copy)]
pub struct CeilingPlan {
    /// How many executions.
    pub executions: u64,
    /// How many bytes an input has.
    pub payload: usize,
    /// How many clients at once.
    pub callers: usize,
    /// How many executions go into one call.
    pub batch: u16,
    /// How many commands share a transaction, where there are transactions.
    pub group: usize,
}

/// What the bare store reached.
#[derive(Debug, Clone, Copy)]
pub struct Ceiling {
    /// Executions per second, submit to complete.
    pub per_second: f64,
    /// Processor time of the store's process for each, in microseconds.
    pub cpu_us_per_execution: Option<f64>,
    /// Executions per second of the simplest queue the store offers.
    pub baseline_per_second: Option<f64>,
}

/// What the store that `url` names does at best, measured in addition to its contents; `None` when
/// it has no such limit.
pub async fn ceiling(url: &str, plan: CeilingPlan) -> Result<Option<Ceiling>, StoreError> {
    match url.parse::<StoreUrl>()? {
        StoreUrl::Memory | StoreUrl::SqliteMemory => Ok(None),
        StoreUrl::Sqlite(path) => {
            let replay = tokio::task::spawn_blocking(move || sqlite(&path, plan)).await;
            let died = |error| StoreError::Unavailable(format!("the replay died: {error}"));
            replay.map_err(died)?.map(Some)
        }
        #[cfg(feature = "postgres")]
        StoreUrl::Postgres(options) => postgres(&options, plan).await.map(Some),
        StoreUrl::Valkey(options) => valkey(&options, plan).await.map(Some),
    }
}

/// The bare statements, on a fresh file in the directory of `path`.
fn sqlite(path: &Path, plan: CeilingPlan) -> Result<Ceiling, StoreError> {
    let unavailable = |error: std::io::Error| StoreError::Unavailable(error.to_string());
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut directory = tempfile::Builder::new();
    directory.prefix("ff-limit-");
    let directory = match parent {
        Some(parent) => directory.tempdir_in(parent),
        None => directory.tempdir_in("."),
    };
    let directory = directory.map_err(unavailable)?;
    let CeilingPlan { executions, payload, group, .. } = plan;
    let plan = ff_backend_sqlite::CeilingPlan { executions, payload, group };
    let per_second = ff_backend_sqlite::ceiling(&directory.path().join("limit.ff"), plan)?;
    Ok(Ceiling { per_second, cpu_us_per_execution: None, baseline_per_second: None })
}

/// The bare statements and a table of jobs, in a schema next to the store's.
#[cfg(feature = "postgres")]
async fn postgres(
    options: &ff_backend_postgres::Options,
    plan: CeilingPlan,
) -> Result<Ceiling, StoreError> {
    let CeilingPlan { executions, payload, callers, batch, group } = plan;
    let plan = ff_backend_postgres::CeilingPlan { executions, payload, callers, batch, group };
    let reached = ff_backend_postgres::ceiling(options, plan).await?;
    Ok(Ceiling {
        per_second: reached.statements,
        cpu_us_per_execution: None,
        baseline_per_second: Some(reached.queue),
    })
}

/// Bare functions and a list queue, on the same servers.
async fn valkey(
    options: &ff_backend_valkey::Options,
    plan: CeilingPlan,
) -> Result<Ceiling, StoreError> {
    let CeilingPlan { executions, payload, callers, batch, .. } = plan;
    let plan = ff_backend_valkey::CeilingPlan { executions, payload, callers, batch };
    let ceiling = ff_backend_valkey::ceiling(options, plan).await?;
    Ok(Ceiling {
        per_second: ceiling.functions.per_second,
        cpu_us_per_execution: Some(ceiling.functions.cpu_us_per_execution),
        baseline_per_second: Some(ceiling.list.per_second),
    })
}
