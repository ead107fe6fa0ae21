//! What is counted about executions, about claims, and about what holds them up.

mod names;
mod work;

use std::sync::Arc;
use std::time::Instant;

use ff_core::machine::Shortfall;
use ff_core::{Dimension, Lane, Millis};

use crate::error::StoreError;

pub(crate) use names::NAMES;
pub use names::{Names, OTHER};
pub use work::Counted;
pub(crate) use work::KINDS;
use work::Work;

/// One metric, for the reference page and for exporters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: MetricKind,
    /// Its labels, separated by commas.
    pub labels: &'static str,
    /// What it counts.
    pub what: &'static str,
}

/// The type of a metric, as Prometheus has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// Only grows.
    Counter,
    /// May rise and fall.
    Gauge,
    /// Is distributed over buckets.
    Histogram,
}

impl Metric {
    /// A value that only grows.
    pub const fn counter(name: &'static str, labels: &'static str, what: &'static str) -> Metric {
        Metric { name, kind: MetricKind::Counter, labels, what }
    }

    /// A value that may rise and fall.
    pub const fn gauge(name: &'static str, labels: &'static str, what: &'static str) -> Metric {
        Metric { name, kind: MetricKind::Gauge, labels, what }
    }

    /// A distribution over buckets.
    pub const fn histogram(name: &'static str, labels: &'static str, what: &'static str) -> Metric {
        Metric { name, kind: MetricKind::Histogram, labels, what }
    }

    /// The name of its type in Prometheus.
    pub const fn type_name(&self) -> &'static str {
        match self.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        }
    }
}

/// Every metric of this crate.
pub const METRICS: &[Metric] = &[
    Metric::counter(
        "ff_submitted_total",
        "lane, kind",
        "Executions accepted; repeats are not counted.",
    ),
    Metric::counter("ff_replayed_total", "lane, kind", "New runs of finished executions."),
    Metric::counter("ff_claimed_total", "lane, kind", "Executions taken by workers."),
    Metric::counter(
        "ff_finished_total",
        "lane, kind, outcome",
        "Executions that have ended: completed, failed, cancelled or expired.",
    ),
    Metric::counter(
        "ff_retries_total",
        "lane, kind, reason",
        "Attempts that another one follows: failed, timed_out or lease_lost.",
    ),
    Metric::counter(
        "ff_returned_total",
        "lane, reason",
        "Leases that ended before the attempt: delayed, suspended, handed_back or revoked.",
    ),
    Metric::counter("ff_leases_lost_total", "lane", "Leases that ran out."),
    Metric::histogram(
        "ff_queue_wait_seconds",
        "lane",
        "From the moment an execution may start to the claim that starts an attempt, including the time it is blocked on a limit.",
    ),
    Metric::histogram(
        "ff_attempt_seconds",
        "lane",
        "From the claim that starts an attempt to its end, including the time for which it is delayed or handed back.",
    ),
    Metric::histogram(
        "ff_claim_seconds",
        "lane, outcome",
        "Duration of one scan for work, excluding waiting; outcome is claimed, granted, empty, withheld, refused, dropped (the caller went away) or error.",
    ),
    Metric::counter(
        "ff_budget_hits_total",
        "dimension",
        "Executions blocked because a budget had too little of a dimension left.",
    ),
    Metric::counter(
        "ff_budget_warnings_total",
        "dimension",
        "Times a budget reached its soft limit.",
    ),
    Metric::counter(
        "ff_quota_hits_total",
        "reason",
        "Executions blocked by a quota: rate_exceeded or concurrency_exceeded.",
    ),
    Metric::counter("ff_admissions_total", "", "Executions admitted by budgets and quotas."),
    Metric::counter("ff_unblocked_total", "on", "Blocked executions returned to their queue."),
    Metric::counter(
        "ff_release_failures_total",
        "",
        "Failed releases of blocked executions, retried by the unblock scanner.",
    ),
    Metric::counter(
        "ff_settlement_failures_total",
        "",
        "Failed settlements, retried when their ticket is checked.",
    ),
    Metric::counter(
        "ff_clock_steps_total",
        "direction",
        "Steps of a SQLite store's system clock: `back`, or `ahead` by more than five minutes.",
    ),
    Metric::gauge(
        "ff_clock_offset_seconds",
        "",
        "How far a SQLite store's time is ahead of the system clock after that was set back.",
    ),
    Metric::counter(
        "ff_invalid_tokens_total",
        "",
        "Signed tokens that were refused: forged, changed, expired or of a key that no longer verifies.",
    ),
];

