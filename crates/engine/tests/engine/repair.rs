//! What an engine does without clients: timers and services repair everything that died processes
//! left.
//!
//! The store and the services run in one virtual time; the test only reads.

use std::sync::Arc;
use std::time::Duration;

use ff_backend_memory::{Faults, MemoryStore};
use ff_core::budget::{BudgetLimits, DimensionLimits, OnBreach};
use ff_core::limits::ExecutionLimits;
use ff_core::machine::{
    Action, AdmissionBatch, AdmissionRequest, Admit, Assignment, ClaimRequest, Complete, Home,
    NeedsAdmission, ReportUsage, Submit,
};
use ff_core::quota::QuotaLimits;
use ff_core::state::Worker;
use ff_core::{
    AdmissionId, Capabilities, Dimension, ExecutionId, Lane, Millis, Namespace, Payload,
    PublicState, ResourceKind, ResourceName,
};
use ff_engine::services::Services;
use ff_store::roles::{Engine, Registering};
use ff_store::{ClientBackend, LimitsBackend, ResourceScan, Store, WorkerBackend, audit, mint};
use ff_testkit::TokioClock;

/// Everything is repaired within this time.
const LIMIT: Duration = Duration::from_secs(300);

struct Fixture {
    backend: Engine<MemoryStore>,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture::seeded(7)
    }

    /// A store whose conflicts and pauses follow this seed.
    fn seeded(seed: u64) -> Fixture {
        let faults = Faults { seed, conflict_percent: 10, pause_percent: 50 };
        let store = MemoryStore::optimistic(Arc::new(TokioClock::start()), faults);
        Fixture { backend: Engine::new(store) }
    }

    async fn put_quota(&self, name: &str, most: u32) {
        let limits = QuotaLimits {
            max_requests: None,
            window: Millis::from_secs(1),
            max_active: Some(most),
            jitter: Millis::ZERO,
        };
        self.backend.put_quota(&Namespace::default(), &named(name), limits).await.unwrap();
    }

    async fn put_budget(&self, name: &str, hard: u64, period: Millis) {
        let limit = DimensionLimits { soft: None, hard: Some(hard) };
        let dimensions = [(tokens(), limit)].into();
        let limits = BudgetLimits { dimensions, period: Some(period), on_breach: OnBreach::Block };
        self.backend.put_budget(&Namespace::default(), &named(name), limits).await.unwrap();
    }

    async fn submit(&self, budgets: &[&str], quotas: &[&str]) -> ExecutionId {
        let names = |names: &[&str]| names.iter().map(|name| named(name)).collect();
        let limits = ExecutionLimits {
            budgets: names(budgets),
            quotas: names(quotas),
            ..ExecutionLimits::default()
        };
        let submit =
            Submit { limits, ..Submit::new(self.backend.new_id(&Namespace::default(), None)) };
        self.backend.submit(vec![submit]).await.unwrap().remove(0).unwrap().execution
    }

    async fn claim(&self) -> Vec<Assignment> {
        let claim = ClaimRequest {
            namespace: Namespace::default(),
            lane: Lane::default(),
            worker: worker(),
            capabilities: Capabilities::NONE,
            request: mint::request_id(),
            max: 100,
            retry: false,
        };
        self.backend.claim(claim, Millis::ZERO).await.unwrap().assignments
    }

    /// A process requests admission and dies before it claims.
    async fn request_and_die(&self, execution: ExecutionId) {
        let record = self.backend.store().record(execution).await.unwrap().unwrap();
        let id = AdmissionId { batch: mint::request_id(), index: 0 };
        let needs = NeedsAdmission::of(&record, false).unwrap();
        let requests = vec![AdmissionRequest { id, needs }];
        let home = Home { namespace: Namespace::default(), partitions: 1 };
        let batch = AdmissionBatch { requests, max: 1, reserved_for: Millis::ZERO };
        self.bare(Admit { home, settlements: Vec::new(), batches: vec![batch] }).await;
    }

    /// A process completes and dies before it settles.
    async fn complete_and_die(&self, held: &Assignment) {
        self.bare(Complete { hold: held.hold(), result: Payload::default() }).await;
        assert_eq!(self.backend.store().settlements().take().len(), 1);
    }

    async fn bare(&self, action: impl Into<Action>) {
        self.backend.store().execute(vec![mint::command(action)]).await.remove(0).unwrap();
    }

    async fn active(&self, quota: &str) -> u32 {
        self.backend.quota(&Namespace::default(), &named(quota)).await.unwrap().active
    }

    async fn state(&self, execution: ExecutionId) -> PublicState {
        self.backend.store().record(execution).await.unwrap().unwrap().public_state()
    }

    async fn resources(&self, kind: ResourceKind) -> usize {
        let namespace = Namespace::default();
        let scan = ResourceScan { namespace, kind, after: None, limit: 1_000 };
        self.backend.store().resources(scan).await.unwrap().len()
    }

    /// Runs this many engines until `right`, and then a while longer.
    async fn run(&self, engines: usize, right: impl AsyncFn(&Fixture) -> bool) {
        let all = (0..engines).map(|_| Services::new(Arc::new(self.backend.clone())).start());
        let all: Vec<_> = all.collect();
        let began = tokio::time::Instant::now();
        while !right(self).await {
            assert!(began.elapsed() < LIMIT, "the engine does not repair it");
            tokio::time::advance(Duration::from_millis(250)).await;
            tokio::task::yield_now().await;
        }
        for engine in all {
            engine.stop().await;
        }
        let report = audit::audit(self.backend.store().rows().await.unwrap()).await.unwrap();
        assert!(report.violations.is_empty(), "{:#?}", report.violations);
    }
}

