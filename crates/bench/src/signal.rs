//! How long a wait for a signal takes that is answered at once: suspend, signal, resume, complete.
//!
//! An execution is held; then the clock starts. Its worker parks it and waits for work, somebody else
//! signals, the worker claims it again and completes it. Other workers do the same at the same time. Calls
//! are counted for one worker that claims when the signal has been answered.

use std::sync::Arc;
use std::time::Instant;

use ff_core::condition::Condition;
use ff_core::machine::{Assignment, NewWaitpoint, Signal, Suspend, WaitpointRef};
use ff_core::suspension::{OnTimeout, SuspendReason};
use ff_core::{Millis, Payload, Source, WaitpointKey};
use ff_store::{EngineBackend, mint};

use crate::calls::{Producer, Taker};
use crate::meter::Meter;
use crate::samples::{Samples, round};
use crate::{BenchError, Load, Progress, Report};

/// How long a worker waits for what is submitted or resumed.
const WAIT: Millis = Millis::from_secs(10);

/// How many waits are answered to count the calls of each.
const COUNTED: u64 = 100;

pub(crate) async fn run(
    url: &str,
    backend: Arc<dyn EngineBackend>,
    load: Load,
    progress: Progress,
) -> Result<Report, BenchError> {
    let load = Load { batch: 1, ..load };
    let mut meter = Meter::open(url).await?;
    let mine = load.executions.div_ceil(load.workers as u64);
    let worker = |number| Parker::new(&backend, number, &load);
    // The first ones pay for connections and caches.
    worker(0)?.waits(COUNTED, &|_| ()).await?;
    let since = Instant::now();
    let mut running = Vec::new();
    for number in 0..load.workers {
        let (parker, progress) = (worker(number)?, progress.clone());
        running.push(tokio::spawn(async move {
            let done = move |done| {
                if number == 0 {
                    progress(done, mine);
                }
            };
            parker.waits(mine, &done).await
        }));
    }
    let mut samples = Samples::default();
    for parker in running {
        samples.extend(parker.await??);
    }
    let span = since.elapsed();
    let parker = worker(0)?;
    let mut calls = Some(0);
    for _ in 0..COUNTED {
        let held = parker.held().await?;
        let (_, made) = meter.watch(parker.answered_first(held)).await?;
        calls = calls.zip(made).map(|(calls, made)| calls + made);
    }
    let mut report = Report::new("signal", url, load);
    report.per_second = Some(round((mine * load.workers as u64) as f64 / span.as_secs_f64()));
    report.p50_ms = samples.percentile_ms(50);
    report.p99_ms = samples.percentile_ms(99);
    report.store_calls_per_execution = calls.map(|calls| round(calls as f64 / COUNTED as f64));
    Ok(report)
}

/// A worker that parks what it holds, and the one who signals it.
struct Parker {
    backend: Arc<dyn EngineBackend>,
    taker: Taker<dyn EngineBackend>,
    producer: Producer,
    payload: Payload,
    waitpoint: WaitpointKey,
    source: Source,
}

impl Parker {
    /// Each worker has a lane of its own, so that it claims again what it has parked.
    fn new(
        backend: &Arc<dyn EngineBackend>,
        number: usize,
        load: &Load,
    ) -> Result<Parker, BenchError> {
        let lane = ff_core::Lane::new(format!("bench-{number}"))?;
        Ok(Parker {
            backend: backend.clone(),
            taker: Taker::new(backend.clone(), number)?.in_lane(&lane),
            producer: Producer::new(load.payload, load.retention).in_lane(&lane),
            payload: Payload::bytes(vec![b'z'; load.payload]),
            waitpoint: WaitpointKey::new("answer")?,
            source: Source::new("bench")?,
        })
    }

    async fn held(&self) -> Result<Assignment, BenchError> {
        self.producer.submit(&*self.backend, 1).await?;
        self.claimed().await
    }

    async fn claimed(&self) -> Result<Assignment, BenchError> {
        let claimed = self.taker.claim(1, WAIT).await?.pop();
        claimed.ok_or(BenchError::Missing { done: 0, of: 1 })
    }

    /// So many waits, one after the other; how long each took.
    async fn waits(&self, count: u64, done: &(dyn Fn(u64) + Sync)) -> Result<Samples, BenchError> {
        let mut samples = Samples::default();
        for number in 1..=count {
            let held = self.held().await?;
            let since = Instant::now();
            self.suspend(&held).await?;
            let (claimed, signalled) = tokio::join!(self.claimed(), self.signal(&held));
            signalled?;
            self.taker.complete(&[claimed?]).await?;
            samples.add(since.elapsed());
            done(number);
        }
        Ok(samples)
    }

    /// The same, claimed when the signal has been answered.
    async fn answered_first(&self, held: Assignment) -> Result<(), BenchError> {
        self.suspend(&held).await?;
        self.signal(&held).await?;
        let claimed = self.claimed().await?;
        self.taker.complete(&[claimed]).await?;
        Ok(())
    }

    async fn suspend(&self, held: &Assignment) -> Result<(), BenchError> {
        let (id, key) = (mint::waitpoint_id(), self.waitpoint.clone());
        let suspend = Suspend {
            hold: held.hold(),
            waitpoints: vec![NewWaitpoint { id, key: key.clone(), until: None }],
            condition: Condition::Signal { waitpoint: key, name: None },
            timeout: None,
            on_timeout: OnTimeout::Resume,
            reason: SuspendReason::Signal,
            message: None,
            step: None,
            keep_if_satisfied: false,
        };
        self.backend.suspend(suspend).await?;
        Ok(())
    }

    async fn signal(&self, held: &Assignment) -> Result<(), BenchError> {
        let signal = Signal {
            target: held.hold().target,
            waitpoint: WaitpointRef::ByKey(self.waitpoint.clone()),
            key: None,
            name: None,
            category: None,
            source: self.source.clone(),
            payload: self.payload.clone(),
        };
        self.backend.signal(signal).await?;
        Ok(())
    }
}
