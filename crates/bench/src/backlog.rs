//! Claim latency with a long queue, compared with a short one.

use std::sync::Arc;
use std::time::Instant;

use ff_core::Millis;
use ff_store::EngineBackend;

use crate::calls::{Producer, Taker};
use crate::queue::fill;
use crate::samples::{Samples, round};
use crate::{BenchError, Load, Progress, Report};

/// How many executions a short queue has.
const FEW: u64 = 1_000;

/// How long a claim waits, though there is work.
const WAIT: Millis = Millis::new(1_000);

pub(crate) async fn run(
    url: &str,
    backend: Arc<dyn EngineBackend>,
    load: Load,
    queued: u64,
    progress: Progress,
) -> Result<Report, BenchError> {
    let load = Load { workers: 1, batch: 1, ..load };
    let producer = Producer::new(load.payload, load.retention);
    let mut few = {
        fill(&backend, &producer, FEW.min(queued), progress.clone()).await?;
        claims(&backend, &producer, load, &progress).await?
    };
    let mut many = {
        fill(&backend, &producer, queued.saturating_sub(FEW), progress.clone()).await?;
        claims(&backend, &producer, load, &progress).await?
    };
    let mut report = Report { queued: Some(queued), ..Report::new("backlog", url, load) };
    report.p50_ms = many.percentile_ms(50);
    report.p99_ms = many.percentile_ms(99);
    report.few_p50_ms = few.percentile_ms(50);
    report.few_p99_ms = few.percentile_ms(99);
    let ratio = |many: Option<f64>, few: Option<f64>| Some(round(many? / few?));
    report.p50_ratio = ratio(report.p50_ms, report.few_p50_ms);
    report.p99_ratio = ratio(report.p99_ms, report.few_p99_ms);
    Ok(report)
}

/// How long claims take while as many are submitted as are completed, so that the queue keeps its
/// length.
async fn claims(
    backend: &Arc<dyn EngineBackend>,
    producer: &Producer,
    load: Load,
    progress: &Progress,
) -> Result<Samples, BenchError> {
    let taker = Taker::new(backend.clone(), 0)?;
    let mut samples = Samples::default();
    for done in 0..load.executions {
        producer.submit(&**backend, 1).await?;
        let sent = Instant::now();
        let claimed = taker.claim(1, WAIT).await?;
        let took = sent.elapsed();
        if taker.complete(&claimed).await? == 0 {
            return Err(BenchError::Missing { done, of: load.executions });
        }
        // The first ones pay for connections and caches.
        if done >= load.warm_up().executions {
            samples.add(took);
        }
        progress(done + 1, load.executions);
    }
    Ok(samples)
}
