//! The outcome is the same without announcements: they save time and nothing else.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use ff_backend_memory::MemoryStore;
use ff_conformance::WithoutWakeups;
use ff_core::budget::{BudgetLimits, DimensionLimits, OnBreach};
use ff_core::limits::ExecutionLimits;
use ff_core::machine::{Assignment, ClaimRequest, Complete, Fail, ReportUsage, Submit};
use ff_core::policy::{Backoff, Policy, Retry};
use ff_core::quota::QuotaLimits;
use ff_core::state::{Failure, State, Worker};
use ff_core::{
    Capabilities, Category, Dimension, ExecutionId, IdempotencyKey, Lane, Millis, Namespace,
    Partition, Payload, Resource, ResourceKind, Time,
};
use ff_engine::services::Services;
use ff_store::roles::Engine;
use ff_store::{EngineBackend, ResourceScan, Store, mint};
use ff_testkit::TokioClock;
use tokio::runtime::Builder;
use tokio::time::Instant;

use super::fixture::{named, sum, tokens};
use super::hold;

/// Everything is done within this time, by the clock of the store.
const LIMIT: Duration = Duration::from_secs(3_600);

/// How long a worker waits for work.
const WAIT: Millis = Millis::from_secs(5);

/// The outcome of every execution, and of its limits.
type Outcome = Vec<String>;

fn places(most: u32) -> QuotaLimits {
    let window = Millis::from_secs(1);
    QuotaLimits { max_requests: None, window, max_active: Some(most), jitter: Millis::ZERO }
}

fn starts(most: u32) -> QuotaLimits {
    let window = Millis::from_secs(2);
    QuotaLimits { max_requests: Some(most), window, max_active: None, jitter: Millis::ZERO }
}

fn budget(hard: Option<u64>, period: Option<Millis>) -> BudgetLimits {
    let limits = DimensionLimits { soft: None, hard };
    let dimensions = [(Dimension::new("tokens").unwrap(), limits)].into();
    BudgetLimits { dimensions, period, on_breach: OnBreach::Block }
}

/// Submits random work under random limits.
async fn submit(rng: &mut Rng, backend: &dyn EngineBackend) -> Vec<ExecutionId> {
    let namespace = Namespace::default();
    for (name, limits) in [("places", places(rng.u32(1..3))), ("starts", starts(rng.u32(1..4)))] {
        backend.put_quota(&namespace, &named(name), limits).await.unwrap();
    }
    let period = Some(Millis::from_secs(10));
    for (name, limits) in [("all", budget(None, None)), ("some", budget(Some(9), period))] {
        backend.put_budget(&namespace, &named(name), limits).await.unwrap();
    }
    let mut ids = Vec::new();
    for number in 0..12 {
        let some = |rng: &mut Rng, names: [&str; 2]| {
            names.into_iter().filter(|_| rng.bool()).map(named).collect()
        };
        let mut limits = ExecutionLimits {
            budgets: some(rng, ["all", "some"]),
            quotas: some(rng, ["places", "starts"]),
            estimate: tokens(rng.u64(1..5)),
        };
        if limits.budgets.is_empty() {
            limits.estimate.clear();
        }
        let backoff = Backoff::fixed(Millis::new(300));
        let retry = Retry { max_attempts: 3, backoff, categories: None };
        let policy = Policy { retry, ..Policy::default() };
        let start = Time::from_ms(1_700_000_000_000);
        let id = ExecutionId::mint(start, Partition::ONLY, number, 0);
        let submit = Submit { limits, policy: policy.into(), ..Submit::new(id) };
        backend.submit(vec![submit]).await.unwrap().remove(0).unwrap();
        ids.push(id);
    }
    ids
}

