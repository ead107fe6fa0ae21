//! How many results of steps a store keeps per second, and how many calls one takes.
//!
//! Each worker holds an execution and records one step after the other, as handlers do that call
//! something between two of them; after [`EACH`] it takes another execution.

use std::sync::Arc;
use std::time::Instant;

use ff_core::machine::{Assignment, RecordStep};
use ff_core::{Millis, Payload, StepName};
use ff_store::EngineBackend;

use crate::calls::{Producer, Taker};
use crate::meter::Meter;
use crate::samples::{Samples, round};
use crate::{BenchError, Load, Progress, Report};

/// How many steps an execution has.
const EACH: u64 = 100;

/// How long a worker waits for what is submitted.
const WAIT: Millis = Millis::from_secs(10);

/// How many steps are recorded to count the calls of each.
const COUNTED: u64 = 100;

pub(crate) async fn run(
    url: &str,
    backend: Arc<dyn EngineBackend>,
    load: Load,
    progress: Progress,
) -> Result<Report, BenchError> {
    let load = Load { batch: 1, ..load };
    let mut meter = Meter::open(url).await?;
    let producer = Producer::new(load.payload, load.retention);
    let result = Payload::bytes(vec![b'z'; load.payload]);
    let workers = load.workers as u64;
    let mine = load.executions.div_ceil(workers);
    producer.submit(&*backend, 1).await?;
    // The first one pays for connections and caches.
    Recorder::new(&backend, 0, &result)?.work(EACH, &|_| ()).await?;
    for _ in 0..workers * mine.div_ceil(EACH) {
        producer.submit(&*backend, 1).await?;
    }
    let (before, since) = (meter.read().await?, Instant::now());
    let mut running = Vec::new();
    for worker in 0..load.workers {
        let recorder = Recorder::new(&backend, worker, &result)?;
        let progress = progress.clone();
        running.push(tokio::spawn(async move {
            let done = move |done| {
                if worker == 0 {
                    progress(done, mine);
                }
            };
            recorder.work(mine, &done).await
        }));
    }
    let (mut samples, mut steps) = (Samples::default(), 0);
    for worker in running {
        let (mine, recorded) = worker.await??;
        samples.extend(mine);
        steps += recorded;
    }
    let span = since.elapsed();
    let cost = meter.since(before).await?;
    producer.submit(&*backend, 1).await?;
    let recorder = Recorder::new(&backend, 0, &result)?;
    let held = recorder.held().await?;
    let (_, calls) = meter.watch(recorder.record(&held, 0..COUNTED)).await?;
    let mut report = Report::new("step", url, load);
    report.per_second = Some(round(steps as f64 / span.as_secs_f64()));
    report.p50_ms = samples.percentile_ms(50);
    report.p99_ms = samples.percentile_ms(99);
    report.store_calls_per_step = calls.map(|calls| round(calls as f64 / COUNTED as f64));
    if let Some(cost) = cost {
        report.store_cpu_us_per_execution = Some(round(cost.cpu_us as f64 / steps as f64));
    }
    Ok(report)
}

/// A worker that records steps.
struct Recorder {
    backend: Arc<dyn EngineBackend>,
    taker: Taker<dyn EngineBackend>,
    result: Payload,
}

impl Recorder {
    fn new(
        backend: &Arc<dyn EngineBackend>,
        number: usize,
        result: &Payload,
    ) -> Result<Recorder, BenchError> {
        let taker = Taker::new(backend.clone(), number)?;
        Ok(Recorder { backend: backend.clone(), taker, result: result.clone() })
    }

    async fn held(&self) -> Result<Assignment, BenchError> {
        let held = self.taker.claim(1, WAIT).await?.pop();
        held.ok_or(BenchError::Missing { done: 0, of: 1 })
    }

    /// Records `steps` of as many executions as it takes; answers how long each took.
    async fn work(
        &self,
        steps: u64,
        done: &(dyn Fn(u64) + Sync),
    ) -> Result<(Samples, u64), BenchError> {
        let (mut samples, mut recorded) = (Samples::default(), 0);
        while recorded < steps {
            let held = self.held().await?;
            let share = EACH.min(steps - recorded);
            samples.extend(self.record(&held, 0..share).await?);
            self.taker.complete(&[held]).await?;
            recorded += share;
            done(recorded);
        }
        Ok((samples, recorded))
    }

    async fn record(
        &self,
        held: &Assignment,
        numbers: std::ops::Range<u64>,
    ) -> Result<Samples, BenchError> {
        let mut samples = Samples::default();
        for number in numbers {
            let (hold, result) = (held.hold(), self.result.clone());
            let name = StepName::new(format!("step {number}"))?;
            let since = Instant::now();
            self.backend.record_step(RecordStep { hold, name, result }).await?;
            samples.add(since.elapsed());
        }
        Ok(samples)
    }
}
