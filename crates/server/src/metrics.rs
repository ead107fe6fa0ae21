//! The metrics of the server, in Prometheus's text format.

use std::sync::OnceLock;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use ff_store::StoreError;
use ff_store::metrics::{Metric, MetricKind};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

/// Every metric that the server itself records.
const OWN: &[Metric] = &[
    Metric::counter("ff_http_requests_total", "method, route, status", "Requests answered."),
    Metric::histogram(
        "ff_http_request_seconds",
        "method, route",
        "Duration of requests, including waiting claims.",
    ),
    Metric::counter("ff_renewals_total", "status", "Leases renewed, cancelled, lost or unknown."),
    Metric::counter("ff_refusals_total", "code", "Commands refused or failed, by code."),
    Metric::gauge(
        "ff_queue_depth",
        "lane",
        "Executions waiting for a worker, over all namespaces.",
    ),
    Metric::gauge(
        "ff_queue_oldest_seconds",
        "lane",
        "Age of the execution at the head of the queue; the maximum over all namespaces.",
    ),
    Metric::gauge(
        "ff_blocked",
        "reason",
        "Executions blocked on a limit: waiting_for_budget or waiting_for_quota.",
    ),
    Metric::gauge(
        "ff_unroutable",
        "lane",
        "Queued executions whose required capabilities no live worker offers, in up to 100 namespaces.",
    ),
    Metric::gauge("ff_active", "lane", "Executions held by a worker, over all namespaces."),
    Metric::gauge("ff_workers", "", "Registered workers."),
    Metric::gauge("ff_build_info", "version, os, arch", "Always 1; the labels say what runs."),
];

/// Every metric that a process with a server may export.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    OWN.iter().chain(ff_store::metrics::METRICS).chain(ff_engine::METRICS)
}

/// The buckets of durations in seconds: from a fast read to the longest wait for work.
const SECONDS: [f64; 12] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 5.0, 20.0, 60.0];

/// The buckets of how long executions wait and run: from a busy worker to a night.
const SPANS: [f64; 14] = [
    0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0, 43_200.0, 86_400.0,
];

/// The metrics that have those buckets.
const SPANNING: [&str; 2] = ["ff_queue_wait_seconds", "ff_attempt_seconds"];

/// How often what was recorded is folded into the counts. Samples of histograms are kept one by one
/// until then, so this bounds the memory they take.
const UPKEEP: Duration = Duration::from_secs(1);

static HANDLE: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// Starts counting. One process counts once, however many servers it runs.
pub(crate) fn install() {
    HANDLE.get_or_init(|| match builder().and_then(PrometheusBuilder::install_recorder) {
        Ok(handle) => {
            ff_store::metrics::recorder_is_installed();
            describe();
            keep_up(handle.clone());
            Some(handle)
        }
        Err(error) => {
            tracing::warn!(%error, "metrics are off");
            None
        }
    });
}

fn builder() -> Result<PrometheusBuilder, BuildError> {
    let builder = PrometheusBuilder::new().set_buckets(&SECONDS)?;
    SPANNING.iter().try_fold(builder, |builder, name| {
        builder.set_buckets_for_metric(Matcher::Full((*name).to_owned()), &SPANS)
    })
}

/// Folds what was recorded into the counts, periodically, on a separate thread: whether or not
/// anything scrapes, and whichever runtime the server is on.
fn keep_up(handle: PrometheusHandle) {
    let upkeep = move || {
        loop {
            std::thread::sleep(UPKEEP);
            handle.run_upkeep();
        }
    };
    if let Err(error) = std::thread::Builder::new().name("ff-metrics".into()).spawn(upkeep) {
        tracing::warn!(%error, "metrics grow until they are scraped");
    }
}

fn describe() {
    for metric in all() {
        match metric.kind {
            MetricKind::Counter => metrics::describe_counter!(metric.name, metric.what),
            MetricKind::Gauge => metrics::describe_gauge!(metric.name, metric.what),
            MetricKind::Histogram => metrics::describe_histogram!(metric.name, metric.what),
        }
    }
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let version = env!("CARGO_PKG_VERSION");
    metrics::gauge!("ff_build_info", "version" => version, "os" => os, "arch" => arch).set(1.0);
}

/// What was counted, as text.
pub(crate) fn render() -> String {
    match HANDLE.get() {
        Some(Some(handle)) => handle.render(),
        _ => String::new(),
    }
}

pub(crate) fn request(method: &Method, route: &str, status: StatusCode, took: Duration) {
    // A client may make up methods, and each label is kept forever.
    let method = match *method {
        Method::GET
        | Method::HEAD
        | Method::POST
        | Method::PUT
        | Method::PATCH
        | Method::DELETE => method.as_str(),
        _ => "other",
    };
    let labels = [("method", method.to_owned()), ("route", route.to_owned())];
    metrics::histogram!("ff_http_request_seconds", &labels).record(took.as_secs_f64());
    let [method, route] = labels;
    let labels = [method, route, ("status", status.as_u16().to_string())];
    metrics::counter!("ff_http_requests_total", &labels).increment(1);
}

pub(crate) fn renewal(status: &'static str) {
    metrics::counter!("ff_renewals_total", "status" => status).increment(1);
}

pub(crate) fn refused(error: &StoreError) {
    metrics::counter!("ff_refusals_total", "code" => error.code()).increment(1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ff_testkit::wait;

    #[test]
    fn samples_are_folded_into_the_counts_without_a_scrape() {
        install();
        metrics::histogram!("ff_folded_seconds").record(0.001);
        let handle = HANDLE.get().unwrap().as_ref().unwrap();
        // Rendering would fold it too; this only reads.
        let folded = wait::until(Duration::from_secs(20), || {
            let shown = format!("{handle:?}");
            let (_, distributions) = shown.split_once("distributions: ").unwrap();
            distributions.contains("ff_folded_seconds").then_some(())
        });
        assert!(folded.is_some(), "nothing folds what is recorded");
    }
}
