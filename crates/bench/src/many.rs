//! Many lanes and budgets, and a long queue: how long one call occupies the store, and what that
//! costs concurrent submits and claims, compared with a queue of the same length in one lane.
//!
//! Meanwhile a worker waits on an empty lane, timers fire, and the backlog is counted, as
//! on a server that is scraped.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ff_core::budget::{BudgetLimits, DimensionLimits, OnBreach};
use ff_core::limits::ExecutionLimits;
use ff_core::{Dimension, Lane, Millis, Namespace, ResourceName};
use ff_store::EngineBackend;
use tokio::task::JoinHandle;

use crate::calls::{Producer, Taker};
use crate::meter::Meter;
use crate::samples::{Samples, round};
use crate::time::Passing;
use crate::{BenchError, Load, Progress, Report};

/// The size of the store.
#[derive(Debug, Clone, Copy)]
pub struct Many {
    /// How many lanes.
    pub lanes: u32,
    /// How many budgets, each named by one execution in a separate lane.
    pub budgets: u32,
    /// How many executions are queued.
    pub queued: u64,
}

/// How often the backlog is counted.
const SCRAPE: Duration = Duration::from_secs(5);
/// How long a claim waits, though there is work.
const WAIT: Millis = Millis::new(1_000);
/// How many executions are submitted in one call to fill a lane, at most.
const BATCH: u64 = 100;

pub(crate) async fn run(
    url: &str,
    backend: Arc<dyn EngineBackend>,
    load: Load,
    many: Many,
    progress: Progress,
) -> Result<Report, BenchError> {
    let load = Load { workers: 1, batch: 1, ..load };
    let mut meter = Meter::open(url).await?;
    let producer = Producer::new(load.payload, load.retention);
    let around = Around::start(backend.clone())?;
    let one = Many { lanes: 1, budgets: 0, ..many };
    fill(&backend, &producer, one, &progress).await?;
    let mut few = measure(&backend, &producer, load, Lanes { count: 1 }, &progress).await?;
    let lanes = Lanes { count: many.lanes };
    fill(&backend, &producer, many, &progress).await?;
    meter.time_calls().await?;
    let mut all = measure(&backend, &producer, load, lanes, &progress).await?;
    let backlog = backend.backlog().await?;
    let longest = meter.longest_call().await?;
    around.stop().await;
    let queued: u64 = backlog.queues.values().map(|queued| queued.count).sum();
    if queued < many.queued {
        return Err(BenchError::Missing { done: queued, of: many.queued });
    }
    let mut report = Report::new("many", url, load);
    report.queued = Some(many.queued);
    report.lanes = Some(many.lanes);
    report.budgets = Some(many.budgets);
    report.longest_call_ms = longest.map(|longest| round(longest.as_secs_f64() * 1_000.0));
    report.p50_ms = all.claims.percentile_ms(50);
    report.p99_ms = all.claims.percentile_ms(99);
    report.few_p50_ms = few.claims.percentile_ms(50);
    report.few_p99_ms = few.claims.percentile_ms(99);
    let ratio = |many: Option<f64>, few: Option<f64>| Some(round(many? / few?));
    report.p50_ratio = ratio(report.p50_ms, report.few_p50_ms);
    report.p99_ratio = ratio(report.p99_ms, report.few_p99_ms);
    report.submit_p99_ms = all.submits.percentile_ms(99);
    report.submit_p99_ratio = ratio(report.submit_p99_ms, few.submits.percentile_ms(99));
    Ok(report)
}

/// Lanes by number.
#[derive(Clone, Copy)]
struct Lanes {
    count: u32,
}

impl Lanes {
    fn get(self, number: u64) -> Result<Lane, BenchError> {
        Ok(Lane::new(format!("lane-{}", number % u64::from(self.count)))?)
    }
}

/// The background load during a measurement.
struct Around {
    tasks: Vec<JoinHandle<()>>,
    time: Passing,
}

impl Around {
    fn start(backend: Arc<dyn EngineBackend>) -> Result<Around, BenchError> {
        let waiter = Taker::new(backend.clone(), 1)?.in_lane(&Lane::new("empty")?);
        let waiting = tokio::spawn(async move { while waiter.claim(1, WAIT).await.is_ok() {} });
        let scraped = backend.clone();
        let scrapes = tokio::spawn(async move {
            while scraped.backlog().await.is_ok() {
                tokio::time::sleep(SCRAPE).await;
            }
        });
        Ok(Around { tasks: vec![waiting, scrapes], time: Passing::start(backend) })
    }

    async fn stop(self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        self.time.stop().await;
    }
}

/// Fills the lanes, and creates the budgets with work that names them.
async fn fill(
    backend: &Arc<dyn EngineBackend>,
    producer: &Producer,
    many: Many,
    progress: &Progress,
) -> Result<(), BenchError> {
    let lanes = Lanes { count: many.lanes };
    let each = many.queued.div_ceil(u64::from(many.lanes));
    let batch = producer.fitting(BATCH);
    for number in 0..u64::from(many.lanes) {
        let producer = producer.in_lane(&lanes.get(number)?);
        let mut left = each;
        while left > 0 {
            producer.submit(&**backend, left.min(batch)).await?;
            left = left.saturating_sub(batch);
        }
        progress(number, many.lanes.into());
    }
    let limit = DimensionLimits { hard: Some(1_000_000), ..DimensionLimits::default() };
    let dimensions = BTreeMap::from([(Dimension::new("tokens")?, limit)]);
    let limits = BudgetLimits { dimensions, period: None, on_breach: OnBreach::default() };
    let limited = producer.in_lane(&Lane::new("limited")?);
    for number in 0..many.budgets {
        let name = ResourceName::new(format!("budget-{number}"))?;
        backend.put_budget(&Namespace::default(), &name, limits.clone()).await?;
        let limits = ExecutionLimits { budgets: [name].into(), ..ExecutionLimits::default() };
        limited.clone().limited(limits).submit(&**backend, 1).await?;
    }
    Ok(())
}

/// How long submits and claims took.
#[derive(Default)]
struct Measured {
    submits: Samples,
    claims: Samples,
}

/// Submits, claims and completes one by one, each in another lane.
async fn measure(
    backend: &Arc<dyn EngineBackend>,
    producer: &Producer,
    load: Load,
    lanes: Lanes,
    progress: &Progress,
) -> Result<Measured, BenchError> {
    let mut measured = Measured::default();
    for done in 0..load.executions {
        // A step coprime to the usual numbers of lanes.
        let lane = lanes.get(done * 7_919)?;
        let taker = Taker::new(backend.clone(), 0)?.in_lane(&lane);
        let started = Instant::now();
        producer.in_lane(&lane).submit(&**backend, 1).await?;
        let submitted = Instant::now();
        let claimed = taker.claim(1, WAIT).await?;
        let took = submitted.elapsed();
        if taker.complete(&claimed).await? == 0 {
            return Err(BenchError::Missing { done, of: load.executions });
        }
        // The first ones pay for connections and caches.
        if done >= load.warm_up().executions {
            measured.submits.add(submitted - started);
            measured.claims.add(took);
        }
        progress(done + 1, load.executions);
    }
    Ok(measured)
}