static DIMENSIONS: Names = Names::new();
static WORK: Work = Work::new();

/// The label of a lane in every metric.
pub fn lane_label(lane: &Lane) -> Arc<str> {
    WORK.lanes.label(lane.as_str())
}

/// Counts changes that are durable.
pub fn count(changes: &[Counted]) {
    WORK.count(changes);
}

/// The process has installed its recorder. Counters are resolved once and kept, so those from before,
/// which count nothing, are resolved again.
pub fn recorder_is_installed() {
    WORK.resolve_again();
}

/// One search for work, measured from its start until it is dropped.
pub(crate) struct ClaimTimer {
    lane: Arc<str>,
    outcome: &'static str,
    began: Instant,
}

impl ClaimTimer {
    pub(crate) fn start(lane: &Lane) -> ClaimTimer {
        ClaimTimer { lane: lane_label(lane), outcome: "dropped", began: Instant::now() }
    }

    /// It has ended with `outcome`.
    pub(crate) fn end(mut self, outcome: &'static str) {
        self.outcome = outcome;
    }

    /// It failed with `error`.
    pub(crate) fn fail(self, error: &StoreError) {
        self.end(if error.refused().is_some() { "refused" } else { "error" });
    }
}

impl Drop for ClaimTimer {
    fn drop(&mut self) {
        let (lane, outcome) = (self.lane.clone(), self.outcome);
        metrics::histogram!("ff_claim_seconds", "lane" => lane, "outcome" => outcome)
            .record(self.began.elapsed().as_secs_f64());
    }
}

/// An execution has to wait.
pub(crate) fn blocked(shortfall: &Shortfall) {
    let reason = match shortfall {
        // Nothing was used up.
        Shortfall::Missing | Shortfall::Unreadable => return,
        Shortfall::Budget(dimension) => {
            let dimension = DIMENSIONS.label(dimension.as_str());
            metrics::counter!("ff_budget_hits_total", "dimension" => dimension).increment(1);
            return;
        }
        Shortfall::Concurrency => "concurrency_exceeded",
        Shortfall::Rate => "rate_exceeded",
    };
    metrics::counter!("ff_quota_hits_total", "reason" => reason).increment(1);
}

/// A budget has reached its soft limit.
pub(crate) fn warned(dimension: &Dimension) {
    let dimension = DIMENSIONS.label(dimension.as_str());
    metrics::counter!("ff_budget_warnings_total", "dimension" => dimension).increment(1);
}

/// A signed token was refused.
pub(crate) fn invalid_token() {
    metrics::counter!("ff_invalid_tokens_total").increment(1);
}

pub(crate) fn admitted() {
    metrics::counter!("ff_admissions_total").increment(1);
}

/// Releases failed.
pub(crate) fn release_failed(count: u64) {
    metrics::counter!("ff_release_failures_total").increment(count);
}

/// Settlements failed.
pub(crate) fn settlement_failed(count: u64) {
    metrics::counter!("ff_settlement_failures_total").increment(count);
}

pub(crate) fn unblocked(on: &'static str, count: u64) {
    metrics::counter!("ff_unblocked_total", "on" => on).increment(count);
}

/// The clock of the store was set.
pub(crate) fn clock_step(direction: &'static str) {
    metrics::counter!("ff_clock_steps_total", "direction" => direction).increment(1);
}

/// How far the store's time is ahead of its clock.
pub(crate) fn clock_offset(offset: Millis) {
    metrics::gauge!("ff_clock_offset_seconds").set(offset.get() as f64 / 1_000.0);
}
