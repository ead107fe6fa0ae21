//! The cycle: many workers submit, claim and complete, all at once, compared with the baseline of
//! the store.

use std::sync::Arc;
use std::time::Duration;

use ff_backends::CeilingPlan;
use ff_core::Namespace;
use ff_store::events::FeedUpdate;
use ff_store::{EngineBackend, PartitionSet};

use crate::crowd::{Measured, measure};
use crate::meter::Meter;
use crate::samples::round;
use crate::time::Passing;
use crate::{BenchError, Load, Progress, Report};

/// How often the removal of all executions is checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// How many checks at most.
const MAX_CHECKS: u32 = 1_200;

pub(crate) async fn run(
    url: &str,
    backend: Arc<dyn EngineBackend>,
    load: Load,
    progress: Progress,
) -> Result<Report, BenchError> {
    let mut meter = Meter::open(url).await?;
    let time = load.retention.map(|_| Passing::start(backend.clone()));
    let quiet: Progress = Arc::new(|_, _| ());
    meter.watch(whole(backend.clone(), load.warm_up(), quiet)).await?;

    let (stats, before) = (backend.stats(), meter.read().await?);
    let mut measured = whole(backend.clone(), load, progress).await?;
    let cost = meter.since(before).await?;
    let stats = stats.zip(backend.stats());
    if let Some(time) = time {
        time.stop().await;
    }

    let mut report = Report::new("cycle", url, load);
    fill(&mut report, &mut measured);
    if let Some(cost) = cost {
        cost.fill(&mut report, measured.executions);
    }
    let mut group = 1;
    if let Some((before, after)) = stats {
        let syncs = (after.syncs - before.syncs) as f64;
        let commands = (after.commands - before.commands) as f64;
        report.syncs_per_execution = Some(round(syncs / measured.executions as f64));
        report.commands_per_sync = Some(round(commands / syncs.max(1.0)));
        group = (commands / syncs.max(1.0)).round().max(1.0) as usize;
    }
    if load.feed {
        with_feed(backend, load, &mut report).await?;
    }
    limit(url, load, group, &mut report).await?;
    Ok(report)
}

/// Runs `load` once more, with the feed on.
async fn with_feed(
    backend: Arc<dyn EngineBackend>,
    load: Load,
    report: &mut Report,
) -> Result<(), BenchError> {
    let namespace = Namespace::default();
    let update =
        |on| FeedUpdate { namespace: namespace.clone(), on: Some(on), ..Default::default() };
    backend.set_feed(update(true)).await?;
    let quiet: Progress = Arc::new(|_, _| ());
    measure(backend.clone(), load.warm_up(), quiet.clone()).await?;
    let measured = measure(backend.clone(), load, quiet).await?;
    backend.set_feed(update(false)).await?;
    report.feed_per_second = Some(round(measured.per_second));
    report.fraction_with_feed =
        report.per_second.map(|without| round(measured.per_second / without));
    Ok(())
}

/// Runs `load` until its last execution is finished, and removed when it is to be.
async fn whole(
    backend: Arc<dyn EngineBackend>,
    load: Load,
    progress: Progress,
) -> Result<Measured, BenchError> {
    let measured = measure(backend.clone(), load, progress).await?;
    if load.retention.is_some() {
        for _ in 0..MAX_CHECKS {
            let timers = backend.due(&PartitionSet::All, None, 1).await?;
            if timers.due.is_empty() && timers.next.is_none() {
                return Ok(measured);
            }
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
        return Err(BenchError::NotRemoved);
    }
    Ok(measured)
}

/// What the store does at best with the same work, `group` commands to a transaction.
async fn limit(url: &str, load: Load, group: usize, report: &mut Report) -> Result<(), BenchError> {
    let plan = CeilingPlan {
        executions: load.executions,
        payload: load.payload,
        callers: load.workers,
        batch: load.batch,
        group,
    };
    let Some(ceiling) = ff_backends::ceiling(url, plan).await? else { return Ok(()) };
    if let Some(per_second) = report.per_second {
        report.fraction_of_limit = Some(round(per_second / ceiling.per_second));
        let baseline = ceiling.baseline_per_second;
        report.fraction_of_baseline = baseline.map(|baseline| round(per_second / baseline));
    }
    report.limit_per_second = Some(round(ceiling.per_second));
    report.baseline_per_second = ceiling.baseline_per_second.map(round);
    report.limit_cpu_us_per_execution = ceiling.cpu_us_per_execution.map(round);
    report.cpu_to_limit = report
        .store_cpu_us_per_execution
        .zip(ceiling.cpu_us_per_execution)
        .map(|(ours, limit)| round(ours / limit));
    Ok(())
}

/// The figures of a crowd.
pub(crate) fn fill(report: &mut Report, measured: &mut Measured) {
    report.per_second = Some(round(measured.per_second));
    report.p50_ms = measured.whole.percentile_ms(50);
    report.p99_ms = measured.whole.percentile_ms(99);
    report.claim_p50_ms = measured.claims.percentile_ms(50);
    report.claim_p99_ms = measured.claims.percentile_ms(99);
    let calls = measured.calls as f64 / measured.executions as f64;
    report.store_calls_per_execution = Some(round(calls));
}
