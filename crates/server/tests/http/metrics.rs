//! What the server counts is what it documents.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ff_core::budget::{BudgetLimits, DimensionLimits, OnBreach};
use ff_core::limits::ExecutionLimits;
use ff_core::machine::{Complete, ReportUsage, Submit};
use ff_core::quota::QuotaLimits;
use ff_core::{Lane, Millis, Namespace};
use ff_engine::services::Services;
use ff_store::metrics::MetricKind;
use ff_store::{
    ClientBackend, Clock, EngineBackend, LimitsBackend, MaintenanceBackend, PartitionSet,
    WorkerBackend,
};

use crate::fixture::raw::{ask, get};
use crate::fixture::{Fixture, claim, within};

/// The metric that a line of the text belongs to.
fn name(line: &str) -> &str {
    let name = line.split(['{', ' ']).next().unwrap();
    let part = ["_bucket", "_sum", "_count"].into_iter().find_map(|part| name.strip_suffix(part));
    part.unwrap_or(name)
}

async fn scraped(server: &Fixture) -> String {
    let answer = ask(server.address, get("/metrics")).await;
    assert!(answer.header("content-type").unwrap().starts_with("text/plain"));
    answer.text().to_owned()
}

/// Work that is limited by `limits`.
async fn submit(server: &Fixture, limits: ExecutionLimits) {
    let submit = Submit { limits, ..Submit::new(server.store.new_id(&Default::default(), None)) };
    server.store.submit(vec![submit]).await.unwrap().remove(0).unwrap();
}

/// Makes everything happen once that any metric counts.
async fn live(server: &Fixture) -> String {
    let (client, namespace) = (server.client(), Namespace::default());
    let tokens = "tokens".parse().unwrap();
    let limits = BudgetLimits {
        dimensions: [(tokens, DimensionLimits { soft: Some(1), hard: Some(1) })].into(),
        period: None,
        on_breach: OnBreach::Block,
    };
    let (team, api) = ("team".parse().unwrap(), "api".parse().unwrap());
    client.put_budget(&namespace, &team, limits).await.unwrap();
    let once = QuotaLimits {
        max_requests: None,
        window: Millis::from_secs(60),
        max_active: Some(1),
        jitter: Millis::ZERO,
    };
    client.put_quota(&namespace, &api, once).await.unwrap();
    let (team, api) =
        (ExecutionLimits { budgets: [team].into(), ..ExecutionLimits::default() }, api);
    let api = ExecutionLimits { quotas: [api].into(), ..ExecutionLimits::default() };

    client
        .submit(vec![Submit::new(client.new_id(&namespace, None))])
        .await
        .unwrap()
        .remove(0)
        .unwrap();
    let held = client.claim(claim(), Millis::ZERO).await.unwrap().assignments.remove(0);
    client.renew(vec![held.hold()]).await.unwrap().remove(0).unwrap();
    let complete = Complete { hold: held.hold(), result: Default::default() };
    client.complete(vec![complete]).await.unwrap().remove(0).unwrap();
    client.fail(fail(&held)).await.unwrap_err();

    submit(server, team.clone()).await;
    let spender = client.claim(claim(), Millis::ZERO).await.unwrap().assignments.remove(0);
    let report = ReportUsage {
        hold: spender.hold(),
        key: "once".parse().unwrap(),
        amounts: [("tokens".parse().unwrap(), 1)].into(),
        release: false,
    };
    client.report_usage(report).await.unwrap();
    for limits in [&team, &api, &api] {
        submit(server, limits.clone()).await;
    }
    while !client.claim(claim(), Millis::ZERO).await.unwrap().assignments.is_empty() {}
    client.reset_budget(&namespace, &"team".parse().unwrap()).await.unwrap();

    let backend: Arc<dyn EngineBackend> = Arc::new(server.store.clone());
    let services = Services::new(backend);
    services.unblock.run_once().await.unwrap();
    services.audit.run_once().await.unwrap();
    let supervisor = services.start();
    ask(server.address, "MADEUP /nowhere HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    within(async {
        for name in ["ff_timers_total", "ff_webhook_dead_total"] {
            while !scraped(server).await.contains(name) {
                tokio::task::yield_now().await;
            }
        }
    })
    .await;
    supervisor.stop().await;
    server.clock.set(server.clock.now() - Millis::from_hours(1));
    server.store.due(&PartitionSet::All, None, 1).await.unwrap();
    held.execution.to_string()
}

#[tokio::test]
async fn every_metric_is_emitted_and_every_emitted_one_is_documented() {
    let server = Fixture::start().await;
    let execution = live(&server).await;
    let text = scraped(&server).await;
    let emitted: BTreeSet<_> =
        text.lines().filter(|line| line.starts_with("ff_")).map(name).collect();
    let documented: BTreeSet<_> = ff_server::metrics().map(|metric| metric.name).collect();
    assert_eq!(emitted, documented);
    for metric in ff_server::metrics() {
        let (name, what) = (metric.name, metric.what);
        assert!(text.contains(&format!("# HELP {name} {what}")), "{name}");
        let kind = match metric.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        assert!(text.contains(&format!("# TYPE {name} {kind}")), "{name} is a {kind}");
        for label in metric.labels.split(", ").filter(|label| !label.is_empty()) {
            let mut lines = text.lines().filter(|line| {
                line.starts_with(&format!("{name}{{")) || line.starts_with(&format!("{name}_"))
            });
            assert!(lines.any(|line| line.contains(&format!("{label}=\""))), "{name} has {label}");
        }
    }
    assert!(text.contains("ff_audit_violations{rule=\"counted\"} 0\n"), "{text}");
    assert!(text.contains("method=\"other\"") && !text.contains("MADEUP"), "labels are bounded");
    assert!(!text.contains(&execution), "no label names an execution");
}