fn named(name: &str) -> ResourceName {
    ResourceName::new(name).unwrap()
}

fn tokens() -> Dimension {
    Dimension::new("tokens").unwrap()
}

fn worker() -> Worker {
    Worker { id: "ada".parse().unwrap(), instance: "ada-1".parse().unwrap() }
}

#[tokio::test(start_paused = true)]
async fn an_unused_admission_is_released() {
    for engines in [1, 2] {
        let fixture = Fixture::new();
        fixture.put_quota("api", 1).await;
        let id = fixture.submit(&[], &["api"]).await;
        fixture.request_and_die(id).await;
        assert_eq!((fixture.active("api").await, fixture.claim().await.len()), (1, 0));
        fixture.run(engines, async |fixture| fixture.active("api").await == 0).await;
        assert_eq!(fixture.resources(ResourceKind::Ticket).await, 0);
        let held = fixture.claim().await;
        assert_eq!((held.len(), held[0].execution), (1, id), "of {engines} engines");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slot_whose_settlement_was_lost_goes_to_a_waiting_execution() {
    for engines in [1, 2] {
        let fixture = Fixture::new();
        fixture.put_quota("api", 1).await;
        fixture.submit(&[], &["api"]).await;
        let second = fixture.submit(&[], &["api"]).await;
        let held = fixture.claim().await;
        assert_eq!(fixture.state(second).await, PublicState::RateLimited);
        fixture.complete_and_die(&held[0]).await;
        assert_eq!(fixture.active("api").await, 1);
        fixture
            .run(engines, async |fixture| fixture.state(second).await == PublicState::Waiting)
            .await;
        let held = fixture.claim().await;
        assert_eq!((held.len(), held[0].execution), (1, second), "of {engines} engines");
        assert_eq!(fixture.active("api").await, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_expired_lease_frees_its_slot_for_a_waiting_execution() {
    for engines in [1, 2] {
        let fixture = Fixture::new();
        fixture.put_quota("api", 1).await;
        let first = fixture.submit(&[], &["api"]).await;
        let second = fixture.submit(&[], &["api"]).await;
        assert_eq!(fixture.claim().await.len(), 1);
        fixture
            .run(engines, async |fixture| {
                fixture.state(first).await != PublicState::Active
                    && fixture.state(second).await == PublicState::Waiting
            })
            .await;
        assert!(fixture.active("api").await <= 1, "of {engines} engines");
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_period_releases_waiting_executions() {
    for engines in [1, 2] {
        let fixture = Fixture::new();
        fixture.put_budget("team", 100, Millis::from_secs(60)).await;
        fixture.submit(&["team"], &[]).await;
        let held = fixture.claim().await;
        let report = ReportUsage {
            hold: held[0].hold(),
            key: "all".parse().unwrap(),
            amounts: [(tokens(), 100)].into(),
            release: false,
        };
        fixture.backend.report_usage(report).await.unwrap();
        let complete = Complete { hold: held[0].hold(), result: Payload::default() };
        fixture.backend.complete(vec![complete]).await.unwrap().remove(0).unwrap();
        let second = fixture.submit(&["team"], &[]).await;
        assert_eq!(fixture.claim().await.len(), 0);
        assert_eq!(fixture.state(second).await, PublicState::RateLimited);
        fixture
            .run(engines, async |fixture| fixture.state(second).await == PublicState::Waiting)
            .await;
        let budget = fixture.backend.budget(&Namespace::default(), &named("team")).await.unwrap();
        assert_eq!(budget.used.values().sum::<u64>(), 0, "of {engines} engines");
        assert_eq!(fixture.claim().await.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_worker_is_removed() {
    for engines in [1, 2] {
        let fixture = Fixture::new();
        let registering = Registering {
            namespace: Namespace::default(),
            worker: worker(),
            session: mint::request_id(),
            lanes: vec![Lane::default()],
            capabilities: Capabilities::NONE,
            ttl: Millis::from_secs(30),
        };
        fixture.backend.register(registering).await.unwrap();
        assert_eq!(fixture.resources(ResourceKind::Worker).await, 1);
        fixture
            .run(engines, async |fixture| fixture.resources(ResourceKind::Worker).await == 0)
            .await;
    }
}

/// What this many engines make of everything that can be left behind.
async fn outcome(seed: u64, engines: usize) -> Vec<String> {
    let fixture = Fixture::seeded(seed);
    fixture.put_quota("api", 2).await;
    fixture.put_quota("slots", 1).await;
    fixture.put_budget("team", 100, Millis::from_secs(60)).await;
    let mut ids = Vec::new();
    for (budgets, quotas) in [
        (&[][..], &["api"][..]),
        (&["team"], &["api"]),
        (&[], &["slots"]),
        (&["team"], &["slots", "api"]),
        (&[], &["slots"]),
    ] {
        ids.push(fixture.submit(budgets, quotas).await);
    }
    let held = fixture.claim().await;
    assert_eq!(held.len(), 3, "two run under api, one under slots");
    fixture.complete_and_die(&held[0]).await;
    fixture.request_and_die(ids[3]).await;
    fixture.run(engines, async |fixture| fixture.resources(ResourceKind::Ticket).await <= 2).await;
    // A worker that arrives later does the rest.
    let began = tokio::time::Instant::now();
    while !all_done(&fixture, &ids).await {
        assert!(began.elapsed() < LIMIT, "work waits without a reason");
        for held in fixture.claim().await {
            let complete = Complete { hold: held.hold(), result: Payload::default() };
            fixture.backend.complete(vec![complete]).await.unwrap().remove(0).unwrap();
        }
        let now = tokio::time::Instant::now();
        fixture.run(engines, async |_| now.elapsed() > Duration::from_secs(2)).await;
    }
    fixture.run(engines, async |fixture| fixture.resources(ResourceKind::Ticket).await == 0).await;
    let mut outcome = Vec::new();
    for id in ids {
        outcome.push(format!("{:?}", fixture.state(id).await));
    }
    for quota in ["api", "slots"] {
        outcome.push(format!("{quota} {}", fixture.active(quota).await));
    }
    let budget = fixture.backend.budget(&Namespace::default(), &named("team")).await.unwrap();
    outcome.push(format!("{:?} {:?}", budget.used, budget.reserved));
    outcome
}

async fn all_done(fixture: &Fixture, ids: &[ExecutionId]) -> bool {
    for id in ids {
        if fixture.state(*id).await != PublicState::Completed {
            return false;
        }
    }
    true
}

#[tokio::test(start_paused = true)]
async fn two_engines_at_once_give_the_same_as_one() {
    for seed in 0..20 {
        assert_eq!(outcome(seed, 2).await, outcome(seed, 1).await, "seed {seed}");
    }
}
