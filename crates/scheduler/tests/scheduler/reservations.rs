//! What the scheduler reserves, and what it leaves alone.

use std::sync::Arc;
use std::time::Duration;

use ff_backend_memory::MemoryStore;
use ff_core::limits::ExecutionLimits;
use ff_core::machine::{GrantOffer, Submit, Target};
use ff_core::quota::QuotaLimits;
use ff_core::state::Worker;
use ff_core::{
    Capabilities, Code, ExecutionId, Lane, Millis, Namespace, PublicState, ResourceName,
};
use ff_scheduler::{Scheduler, SchedulerConfig, SchedulerError};
use ff_store::roles::Engine;
use ff_store::{ClientBackend, EngineBackend, LimitsBackend, MaintenanceBackend, PartitionSet};
use ff_testkit::ManualClock;

const TTL: Millis = Millis::from_secs(5);

struct Fixture {
    store: Engine<MemoryStore>,
    clock: ManualClock,
    scheduler: Scheduler,
}

impl Fixture {
    fn new() -> Fixture {
        let clock = ManualClock::default();
        let store = Engine::new(MemoryStore::serial(Arc::new(clock.clone())));
        let backend: Arc<dyn EngineBackend> = Arc::new(store.clone());
        let scheduler = Scheduler::new(backend, SchedulerConfig::default()).unwrap();
        Fixture { store, clock, scheduler }
    }

    async fn submit(&self, change: impl FnOnce(&mut Submit)) -> ExecutionId {
        let mut submit = Submit::new(self.store.new_id(&Namespace::default(), None));
        change(&mut submit);
        self.store.submit(vec![submit]).await.unwrap().remove(0).unwrap().execution
    }

    /// At most one at a time.
    async fn one_at_a_time(&self, quota: &str) {
        let limits = QuotaLimits {
            max_requests: None,
            window: Millis::from_secs(60),
            max_active: Some(1),
            jitter: Millis::ZERO,
        };
        self.store.put_quota(&Namespace::default(), &name(quota), limits).await.unwrap();
    }

    async fn active(&self, quota: &str) -> u32 {
        self.store.quota(&Namespace::default(), &name(quota)).await.unwrap().active
    }

    async fn grant(&self, offers: &[&str]) -> Option<GrantOffer> {
        let offers = Capabilities::new(offers).unwrap();
        let (namespace, lane) = (Namespace::default(), Lane::default());
        self.scheduler.claim_for_worker(&namespace, &lane, &ada(), &offers, TTL).await.unwrap()
    }

    async fn state(&self, execution: ExecutionId) -> PublicState {
        let target = Target { namespace: Namespace::default(), execution };
        self.store.describe(&target).await.unwrap().public_state()
    }

    /// Fires due timers.
    async fn pass(&self, span: Millis) {
        self.clock.advance(span);
        for _ in 0..10 {
            let timers = self.store.due(&PartitionSet::All, None, 100).await.unwrap();
            let ids: Vec<_> = timers.due.iter().map(|(_, id)| *id).collect();
            if !ids.is_empty() {
                self.store.tick(ids).await.unwrap();
            }
            for key in timers.resources {
                self.store.tick_resource(key).await.unwrap();
            }
        }
    }
}

fn name(text: &str) -> ResourceName {
    ResourceName::new(text).unwrap()
}

fn ada() -> Worker {
    Worker { id: "ada".parse().unwrap(), instance: "ada-1".parse().unwrap() }
}

fn under(quota: &str) -> ExecutionLimits {
    ExecutionLimits { quotas: [name(quota)].into(), ..ExecutionLimits::default() }
}

#[tokio::test]
async fn a_grant_takes_work_out_of_its_queue_and_becomes_a_lease() {
    let fixture = Fixture::new();
    assert_eq!(fixture.grant(&[]).await, None);
    let id = fixture.submit(|_| ()).await;
    let grant = fixture.grant(&[]).await.unwrap();
    assert_eq!((grant.execution, grant.reclaim), (id, false));
    assert_eq!(fixture.grant(&[]).await, None);
    let namespace = Namespace::default();
    let held = fixture.scheduler.claim_from_grant(&namespace, &ada(), &grant).await.unwrap();
    assert_eq!(held.execution, id);
}

