//! Metrics of scanners and timers.

use std::time::Duration;

use ff_store::metrics::Metric;

use crate::scanner::Scanned;

/// Every metric of this crate.
pub const METRICS: &[Metric] = &[
    Metric::counter("ff_scanner_cycles_total", "scanner, outcome", "Scan cycles by outcome."),
    Metric::histogram("ff_scanner_seconds", "scanner", "Duration of a scan cycle."),
    Metric::counter(
        "ff_scanner_items_total",
        "scanner, result",
        "Items scanned, changed or failed.",
    ),
    Metric::counter("ff_timers_total", "result", "Timers that fired, were stale or failed."),
    Metric::gauge("ff_audit_violations", "rule", "Violations found by the last audit."),
    Metric::counter(
        "ff_webhook_tries_total",
        "outcome",
        "Tries to deliver an event to a webhook, by outcome.",
    ),
    Metric::counter("ff_webhook_dead_total", "", "Events that webhooks gave up."),
    Metric::counter("ff_restarts_total", "service", "Restarts of background services."),
];

/// One cycle of a scanner.
pub(crate) fn cycle(scanner: &'static str, scanned: Option<Scanned>, took: Duration) {
    let outcome = if scanned.is_some() { "ok" } else { "error" };
    metrics::counter!("ff_scanner_cycles_total", "scanner" => scanner, "outcome" => outcome)
        .increment(1);
    metrics::histogram!("ff_scanner_seconds", "scanner" => scanner).record(took.as_secs_f64());
    let Scanned { processed, changed, errors } = scanned.unwrap_or_default();
    for (result, count) in [("processed", processed), ("changed", changed), ("failed", errors)] {
        metrics::counter!("ff_scanner_items_total", "scanner" => scanner, "result" => result)
            .increment(count);
    }
}

/// What one cycle of the timer loop did.
pub(crate) fn timers(fired: u64, stale: u64, errors: u64) {
    for (result, count) in [("fired", fired), ("stale", stale), ("failed", errors)] {
        metrics::counter!("ff_timers_total", "result" => result).increment(count);
    }
}

/// What the last audit found.
pub(crate) fn violations(rule: &'static str, count: u64) {
    metrics::gauge!("ff_audit_violations", "rule" => rule).set(count as f64);
}

/// Shows the counters of webhooks from the start, so that the first failure is a change of a value.
pub(crate) fn webhooks_start() {
    delivery_counter("delivered").increment(0);
    delivery_counter("failed").increment(0);
    given_up_counter().increment(0);
}

/// A try to deliver an event.
pub(crate) fn delivery(taken: bool) {
    delivery_counter(if taken { "delivered" } else { "failed" }).increment(1);
}

fn delivery_counter(outcome: &'static str) -> metrics::Counter {
    metrics::counter!("ff_webhook_tries_total", "outcome" => outcome)
}

/// An event was given up.
pub(crate) fn given_up() {
    given_up_counter().increment(1);
}

fn given_up_counter() -> metrics::Counter {
    metrics::counter!("ff_webhook_dead_total")
}

/// A service was restarted this many times.
pub(crate) fn restarted(service: &'static str, times: u64) {
    metrics::counter!("ff_restarts_total", "service" => service).increment(times);
}
