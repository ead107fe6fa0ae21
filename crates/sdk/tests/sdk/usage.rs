//! What holders report to budgets, and which executions wait for budgets and quotas.

use std::sync::Arc;
use std::time::Duration;

use ff_core::budget::{BudgetLimits, DimensionLimits, OnBreach};
use ff_core::limits::Amounts;
use ff_core::machine::Cancel;
use ff_core::quota::QuotaLimits;
use ff_core::{Code, Dimension, Millis, Payload, PublicState};
use ff_sdk::{ClaimedTask, Client, FlowFabricWorker, Json, TaskContext, TaskError, WorkerConfig};
use ff_store::ClientAndWorker;
use ff_testkit::proxy::{Mode, Proxy};
use ff_testkit::wait::until_async;
use tokio::time::timeout;

use crate::fixture::Fixture;
use crate::fixture::served::Served;

const MINUTE: Duration = Duration::from_secs(60);

fn hard(tokens: u64) -> BudgetLimits {
    let limit = DimensionLimits { soft: None, hard: Some(tokens) };
    let dimensions = [(Dimension::new("tokens").unwrap(), limit)].into();
    BudgetLimits { dimensions, period: None, on_breach: OnBreach::Block }
}

fn tokens(amounts: &Amounts) -> u64 {
    amounts.values().sum()
}

/// A task that spends from budget `team`, in the hands of a worker.
async fn spending(client: &Client, worker: &FlowFabricWorker) -> ClaimedTask {
    client.put_budget("team", hard(1_000)).await.unwrap();
    client.task("think").unwrap().budget("team").unwrap().send().await.unwrap();
    worker.claim_next().await.unwrap().unwrap()
}

async fn used(client: &Client) -> u64 {
    tokens(&client.budget("team").await.unwrap().used)
}

/// What holds in process and over HTTP alike.
async fn a_report_counts_once_and_can_be_taken_back(backend: Arc<dyn ClientAndWorker>) {
    let client = Client::new(backend.clone());
    let config = WorkerConfig::new(backend, "tester".parse().unwrap());
    let worker = FlowFabricWorker::connect(config).await.unwrap();
    let task = spending(&client, &worker).await;
    let all = task.report_usage("prompt", &[("tokens", 30)]).await.unwrap();
    assert_eq!(tokens(&all), 30);
    let again = task.report_usage("prompt", &[("tokens", 30)]).await.unwrap();
    assert_eq!(tokens(&again), 30, "the same report again changes nothing");
    let other = task.report_usage("prompt", &[("tokens", 31)]).await.unwrap_err();
    assert_eq!(other.refused(), Some(Code::IdempotencyConflict));
    let all = task.report_usage("answer", &[("tokens", 10), ("tokens", 2)]).await.unwrap();
    assert_eq!((tokens(&all), used(&client).await), (42, 42));
    let left = task.release_usage("cached", &[("tokens", 12)]).await.unwrap();
    assert_eq!((tokens(&left), used(&client).await), (30, 30));
    let too_much = task.release_usage("all", &[("tokens", 31)]).await.unwrap_err();
    assert_eq!(too_much.refused(), Some(Code::InvalidArgument));
    let unknown = task.report_usage("euros", &[("euros", 1)]).await.unwrap_err();
    assert_eq!(unknown.refused(), Some(Code::InvalidArgument));
    let execution = task.assignment().execution;
    task.complete(Payload::default()).await.unwrap();
    let described = client.describe(execution).await.unwrap();
    assert_eq!((tokens(&described.used), used(&client).await), (30, 30));
}

#[tokio::test(start_paused = true)]
async fn a_report_counts_once_in_process() {
    let fixture = Fixture::start();
    a_report_counts_once_and_can_be_taken_back(fixture.backend.clone()).await;
}

#[tokio::test]
async fn a_report_counts_once_over_http() {
    let server = Served::start().await;
    a_report_counts_once_and_can_be_taken_back(server.client(server.address.port())).await;
}