#[tokio::test]
async fn the_dashboard_shows_metrics_that_exist_with_labels_that_they_have() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/grafana/flowfabric.json");
    let board: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let panels = board["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let lists = board["templating"]["list"].as_array().unwrap();
    let queries = lists.iter().filter_map(|list| list["query"]["query"].as_str());
    let queries: Vec<_> =
        targets.map(|target| target["expr"].as_str().unwrap()).chain(queries).collect();
    assert!(queries.len() > 30, "{} queries", queries.len());
    let documented: BTreeMap<_, _> =
        ff_server::metrics().map(|metric| (metric.name, metric.labels)).collect();
    let mut shown = BTreeSet::new();
    for query in queries {
        let words = || query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let named = words().find(|word| word.starts_with("ff_")).map(name);
        let named = named.unwrap_or_else(|| panic!("no metric in {query}"));
        let labels = documented.get(named).unwrap_or_else(|| panic!("{named} in {query}"));
        let by = query.split_once("by (").map_or("", |(_, by)| by.split_once(')').unwrap().0);
        for label in by.split(", ").filter(|by| !["", "le", "instance"].contains(by)) {
            assert!(labels.split(", ").any(|has| has == label), "{label} of {named} in {query}");
        }
        shown.extend(words().filter(|word| word.starts_with("ff_")).map(name));
    }
    assert_eq!(shown.iter().find(|name| !documented.contains_key(**name)), None);
    for title in ["Throughput", "Waiting", "Running", "Failures", "Limits", "Scanners"] {
        assert!(panels.iter().any(|panel| panel["title"] == title), "{title}");
    }
    assert!(shown.contains("ff_leases_lost_total") && shown.contains("ff_active"), "{shown:?}");
}

/// Times are the store's: the clock of the process has not moved.
#[tokio::test]
async fn waits_and_attempts_are_measured_by_the_time_of_the_store() {
    let server = Fixture::start().await;
    let (lane, namespace): (Lane, Namespace) = ("timed".parse().unwrap(), Namespace::default());
    let client = server.client();
    let submit = Submit { lane: lane.clone(), ..Submit::new(client.new_id(&namespace, None)) };
    client.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    server.clock.advance(Millis::from_secs(90));
    let take = ff_core::machine::ClaimRequest { lane, ..claim() };
    let held = client.claim(take, Millis::ZERO).await.unwrap().assignments.remove(0);
    let text = scraped(&server).await;
    assert!(text.contains("ff_active{lane=\"timed\"} 1\n"), "{text}");
    server.clock.advance(Millis::from_secs(7));
    let complete = Complete { hold: held.hold(), result: Default::default() };
    client.complete(vec![complete]).await.unwrap().remove(0).unwrap();
    let text = scraped(&server).await;
    for line in [
        "ff_queue_wait_seconds_bucket{lane=\"timed\",le=\"60\"} 0\n",
        "ff_queue_wait_seconds_bucket{lane=\"timed\",le=\"300\"} 1\n",
        "ff_queue_wait_seconds_sum{lane=\"timed\"} 90\n",
        "ff_attempt_seconds_sum{lane=\"timed\"} 7\n",
        "ff_finished_total{lane=\"timed\",kind=\"task\",outcome=\"completed\"} 1\n",
        "ff_leases_lost_total{lane=\"timed\"} 0\n",
        "ff_active{lane=\"timed\"} 0\n",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[tokio::test]
async fn waiting_work_is_counted_until_it_is_claimed() {
    let server = Fixture::start().await;
    let lane: Lane = "shown".parse().unwrap();
    let submit = Submit {
        lane: lane.clone(),
        ..Submit::new(server.store.new_id(&Default::default(), None))
    };
    server.store.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    server.clock.advance(Millis::from_secs(90));
    let text = scraped(&server).await;
    assert!(text.contains("ff_queue_depth{lane=\"shown\"} 1\n"), "{text}");
    assert!(text.contains("ff_queue_oldest_seconds{lane=\"shown\"} 90\n"), "{text}");
    let taken =
        server.store.claim(ff_core::machine::ClaimRequest { lane, ..claim() }, Millis::ZERO);
    assert_eq!(taken.await.unwrap().assignments.len(), 1);
    let text = scraped(&server).await;
    assert!(text.contains("ff_queue_depth{lane=\"shown\"} 0\n"), "{text}");
    assert!(text.contains("ff_queue_oldest_seconds{lane=\"shown\"} 0\n"), "{text}");
}

fn fail(held: &ff_core::machine::Assignment) -> ff_core::machine::Fail {
    let category = ff_core::Category::error();
    let failure = ff_core::state::Failure { category, retryable: true, message: "late".into() };
    ff_core::machine::Fail { hold: held.hold(), failure }
}
