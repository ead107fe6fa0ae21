//! Scanners: executions whose limit has capacity are released; violations are reported.

mod audit;
mod broken;
mod timers;

use std::sync::Arc;
use std::time::Duration;

use broken::Broken;
use ff_backend_memory::{Faults, MemoryStore};
use ff_core::budget::{BudgetLimits, DimensionLimits, OnBreach};
use ff_core::limits::ExecutionLimits;
use ff_core::machine::{Action, ClaimRequest, PutBudget, PutQuota, Submit};
use ff_core::placement::AdmissionClass;
use ff_core::quota::QuotaLimits;
use ff_core::state::Worker;
use ff_core::{
    Capabilities, Dimension, ExecutionId, Lane, Millis, Namespace, ResourceKey, ResourceKind,
    ResourceName,
};
use ff_engine::scanner::{Scanned, Scanner, Scanning};
use ff_engine::services::Services;
use ff_engine::unblock::UnblockScanner;
use ff_store::roles::Engine;
use ff_store::{BlockedScan, ClientBackend, PartitionSet, Store, WorkerBackend, mint};
use ff_testkit::ManualClock;

const HOUR: Duration = Duration::from_secs(3_600);

fn memory() -> MemoryStore {
    MemoryStore::serial(Arc::new(ManualClock::default()))
}

fn named(name: &str) -> ResourceName {
    ResourceName::new(name).unwrap()
}

fn key<S: Store>(backend: &Engine<S>, kind: ResourceKind, name: &str) -> ResourceKey {
    let partitions = backend.store().partitions();
    ResourceKey::at_home(kind, &Namespace::default(), &named(name), partitions)
}

/// Runs a command and none of its effects, like a process that dies after it.
async fn bare<S: Store>(backend: &Engine<S>, action: impl Into<Action>) {
    backend.store().execute(vec![mint::command(action)]).await.remove(0).unwrap();
}

async fn bare_budget<S: Store>(backend: &Engine<S>, name: &str) {
    let limit = DimensionLimits { soft: None, hard: Some(100) };
    let dimensions = [(Dimension::new("tokens").unwrap(), limit)].into();
    let limits = BudgetLimits { dimensions, period: None, on_breach: OnBreach::Block };
    bare(backend, PutBudget { key: key(backend, ResourceKind::Budget, name), limits }).await;
}

async fn bare_quota<S: Store>(backend: &Engine<S>, name: &str, max_active: u32) {
    let limits = QuotaLimits {
        max_requests: None,
        window: Millis::from_secs(1),
        max_active: Some(max_active),
        jitter: Millis::ZERO,
    };
    bare(backend, PutQuota { key: key(backend, ResourceKind::Quota, name), limits }).await;
}

/// Executions that wait for a budget or a quota that does not exist.
async fn waiting<S: Store>(backend: &Engine<S>, limits: ExecutionLimits, count: usize) {
    let all = blocked(backend).await + count;
    for _ in 0..count {
        let id = backend.new_id(&Namespace::default(), None);
        let submit = Submit { limits: limits.clone(), ..Submit::new(id) };
        backend.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    }
    while blocked(backend).await < all {
        assert!(claimed(backend).await.is_empty());
    }
}

/// How many executions are blocked.
async fn blocked<S: Store>(backend: &Engine<S>) -> usize {
    let mut count = 0;
    for (namespace, on) in backend.store().blockers(&PartitionSet::All, None, 1_000).await.unwrap()
    {
        let from = AdmissionClass::FIRST;
        let scan = BlockedScan { namespace, on, from, classes: 100, each: 1_000 };
        let found = backend.store().blocked(scan).await.unwrap();
        count += found.iter().map(|class| class.first.len()).sum::<usize>();
    }
    count
}

fn spends_from(budget: &str) -> ExecutionLimits {
    ExecutionLimits { budgets: [named(budget)].into(), ..ExecutionLimits::default() }
}

fn counts_against(quota: &str) -> ExecutionLimits {
    ExecutionLimits { quotas: [named(quota)].into(), ..ExecutionLimits::default() }
}

/// All executions that can be claimed.
async fn claimed<S: Store>(backend: &Engine<S>) -> Vec<ExecutionId> {
    let claim = ClaimRequest {
        namespace: Namespace::default(),
        lane: Lane::default(),
        worker: Worker { id: "ada".parse().unwrap(), instance: "ada-1".parse().unwrap() },
        capabilities: Capabilities::NONE,
        request: mint::request_id(),
        max: 100,
        retry: false,
    };
    let claimed = backend.claim(claim, Millis::ZERO).await.unwrap();
    claimed.assignments.into_iter().map(|assignment| assignment.execution).collect()
}

