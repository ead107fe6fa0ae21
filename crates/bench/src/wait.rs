//! How soon those who wait for executions have their results, and how many calls a wait takes.
//!
//! On a store that several servers share, the waits are on a store of their own, as in another process:
//! they learn of the ends from the server of the store.

use std::sync::Arc;
use std::time::Instant;

use ff_core::machine::{Assignment, Target};
use ff_core::{Millis, Namespace};
use ff_store::EngineBackend;
use ff_store::roles::until_ended;
use tokio::task::{JoinHandle, yield_now};

use crate::calls::{Producer, Taker};
use crate::meter::Meter;
use crate::samples::{Samples, round};
use crate::{BenchError, Load, Progress, Report};

/// How long the worker waits for what is submitted.
const WAIT: Millis = Millis::from_secs(10);

pub(crate) async fn run(
    url: &str,
    backend: Arc<dyn EngineBackend>,
    load: Load,
    progress: Progress,
) -> Result<Report, BenchError> {
    let load = Load { batch: 1, ..load };
    let mut meter = Meter::open(url).await?;
    let waiter = match meter.counts() {
        true => ff_backends::open(url).await?,
        false => backend.clone(),
    };
    let producer = Producer::new(load.payload, load.retention);
    let crowd = Crowd { taker: Taker::new(backend.clone(), 0)?, backend, waiter, producer };
    let (size, rounds) = (load.workers, load.executions.div_ceil(load.workers as u64));
    // The first ones pay for connections and caches.
    crowd.waits(size).await?;
    let mut samples = Samples::default();
    for done in 1..=rounds {
        samples.extend(crowd.waits(size).await?);
        progress(done, rounds);
    }
    let held = crowd.held(size).await?;
    let (_, calls) = meter.watch(crowd.see(&held)).await?;
    let mut report = Report::new("wait", url, load);
    report.p50_ms = samples.percentile_ms(50);
    report.p99_ms = samples.percentile_ms(99);
    // One call of each execution is the worker's.
    report.store_calls_per_wait = calls.map(|calls| round(calls as f64 / size as f64 - 1.0));
    Ok(report)
}

/// Those who wait, and one worker that ends what they wait for.
struct Crowd {
    backend: Arc<dyn EngineBackend>,
    waiter: Arc<dyn EngineBackend>,
    producer: Producer,
    taker: Taker<dyn EngineBackend>,
}

impl Crowd {
    /// So many executions, each waited for: from the answer to its worker to its result.
    async fn waits(&self, count: usize) -> Result<Samples, BenchError> {
        self.see(&self.held(count).await?).await
    }

    /// New executions in the worker's hands.
    async fn held(&self, count: usize) -> Result<Vec<Assignment>, BenchError> {
        let mut held = Vec::with_capacity(count);
        for _ in 0..count {
            self.producer.submit(&*self.backend, 1).await?;
            held.extend(self.taker.claim(1, WAIT).await?);
        }
        match held.len() == count {
            true => Ok(held),
            false => Err(BenchError::Missing { done: held.len() as u64, of: count as u64 }),
        }
    }

    /// Waits for all of them at once while the worker ends one after the other.
    async fn see(&self, held: &[Assignment]) -> Result<Samples, BenchError> {
        let waits: Vec<_> = held.iter().map(|held| self.wait(held)).collect();
        for held in held {
            while self.waiter.wakeups().ends().waiting(held.execution) == 0 {
                yield_now().await;
            }
        }
        let mut ended = Vec::with_capacity(held.len());
        for held in held {
            self.taker.complete(std::slice::from_ref(held)).await?;
            ended.push(Instant::now());
        }
        let mut samples = Samples::default();
        for (wait, ended) in waits.into_iter().zip(ended) {
            samples.add(wait.await??.saturating_duration_since(ended));
        }
        Ok(samples)
    }

    /// Waits for the result; when it was there.
    fn wait(&self, held: &Assignment) -> JoinHandle<Result<Instant, BenchError>> {
        let target = Target { namespace: Namespace::default(), execution: held.execution };
        let waiter = self.waiter.clone();
        tokio::spawn(async move {
            let record = until_ended(&*waiter, &target).await?;
            waiter.result(&target, Some(record.run.number)).await?;
            Ok(Instant::now())
        })
    }
}