#[tokio::test]
async fn an_unused_grant_returns_its_work_and_frees_its_slot() {
    let fixture = Fixture::new();
    fixture.one_at_a_time("api").await;
    let id = fixture.submit(|submit| submit.limits = under("api")).await;
    let stale = fixture.grant(&[]).await.unwrap();
    assert_eq!(fixture.active("api").await, 1);
    fixture.pass(TTL).await;
    fixture.pass(ff_core::machine::TICKET_TTL).await;
    assert_eq!(fixture.active("api").await, 0);
    let namespace = Namespace::default();
    let used = fixture.scheduler.claim_from_grant(&namespace, &ada(), &stale).await;
    let Err(SchedulerError::Store(error)) = used else { panic!("a stale grant was used") };
    assert_eq!(error.refused(), Some(Code::StaleGrant));
    assert_eq!(fixture.grant(&[]).await.unwrap().execution, id);
}

#[tokio::test]
async fn work_that_the_worker_cannot_run_takes_no_slot() {
    let fixture = Fixture::new();
    fixture.one_at_a_time("api").await;
    fixture
        .submit(|submit| {
            submit.requires = Capabilities::new(["gpu"]).unwrap();
            submit.limits = under("api");
            submit.priority = 9;
        })
        .await;
    let plain = fixture.submit(|submit| submit.limits = under("api")).await;
    assert_eq!(fixture.grant(&[]).await.unwrap().execution, plain);
    assert_eq!(fixture.active("api").await, 1);
}

#[tokio::test]
async fn an_execution_refused_by_a_quota_waits_and_the_next_is_tried() {
    let fixture = Fixture::new();
    fixture.one_at_a_time("api").await;
    let first = fixture.submit(|submit| submit.limits = under("api")).await;
    let second = fixture.submit(|submit| submit.limits = under("api")).await;
    let plain = fixture.submit(|_| ()).await;
    assert_eq!(fixture.grant(&[]).await.unwrap().execution, first);
    assert_eq!(fixture.grant(&[]).await.unwrap().execution, plain);
    assert_eq!(fixture.state(second).await, PublicState::RateLimited);
    assert_eq!(fixture.active("api").await, 1);
}

#[tokio::test]
async fn work_that_its_holder_lost_is_granted_as_a_reclaim() {
    let fixture = Fixture::new();
    let id = fixture.submit(|submit| submit.policy.lease_ttl = Some(Millis::from_secs(1))).await;
    let (namespace, grant) = (Namespace::default(), fixture.grant(&[]).await.unwrap());
    assert!(!grant.reclaim);
    fixture.scheduler.claim_from_grant(&namespace, &ada(), &grant).await.unwrap();
    fixture.pass(Millis::from_secs(2)).await;
    let again = fixture.grant(&[]).await.unwrap();
    assert!(again.reclaim);
    let held = fixture.scheduler.claim_from_grant(&namespace, &ada(), &again).await.unwrap();
    assert_eq!((held.execution, held.fence.attempt), (id, 1));
}

#[test]
fn by_default_32_partitions_are_scanned_every_250_ms() {
    let config = SchedulerConfig::default();
    assert_eq!(config.max_partitions_per_scan, 32);
    assert_eq!(config.rotation_window, Duration::from_millis(250));
}

#[tokio::test]
async fn a_scheduler_that_could_find_nothing_is_refused() {
    let fixture = Fixture::new();
    let backend: Arc<dyn EngineBackend> = Arc::new(fixture.store.clone());
    let config = SchedulerConfig { max_partitions_per_scan: 0, ..SchedulerConfig::default() };
    let refused = Scheduler::new(backend, config).unwrap_err();
    assert!(matches!(refused, SchedulerError::Config(_)) && !refused.is_retryable());
}