#[tokio::test]
async fn a_report_whose_reply_is_lost_is_repeated_and_counts_once() {
    let server = Served::start().await;
    let proxy = Proxy::to(server.address.port());
    let client = Client::new(server.client(server.address.port()));
    let config = WorkerConfig::new(server.client(proxy.port()), "tester".parse().unwrap());
    let worker = FlowFabricWorker::connect(config).await.unwrap();
    let task = spending(&client, &worker).await;
    let connections = proxy.accepted();
    proxy.set_at("/usage", Mode::CutAfterRequest);
    let report = task.report_usage("answer", &[("tokens", 30)]);
    // The usage is charged, and the reply was lost.
    let restored = async {
        let charged = async || (used(&client).await == 30).then_some(());
        until_async(MINUTE, charged).await.unwrap();
        let cut = async || (proxy.accepted() > connections).then_some(());
        until_async(MINUTE, cut).await.unwrap();
        proxy.set(Mode::Forward);
    };
    let (all, ()) = tokio::join!(report, restored);
    assert_eq!(tokens(&all.unwrap()), 30);
    let all = task.report_usage("more", &[("tokens", 1)]).await.unwrap();
    assert_eq!((tokens(&all), used(&client).await), (31, 31));
    task.complete(Payload::default()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_holder_whose_lease_has_ended_charges_nothing() {
    let fixture = Fixture::start();
    let client = Client::new(fixture.backend.clone());
    let worker = fixture.worker().await;
    let task = spending(&client, &worker).await;
    let target = task.hold().target;
    fixture.backend.cancel(Cancel { target, grace: None, reason: None }).await.unwrap();
    let refused = task.report_usage("late", &[("tokens", 30)]).await.unwrap_err();
    assert_eq!(refused.refused(), Some(Code::Cancelled));
    assert_eq!(used(&client).await, 0);
}

async fn think(task: TaskContext, Json(tokens): Json<u64>) -> Result<Json<u64>, TaskError> {
    task.report_usage("thinking", &[("tokens", tokens + 5)]).await?;
    let used = task.release_usage("unused", &[("tokens", 5)]).await?;
    Ok(Json(used.values().sum()))
}

#[tokio::test(start_paused = true)]
async fn a_full_budget_keeps_work_from_handlers_until_it_is_reset() {
    let fixture = Fixture::start();
    let client = Client::new(fixture.backend.clone());
    client.put_budget("team", hard(100)).await.unwrap();
    let running = fixture.runtime().on("think", think).unwrap();
    let running = running.start().await.unwrap();
    let ask = async |tokens: u64| {
        let task = client.task("think").unwrap().budget("team").unwrap();
        task.input(&tokens).unwrap().send().await.unwrap().execution
    };
    let first = ask(100).await;
    assert_eq!(client.wait::<u64>(first).await.unwrap(), 100);
    let second = ask(7).await;
    let blocked = async || {
        let why = client.explain(second).await.unwrap();
        (why.state == PublicState::RateLimited).then_some(why)
    };
    let why = until_async(MINUTE, blocked).await.unwrap();
    assert!(why.sentence.contains("100 of 100 tokens"), "{}", why.sentence);
    client.reset_budget("team").await.unwrap();
    let answer = timeout(MINUTE, client.wait::<u64>(second)).await.unwrap().unwrap();
    assert_eq!((answer, used(&client).await), (7, 7));
    running.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_task_frees_its_slot_and_its_reservation() {
    let fixture = Fixture::start();
    let client = Client::new(fixture.backend.clone());
    client.put_budget("team", hard(100)).await.unwrap();
    let one_at_once = QuotaLimits {
        max_requests: None,
        window: Millis::from_secs(1),
        max_active: Some(1),
        jitter: Millis::ZERO,
    };
    client.put_quota("slots", one_at_once).await.unwrap();
    for _ in 0..2 {
        let task = client.task("think").unwrap().budget("team").unwrap().quota("slots").unwrap();
        task.estimate(&[("tokens", 80)]).unwrap().send().await.unwrap();
    }
    let worker = FlowFabricWorker::connect(WorkerConfig { concurrency: 2, ..fixture.config() })
        .await
        .unwrap();
    let tasks = worker.claim_many(2).await.unwrap();
    assert_eq!(tasks.len(), 1);
    assert_eq!(client.quota("slots").await.unwrap().active, 1);
    assert_eq!(tokens(&client.budget("team").await.unwrap().reserved), 80);
    drop(tasks);
    let task = timeout(MINUTE, worker.claim_next()).await.unwrap().unwrap().unwrap();
    assert_eq!(client.quota("slots").await.unwrap().active, 1);
    assert_eq!(tokens(&client.budget("team").await.unwrap().reserved), 80);
    task.complete(Payload::default()).await.unwrap();
}
