//! An urgent execution behind many others: how many claims it takes until it is claimed.

use std::sync::Arc;

use ff_core::Millis;
use ff_core::bounds::PRIORITY;
use ff_store::EngineBackend;

use crate::calls::{Producer, Taker};
use crate::queue::fill;
use crate::{BenchError, Load, Progress, Report};

/// How long a claim waits, though there is work.
const WAIT: Millis = Millis::new(1_000);

/// How many urgent executions are submitted, one after the other; the slowest counts.
const ROUNDS: u64 = 20;

pub(crate) async fn run(
    url: &str,
    backend: Arc<dyn EngineBackend>,
    load: Load,
    queued: u64,
    progress: Progress,
) -> Result<Report, BenchError> {
    let load = Load { executions: ROUNDS, workers: 1, batch: 1, ..load };
    let producer = Producer::new(load.payload, load.retention);
    fill(&backend, &producer, queued, progress.clone()).await?;
    let taker = Taker::new(backend.clone(), 0)?;
    // A worker that knows the queues, like one that has run for a while.
    taker.complete(&taker.claim(1, WAIT).await?).await?;

    let urgent = Producer::new(load.payload + 1, load.retention).urgent(PRIORITY);
    let mut worst = 0;
    for done in 0..ROUNDS {
        urgent.submit(&*backend, 1).await?;
        worst = worst.max(claims_until(&taker, load.payload + 1, queued).await?);
        progress(done + 1, ROUNDS);
    }
    let mut report = Report { queued: Some(queued), ..Report::new("urgent", url, load) };
    report.claims_until_urgent = Some(worst);
    Ok(report)
}

/// How many claims it takes until one returns an input of `size` bytes.
async fn claims_until(
    taker: &Taker<dyn EngineBackend>,
    size: usize,
    most: u64,
) -> Result<u64, BenchError> {
    for claims in 1..=most + 1 {
        let claimed = taker.claim(1, WAIT).await?;
        taker.complete(&claimed).await?;
        if claimed.iter().any(|assignment| assignment.input.bytes.len() == size) {
            return Ok(claims);
        }
    }
    Err(BenchError::Missing { done: 0, of: 1 })
}
