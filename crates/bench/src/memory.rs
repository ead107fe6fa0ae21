//! Memory of the store per execution that waits and per execution that is finished.

use std::sync::Arc;

use ff_store::EngineBackend;

use crate::calls::Producer;
use crate::meter::Meter;
use crate::queue::{drain, fill};
use crate::samples::round;
use crate::{BenchError, Load, Progress, Report};

pub(crate) async fn run(
    url: &str,
    backend: Arc<dyn EngineBackend>,
    load: Load,
    progress: Progress,
) -> Result<Report, BenchError> {
    let mut meter = Meter::open(url).await?;
    let producer = Producer::new(load.payload, load.retention);
    let quiet: Progress = Arc::new(|_, _| ());
    // Connections, functions and first buckets do not belong to the executions.
    let warm_up = load.warm_up().executions;
    fill(&backend, &producer, warm_up, quiet.clone()).await?;
    drain(&backend, warm_up, quiet).await?;

    let empty = meter.read().await?;
    fill(&backend, &producer, load.executions, progress.clone()).await?;
    let waiting = meter.read().await?;
    drain(&backend, load.executions, progress).await?;
    let finished = meter.read().await?;

    let mut report = Report::new("memory", url, load);
    if let (Some(empty), Some(waiting), Some(finished)) = (empty, waiting, finished) {
        let each =
            |now: u64| round((now as f64 - empty.used_memory as f64) / load.executions as f64);
        report.bytes_waiting = Some(each(waiting.used_memory));
        report.bytes_finished = Some(each(finished.used_memory));
    }
    Ok(report)
}