/// What a worker does with its work: the first attempt of some fails.
async fn work(backend: &dyn EngineBackend, held: Assignment) {
    let bytes = held.execution.as_bytes();
    let flaky = bytes.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte)) % 3 == 0;
    let target = held.hold().target;
    let limits = backend.describe(&target).await.unwrap().spec.limits.clone();
    if !limits.budgets.is_empty() {
        let key = IdempotencyKey::new(format!("attempt-{}", held.fence.attempt)).unwrap();
        let amounts = limits.estimate;
        let report = ReportUsage { hold: held.hold(), key, amounts, release: false };
        backend.report_usage(report).await.unwrap();
    }
    if flaky && held.fence.attempt == 0 {
        let failure =
            Failure { category: Category::error(), retryable: true, message: "again".into() };
        backend.fail(Fail { hold: held.hold(), failure }).await.unwrap();
    } else {
        let complete = Complete { hold: held.hold(), result: Payload::default() };
        backend.complete(vec![complete]).await.unwrap().remove(0).unwrap();
    }
}

/// A worker claims one after the other until all is done.
async fn serve(backend: Arc<dyn EngineBackend>, ids: Vec<ExecutionId>, began: Instant) {
    loop {
        assert!(began.elapsed() < LIMIT, "work waits without a reason");
        let claim = ClaimRequest {
            namespace: Namespace::default(),
            lane: Lane::default(),
            worker: Worker { id: "ada".parse().unwrap(), instance: "ada-1".parse().unwrap() },
            capabilities: Capabilities::NONE,
            request: mint::request_id(),
            max: 1,
            retry: false,
        };
        for held in backend.claim(claim, WAIT).await.unwrap().assignments {
            work(&*backend, held).await;
        }
        let mut left = false;
        for execution in &ids {
            let target =
                ff_core::machine::Target { namespace: Namespace::default(), execution: *execution };
            left |=
                !matches!(backend.describe(&target).await.unwrap().state, State::Finished { .. });
        }
        if !left {
            return;
        }
    }
}

/// The outcome of the work.
async fn outcome(seed: u64, without_wakeups: bool) -> Outcome {
    let plain = Engine::new(MemoryStore::serial(Arc::new(TokioClock::start())));
    let store = plain.store().clone();
    let backend: Arc<dyn EngineBackend> = match without_wakeups {
        true => Arc::new(Engine::new(WithoutWakeups::over(store.clone()))),
        false => Arc::new(plain),
    };
    let ids = submit(&mut Rng::with_seed(seed), &*backend).await;
    let services = Services::new(backend.clone()).start();
    let began = Instant::now();
    let workers = (0..2).map(|_| tokio::spawn(serve(backend.clone(), ids.clone(), began)));
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
    // A settlement without an announcement is made by the timer of its ticket.
    while !tickets(&*store).await.is_empty() {
        assert!(began.elapsed() < LIMIT, "a ticket is never released");
        tokio::time::advance(Duration::from_millis(500)).await;
        tokio::task::yield_now().await;
    }
    services.stop().await;
    let mut outcome = Vec::new();
    for id in ids {
        let record = store.record(id).await.unwrap().unwrap();
        let attempt = record.attempt.as_ref().map(|attempt| attempt.number);
        outcome.push(format!("{:?} {attempt:?} {:?}", record.public_state(), record.used));
    }
    let namespace = Namespace::default();
    for name in ["places", "starts"] {
        let active = backend.quota(&namespace, &named(name)).await.unwrap().active;
        outcome.push(format!("{name} {active}"));
    }
    for name in ["all", "some"] {
        let budget = backend.budget(&namespace, &named(name)).await.unwrap();
        outcome.push(format!("{name} {}", sum(&budget.reserved)));
    }
    let all = backend.budget(&namespace, &named("all")).await.unwrap();
    outcome.push(format!("all {}", sum(&all.used)));
    outcome
}

/// All tickets.
async fn tickets(store: &dyn Store) -> Vec<Resource> {
    let (namespace, kind) = (Namespace::default(), ResourceKind::Ticket);
    store.resources(ResourceScan { namespace, kind, after: None, limit: 100 }).await.unwrap()
}

#[test]
fn the_outcome_is_the_same_without_announcements() {
    hold(60, |seed| {
        let run = |without_wakeups| {
            let runtime = Builder::new_current_thread().enable_all().start_paused(true).build();
            runtime.unwrap().block_on(outcome(seed, without_wakeups))
        };
        let (announced, silent) = (run(false), run(true));
        assert_eq!(announced, silent);
        announced.iter().filter(|line| line.starts_with("Completed")).count() as u64
    });
}
