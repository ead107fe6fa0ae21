//! Long queues: filling them, and working them off.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ff_core::Millis;
use ff_store::EngineBackend;

use crate::calls::{Producer, Taker};
use crate::{BenchError, Progress};

/// How many producers or workers at once.
const HANDS: usize = 16;
/// How many executions in one call, at most.
const BATCH: u64 = 100;
/// How long a claim waits for work.
const WAIT: Millis = Millis::new(20);
/// A worker that finds nothing for this many claims in a row gives up: work was lost.
const MOST_EMPTY: u32 = 3_000;

/// Submits `count` executions.
pub(crate) async fn fill(
    backend: &Arc<dyn EngineBackend>,
    producer: &Producer,
    count: u64,
    progress: Progress,
) -> Result<(), BenchError> {
    let taken = Arc::new(AtomicU64::new(0));
    let batch = producer.fitting(BATCH);
    let hands = (0..HANDS).map(|_| {
        let (backend, producer) = (backend.clone(), producer.clone());
        let (taken, progress) = (taken.clone(), progress.clone());
        tokio::spawn(async move {
            loop {
                let before = taken.fetch_add(batch, Ordering::Relaxed);
                if before >= count {
                    return Ok::<_, BenchError>(());
                }
                producer.submit(&*backend, batch.min(count - before)).await?;
                progress(before.min(count), count);
            }
        })
    });
    for hand in hands.collect::<Vec<_>>() {
        hand.await??;
    }
    Ok(())
}

/// Completes `count` executions.
pub(crate) async fn drain(
    backend: &Arc<dyn EngineBackend>,
    count: u64,
    progress: Progress,
) -> Result<(), BenchError> {
    let completed = Arc::new(AtomicU64::new(0));
    let takers = (0..HANDS).map(|number| Taker::new(backend.clone(), number));
    let hands = takers.collect::<Result<Vec<_>, BenchError>>()?.into_iter().map(|taker| {
        let (completed, progress) = (completed.clone(), progress.clone());
        tokio::spawn(async move {
            let mut empty = 0;
            while completed.load(Ordering::Relaxed) < count {
                let claimed = taker.claim(BATCH as u16, WAIT).await?;
                if claimed.is_empty() {
                    empty += 1;
                    if empty == MOST_EMPTY {
                        let done = completed.load(Ordering::Relaxed);
                        return Err(BenchError::Missing { done, of: count });
                    }
                    continue;
                }
                empty = 0;
                let done = taker.complete(&claimed).await?;
                progress(completed.fetch_add(done, Ordering::Relaxed) + done, count);
            }
            Ok(())
        })
    });
    for hand in hands.collect::<Vec<_>>() {
        hand.await??;
    }
    Ok(())
}
