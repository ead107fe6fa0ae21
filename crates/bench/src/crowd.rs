//! Many workers that submit, claim and complete at once, and how long that takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use ff_core::Millis;
use ff_core::limits::ExecutionLimits;

use crate::admission::limits;
use crate::calls::{Both, Producer, Taker, class};
use crate::samples::Samples;
use crate::{BenchError, Load, Progress};

/// How long a claim waits for work.
const WAIT: Millis = Millis::new(20);

/// A worker that finds nothing for this many claims in a row gives up: work was lost.
const MOST_EMPTY: u32 = 3_000;

/// What the workers measured.
pub(crate) struct Measured {
    pub(crate) per_second: f64,
    pub(crate) whole: Samples,
    pub(crate) claims: Samples,
    pub(crate) calls: u64,
    pub(crate) executions: u64,
}

/// Runs `load` to its end.
pub(crate) async fn measure<B: Both + ?Sized>(
    backend: Arc<B>,
    load: Load,
    progress: Progress,
) -> Result<Measured, BenchError> {
    let limits = if load.limited { limits()? } else { ExecutionLimits::default() };
    let shared = Arc::new(Shared {
        load,
        producer: Producer::new(load.payload, load.retention).limited(limits),
        submitted: AtomicU64::new(0),
        completed: AtomicU64::new(0),
        calls: AtomicU64::new(0),
        progress,
    });
    let takers = (0..load.workers).map(|number| {
        Ok(Taker::new(backend.clone(), number)?.offering(class(number, load.classes)?))
    });
    let takers = takers.collect::<Result<Vec<_>, BenchError>>()?;
    let started = Instant::now();
    let workers: Vec<_> = takers
        .into_iter()
        .map(|taker| tokio::spawn(work(backend.clone(), shared.clone(), taker)))
        .collect();
    let (mut whole, mut claims) = (Samples::default(), Samples::default());
    for worker in workers {
        let (all, of_claims) = worker.await??;
        whole.extend(all);
        claims.extend(of_claims);
    }
    let executions = shared.completed.load(Ordering::Relaxed);
    Ok(Measured {
        per_second: executions as f64 / started.elapsed().as_secs_f64(),
        whole,
        claims,
        calls: shared.calls.load(Ordering::Relaxed),
        executions,
    })
}

struct Shared {
    load: Load,
    producer: Producer,
    submitted: AtomicU64,
    completed: AtomicU64,
    calls: AtomicU64,
    progress: Progress,
}

async fn work<B: Both + ?Sized>(
    backend: Arc<B>,
    shared: Arc<Shared>,
    taker: Taker<B>,
) -> Result<(Samples, Samples), BenchError> {
    let (mut whole, mut claims) = (Samples::default(), Samples::default());
    let mut empty = 0;
    while shared.completed.load(Ordering::Relaxed) < shared.load.executions {
        let started = Instant::now();
        submit(&*backend, &shared, &taker).await?;
        let sent = Instant::now();
        let claimed = taker.claim(shared.load.batch, WAIT).await?;
        let took = sent.elapsed();
        shared.calls.fetch_add(1, Ordering::Relaxed);
        // At the end workers wait for work that does not exist; that is no latency.
        if claimed.is_empty() {
            empty += 1;
            if empty == MOST_EMPTY {
                let done = shared.completed.load(Ordering::Relaxed);
                return Err(BenchError::Missing { done, of: shared.load.executions });
            }
            continue;
        }
        empty = 0;
        claims.add(took);
        let done = taker.complete(&claimed).await?;
        shared.calls.fetch_add(1, Ordering::Relaxed);
        let total = shared.completed.fetch_add(done, Ordering::Relaxed) + done;
        (shared.progress)(total, shared.load.executions);
        whole.add(started.elapsed());
    }
    Ok((whole, claims))
}

/// Submits one batch that the worker itself can claim, unless all is submitted.
async fn submit<B: Both + ?Sized>(
    backend: &B,
    shared: &Shared,
    taker: &Taker<B>,
) -> Result<(), BenchError> {
    let most = u64::from(shared.load.batch);
    let before = shared.submitted.fetch_add(most, Ordering::Relaxed);
    let count = shared.load.executions.saturating_sub(before).min(most);
    if count == 0 {
        return Ok(());
    }
    shared.producer.requiring(taker.offers()).submit(backend, count).await?;
    shared.calls.fetch_add(1, Ordering::Relaxed);
    Ok(())
}
