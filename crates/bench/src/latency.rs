//! Dispatch latency: from a submit to a waiting worker, without other load.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ff_core::Millis;
use ff_store::EngineBackend;

use crate::calls::{Producer, Taker};
use crate::samples::Samples;
use crate::{BenchError, Load, Progress, Report};

/// The pause between two samples.
const REST: Duration = Duration::from_millis(2);

/// How long the worker waits for the submitted execution.
const WAIT: Millis = Millis::from_secs(10);

pub(crate) async fn run(
    url: &str,
    backend: Arc<dyn EngineBackend>,
    load: Load,
    progress: Progress,
) -> Result<Report, BenchError> {
    let load = Load { workers: 1, batch: 1, ..load };
    let producer = Producer::new(load.payload, load.retention);
    let taker = Arc::new(Taker::new(backend.clone(), 0)?);
    let mut samples = Samples::default();
    for done in 0..load.executions {
        let sample = dispatch(&backend, &producer, &taker).await?;
        // The first ones pay for connections and caches.
        if done >= load.warm_up().executions {
            samples.add(sample);
        }
        progress(done + 1, load.executions);
    }
    let mut report = Report::new("latency", url, load);
    report.p50_ms = samples.percentile_ms(50);
    report.p99_ms = samples.percentile_ms(99);
    Ok(report)
}

/// One execution: how long it takes from the submit to the worker that waits for it.
async fn dispatch(
    backend: &Arc<dyn EngineBackend>,
    producer: &Producer,
    taker: &Arc<Taker<dyn EngineBackend>>,
) -> Result<Duration, BenchError> {
    let waiting = {
        let taker = taker.clone();
        tokio::spawn(async move {
            let claimed = taker.claim(1, WAIT).await;
            (Instant::now(), claimed)
        })
    };
    tokio::time::sleep(REST).await;
    let started = Instant::now();
    producer.submit(&**backend, 1).await?;
    let (arrived, claimed) = waiting.await?;
    if taker.complete(&claimed?).await? == 0 {
        return Err(BenchError::Missing { done: 0, of: 1 });
    }
    Ok(arrived.duration_since(started))
}
