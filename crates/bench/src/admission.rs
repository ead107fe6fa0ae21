//! The cycle with work that a budget and a quota must admit, compared with the same without; and how
//! soon work that waits for a budget can be claimed once there is capacity.

use std::sync::Arc;
use std::time::Instant;

use ff_core::bounds::{AMOUNT, CLAIM, QUOTA};
use ff_core::budget::{BudgetLimits, DimensionLimits, OnBreach};
use ff_core::limits::ExecutionLimits;
use ff_core::quota::QuotaLimits;
use ff_core::{Dimension, Millis, Namespace, ResourceName};
use ff_store::EngineBackend;

use crate::calls::{Producer, Taker};
use crate::crowd::measure;
use crate::cycle::fill as figures;
use crate::meter::Meter;
use crate::queue::fill;
use crate::samples::round;
use crate::{BenchError, Load, Progress, Report};

const BUDGET: &str = "bench";
const QUOTA_NAME: &str = "bench";

/// The limits of the executions of a benchmark.
pub(crate) fn limits() -> Result<ExecutionLimits, BenchError> {
    Ok(ExecutionLimits {
        budgets: [ResourceName::new(BUDGET)?].into(),
        quotas: [ResourceName::new(QUOTA_NAME)?].into(),
        estimate: [(Dimension::new("tokens")?, 10)].into(),
    })
}

/// Allows this many tokens, and any number of starts and of running executions.
async fn allow(backend: &dyn EngineBackend, tokens: u64) -> Result<(), BenchError> {
    let (namespace, limits) =
        (Namespace::default(), DimensionLimits { soft: None, hard: Some(tokens) });
    let budget = BudgetLimits {
        dimensions: [(Dimension::new("tokens")?, limits)].into(),
        period: None,
        on_breach: OnBreach::Block,
    };
    backend.put_budget(&namespace, &ResourceName::new(BUDGET)?, budget).await?;
    let quota = QuotaLimits {
        max_requests: Some(QUOTA),
        window: Millis::from_secs(1),
        max_active: Some(QUOTA),
        jitter: Millis::ZERO,
    };
    backend.put_quota(&namespace, &ResourceName::new(QUOTA_NAME)?, quota).await?;
    Ok(())
}

pub(crate) async fn run(
    url: &str,
    backend: Arc<dyn EngineBackend>,
    load: Load,
    progress: Progress,
) -> Result<Report, BenchError> {
    allow(&*backend, AMOUNT).await?;
    let mut meter = Meter::open(url).await?;
    let quiet: Progress = Arc::new(|_, _| ());
    let plain = Load { limited: false, ..load };
    measure(backend.clone(), plain.warm_up(), quiet.clone()).await?;
    let baseline = measure(backend.clone(), plain, quiet.clone()).await?;
    meter.watch(measure(backend.clone(), load.warm_up(), quiet)).await?;
    let before = meter.read().await?;
    let mut measured = measure(backend, load, progress).await?;
    let cost = meter.since(before).await?;
    let mut report = Report::new("admission", url, load);
    figures(&mut report, &mut measured);
    if let Some(cost) = cost {
        cost.fill(&mut report, measured.executions);
    }
    report.baseline_per_second = Some(round(baseline.per_second));
    report.fraction_of_baseline = Some(round(measured.per_second / baseline.per_second));
    Ok(report)
}

/// Fills a budget until every execution waits for it, raises it, and measures until all can be
/// claimed.
pub(crate) async fn raise(
    url: &str,
    backend: Arc<dyn EngineBackend>,
    load: Load,
    progress: Progress,
) -> Result<Report, BenchError> {
    // An estimate of ten does not fit.
    allow(&*backend, 5).await?;
    let mut meter = Meter::open(url).await?;
    let producer = Producer::new(load.payload, load.retention).limited(limits()?);
    fill(&backend, &producer, load.executions, progress).await?;
    let taker = Taker::new(backend.clone(), 0)?;
    while waiting(&*backend).await? < load.executions {
        let taken = taker.claim(CLAIM as u16, Millis::ZERO).await?;
        if !taken.is_empty() {
            return Err(BenchError::Admitted);
        }
    }
    let before = meter.read().await?;
    let began = Instant::now();
    allow(&*backend, AMOUNT).await?;
    let took = began.elapsed();
    let cost = meter.since(before).await?;
    let queued: u64 = backend.backlog().await?.queues.values().map(|queued| queued.count).sum();
    if queued != load.executions {
        return Err(BenchError::Missing { done: queued, of: load.executions });
    }
    let mut report = Report::new("raise", url, load);
    report.per_second = Some(round(queued as f64 / took.as_secs_f64()));
    report.span_ms = Some(round(took.as_secs_f64() * 1_000.0));
    if let Some(cost) = cost {
        cost.fill(&mut report, queued);
    }
    Ok(report)
}

async fn waiting(backend: &dyn EngineBackend) -> Result<u64, BenchError> {
    Ok(backend.backlog().await?.blocked.values().sum())
}
