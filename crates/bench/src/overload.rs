//! More work than a rate quota admits, with deadlines: how much of what the limit allows is
//! done, in total and in each third of the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ff_core::limits::ExecutionLimits;
use ff_core::quota::QuotaLimits;
use ff_core::{Millis, Namespace, ResourceName};
use ff_store::EngineBackend;
use tokio::time::{MissedTickBehavior, interval};

use crate::calls::{Producer, Taker};
use crate::meter::Meter;
use crate::samples::{Samples, round};
use crate::time::Passing;
use crate::{BenchError, Load, Progress, Report};

const QUOTA: &str = "bench";
/// How many may start in any second.
const LIMIT: u32 = 200;
const WINDOW: Millis = Millis::from_secs(1);
/// How many times as much is submitted.
const OVERLOAD: u64 = 3;
/// A result after this is worthless to its submitter.
const DEADLINE: Millis = Millis::from_secs(1);
/// How often work is submitted.
const TICK: Duration = Duration::from_millis(10);
/// How long a claim waits for work.
const WAIT: Millis = Millis::from_secs(1);
/// How long everything runs before it is measured.
const SETTLE: Duration = Duration::from_secs(2);
/// How long work in progress may take at the end.
const LAST: Duration = Duration::from_secs(5);

pub(crate) async fn run(
    url: &str,
    backend: Arc<dyn EngineBackend>,
    load: Load,
    span: Duration,
    progress: Progress,
) -> Result<Report, BenchError> {
    let quota = QuotaLimits {
        max_requests: Some(LIMIT),
        window: WINDOW,
        max_active: None,
        jitter: Millis::ZERO,
    };
    let name = ResourceName::new(QUOTA)?;
    backend.put_quota(&Namespace::default(), &name, quota).await?;
    let time = Passing::start(backend.clone());
    let mut meter = Meter::open(url).await?;
    let before = meter.read().await?;
    let began = Instant::now() + SETTLE;
    let stop = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = (0..load.workers)
        .map(|number| Ok(tokio::spawn(work(Taker::new(backend.clone(), number)?, stop.clone()))))
        .collect::<Result<_, BenchError>>()?;
    let submitted = submit(&backend, load, name, began, span, progress).await?;
    tokio::time::sleep(LAST.min(span)).await;
    stop.store(true, Ordering::Relaxed);
    let mut done = Vec::new();
    for worker in workers {
        done.extend(worker.await??);
    }
    time.stop().await;
    let mut report = Report { executions: submitted, ..Report::new("overload", url, load) };
    if let Some(cost) = meter.since(before).await? {
        cost.fill(&mut report, submitted);
    }
    figures(&mut report, &done, began, span);
    Ok(report)
}

/// One execution that was completed: when, and how long after it was submitted.
struct Done {
    at: Instant,
    after: Duration,
}

/// Submits at a steady pace until the span is over, and answers how much that was.
async fn submit(
    backend: &Arc<dyn EngineBackend>,
    load: Load,
    quota: ResourceName,
    began: Instant,
    span: Duration,
    progress: Progress,
) -> Result<u64, BenchError> {
    let limits = ExecutionLimits { quotas: [quota].into(), ..ExecutionLimits::default() };
    let producer = Producer::new(load.payload, load.retention).limited(limits).until(DEADLINE);
    let mut tick = interval(TICK);
    // What a slow tick failed to submit is submitted by the next.
    tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let (first, end) = (Instant::now(), began + span);
    let whole = end.saturating_duration_since(first).as_millis() as u64;
    let mut submitted = 0;
    while Instant::now() < end {
        tick.tick().await;
        let passed = first.elapsed();
        let wanted = (passed.as_secs_f64() * (OVERLOAD * u64::from(LIMIT)) as f64) as u64;
        if wanted > submitted {
            producer.submit(&**backend, wanted - submitted).await?;
            submitted = wanted;
        }
        progress(passed.as_millis() as u64, whole);
    }
    Ok(submitted)
}

/// Completes what it can claim until it is stopped.
async fn work(
    taker: Taker<dyn EngineBackend>,
    stop: Arc<AtomicBool>,
) -> Result<Vec<Done>, BenchError> {
    let mut done = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let claimed = taker.claim(1, WAIT).await?;
        for assignment in &claimed {
            // A result after the deadline is refused.
            if taker.complete(std::slice::from_ref(assignment)).await.is_ok() {
                let after = assignment.claimed_at.since(assignment.created);
                let after = Duration::from_millis(after.get());
                done.push(Done { at: Instant::now(), after });
            }
        }
    }
    Ok(done)
}

fn figures(report: &mut Report, done: &[Done], began: Instant, span: Duration) {
    let allowed = f64::from(LIMIT) * span.as_secs_f64() / (WINDOW.get() as f64 / 1_000.0);
    let part = |done: &Done| {
        let since = done.at.checked_duration_since(began)?;
        (since < span).then_some(since.as_secs_f64() / span.as_secs_f64())
    };
    let parts: Vec<f64> = done.iter().filter_map(part).collect();
    let third = |third: usize| {
        let count = parts.iter().filter(|part| (**part * 3.0) as usize == third).count();
        round(3.0 * count as f64 / allowed)
    };
    let mut latencies = Samples::default();
    done.iter().for_each(|done| latencies.add(done.after));
    report.per_second = Some(round(parts.len() as f64 / span.as_secs_f64()));
    report.p50_ms = latencies.percentile_ms(50);
    report.p99_ms = latencies.percentile_ms(99);
    report.span_ms = Some(round(span.as_secs_f64() * 1_000.0));
    report.limit_per_second = Some(f64::from(LIMIT));
    report.fraction_of_limit = Some(round(parts.len() as f64 / allowed));
    report.goodput_fraction = report.fraction_of_limit;
    report.goodput_thirds = Some([third(0), third(1), third(2)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goodput_is_what_was_done_in_the_span_of_what_the_limit_allows() {
        let (began, span) = (Instant::now(), Duration::from_secs(3));
        let at = |ms| Done { at: began + Duration::from_millis(ms), after: Duration::ZERO };
        // All of the first second, half of the second one, nothing of the third, and one that is
        // late.
        let mut done: Vec<_> = (0..200).map(|n| at(n * 5)).collect();
        done.extend((0..100).map(|n| at(1_000 + n * 10)));
        done.extend((0..50).map(|_| at(3_000)));
        let mut report = Report::default();
        figures(&mut report, &done, began, span);
        assert_eq!(report.goodput_fraction, Some(0.5));
        assert_eq!(report.goodput_thirds, Some([1.0, 0.5, 0.0]));
    }
}