fn scanning<S: Store>(backend: &Engine<S>) -> Scanning<UnblockScanner> {
    Scanning::new(UnblockScanner::default(), Arc::new(backend.clone()))
}

#[tokio::test]
async fn one_cycle_releases_executions_blocked_on_a_budget_with_capacity() {
    let backend = Engine::new(memory());
    waiting(&backend, spends_from("team"), 3).await;
    let scanning = scanning(&backend);
    let none = Scanned { processed: 1, changed: 0, errors: 0 };
    assert_eq!(scanning.run_once().await.unwrap(), none, "there is no such budget yet");
    bare_budget(&backend, "team").await;
    assert!(claimed(&backend).await.is_empty(), "nothing was released yet");
    let one = Scanned { processed: 1, changed: 1, errors: 0 };
    assert_eq!(scanning.run_once().await.unwrap(), one);
    assert_eq!(claimed(&backend).await.len(), 3);
    assert_eq!(scanning.run_once().await.unwrap(), Scanned::default(), "nothing waits any more");
}

#[tokio::test]
async fn one_cycle_fills_the_slots_of_a_quota_and_no_more() {
    let backend = Engine::new(memory());
    waiting(&backend, counts_against("api"), 5).await;
    bare_quota(&backend, "api", 2).await;
    let scanning = scanning(&backend);
    let one = Scanned { processed: 1, changed: 1, errors: 0 };
    assert_eq!(scanning.run_once().await.unwrap(), one);
    assert_eq!(claimed(&backend).await.len(), 2);
    let none = Scanned { processed: 1, changed: 0, errors: 0 };
    assert_eq!(scanning.run_once().await.unwrap(), none, "its slots are taken");
}

#[tokio::test]
async fn an_unreadable_budget_keeps_only_its_executions_blocked() {
    let store = Broken::new(memory(), "broken");
    let backend = Engine::new(store);
    for budget in ["able", "broken", "capable"] {
        waiting(&backend, spends_from(budget), 2).await;
        bare_budget(&backend, budget).await;
    }
    backend.store().fail(true);
    let scanning = scanning(&backend);
    let scanned = scanning.run_once().await.unwrap();
    assert_eq!(scanned, Scanned { processed: 3, changed: 2, errors: 1 });
    assert_eq!(claimed(&backend).await.len(), 4);
    assert_eq!(blocked(&backend).await, 2, "an error is not capacity");
    backend.store().fail(false);
    let one = Scanned { processed: 1, changed: 1, errors: 0 };
    assert_eq!(scanning.run_once().await.unwrap(), one);
    assert_eq!(claimed(&backend).await.len(), 2);
}

#[tokio::test]
async fn two_processes_at_once_release_the_same_as_one() {
    for seed in 0..50 {
        let clock = Arc::new(ManualClock::default());
        let faults = Faults { seed, conflict_percent: 10, pause_percent: 50 };
        let backend = Engine::new(MemoryStore::optimistic(clock, faults));
        waiting(&backend, spends_from("team"), 4).await;
        waiting(&backend, counts_against("api"), 8).await;
        bare_budget(&backend, "team").await;
        bare_quota(&backend, "api", 5).await;
        // Each still believes that all of it is its own.
        let (one, other) = (UnblockScanner::default(), UnblockScanner::default());
        let all = PartitionSet::All;
        let scans = tokio::join!(one.scan(&backend, &all), other.scan(&backend, &all));
        let errors = scans.0.unwrap().errors + scans.1.unwrap().errors;
        assert_eq!(errors, 0, "seed {seed}");
        assert_eq!(claimed(&backend).await.len(), 4 + 5, "seed {seed}");
        let found = backend.store().resource(&key(&backend, ResourceKind::Quota, "api")).await;
        let quota = found.unwrap().unwrap();
        assert_eq!(quota.as_quota().unwrap().active, 5, "seed {seed}");
        let report = ff_store::audit::audit(backend.store().rows().await.unwrap()).await.unwrap();
        assert!(report.violations.is_empty(), "seed {seed}: {:?}", report.violations);
    }
}

#[tokio::test(start_paused = true)]
async fn the_services_of_a_process_scan_periodically() {
    let backend = Engine::new(memory());
    waiting(&backend, spends_from("team"), 1).await;
    bare_budget(&backend, "team").await;
    let services = Services::new(Arc::new(backend.clone())).start();
    let started = tokio::time::Instant::now();
    while claimed(&backend).await.is_empty() {
        assert!(started.elapsed() < HOUR, "nothing scans");
        tokio::time::advance(Duration::from_millis(100)).await;
    }
    services.stop().await;
}
