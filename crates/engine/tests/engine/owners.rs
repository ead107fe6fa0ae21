//! Several engines on a store with one partition: one of them acts, another takes over when it stops, dies
//! or freezes.
//!
//! Each engine has its own way to one store, on which a test sees it act and can freeze it. An engine that
//! stays frozen is a killed one. All of it runs in virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use ff_backend_memory::MemoryStore;
use ff_core::machine::{Command, Reply, Submit};
use ff_core::{ExecutionId, Millis, Partition, PublicState, When};
use ff_engine::services::Services;
use ff_engine::supervisor::Supervisor;
use ff_store::partition_set::{ENGINE_BEAT, ENGINE_TTL};
use ff_store::roles::Engine;
use ff_store::{DueCursor, DueTimers, EngineId, PartitionSet, Store, StoreError, mint};
use ff_testkit::{Forward, Forwarding, TokioClock};
use tokio::sync::watch;

/// How long two engines take at most to know each other.
const ACQUAINTED: Duration = Duration::from_secs(5);

/// How much time passes at once.
const STEP: Duration = Duration::from_millis(10);

/// Lets time pass; whatever is due then is done.
async fn pass(span: Duration) {
    let until = tokio::time::Instant::now() + span;
    while tokio::time::Instant::now() < until {
        tokio::time::advance(STEP).await;
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }
}

/// The way of one engine to the store.
struct Way {
    store: Arc<MemoryStore>,
    frozen: watch::Sender<bool>,
    /// How often it has read timers.
    scans: AtomicUsize,
}

impl Way {
    /// Waits as long as the engine is frozen.
    async fn thawed(&self) {
        let mut frozen = self.frozen.subscribe();
        frozen.wait_for(|frozen| !frozen).await.unwrap();
    }
}

#[async_trait]
impl Forward for Way {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    async fn execute(&self, batch: Vec<Command>) -> Vec<Result<Reply, StoreError>> {
        self.thawed().await;
        self.store.execute(batch).await
    }

    async fn due(
        &self,
        share: &PartitionSet,
        after: Option<DueCursor>,
        limit: usize,
    ) -> Result<DueTimers, StoreError> {
        self.thawed().await;
        self.scans.fetch_add(1, Ordering::SeqCst);
        self.store.due(share, after, limit).await
    }

    async fn engine_heartbeat(&self, engine: EngineId) -> Result<Vec<EngineId>, StoreError> {
        self.thawed().await;
        self.store.engine_heartbeat(engine).await
    }
}

/// One engine.
struct Process {
    way: Engine<Forwarding<Way>>,
    services: Supervisor,
}

impl Process {
    fn start(store: &Arc<MemoryStore>) -> Process {
        let (store, frozen) = (store.clone(), watch::Sender::new(false));
        let way = Engine::new(Forwarding(Way { store, frozen, scans: AtomicUsize::new(0) }));
        let services = Services::new(Arc::new(way.clone())).start();
        Process { way, services }
    }

    fn freeze(&self, frozen: bool) {
        self.way.store().frozen.send_replace(frozen);
    }

    fn take_scans(&self) -> usize {
        self.way.store().scans.swap(0, Ordering::SeqCst)
    }
}

fn store() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::serial(Arc::new(TokioClock::start())))
}

/// The one that acts, and the one that stands by.
async fn roles(processes: [Process; 2]) -> (Process, Process) {
    pass(ACQUAINTED).await;
    for process in &processes {
        process.take_scans();
    }
    pass(ACQUAINTED).await;
    let [one, other] = processes;
    match (one.take_scans(), other.take_scans()) {
        (1.., 0) => (one, other),
        (0, 1..) => (other, one),
        scans => panic!("not one of them acts: they read timers {scans:?} times"),
    }
}

/// How long an execution that may start at once after a delay of a millisecond waits for that.
async fn fired_after(store: &MemoryStore) -> Duration {
    let id = mint::execution_id(Partition::ONLY);
    let submit = Submit { start: When::After(Millis::new(1)), ..Submit::new(id) };
    store.execute(vec![mint::command(submit)]).await.remove(0).unwrap();
    let began = tokio::time::Instant::now();
    while state(store, id).await == PublicState::Delayed {
        assert!(began.elapsed() < ENGINE_TTL * 10, "no engine acts");
        pass(STEP).await;
    }
    began.elapsed()
}

async fn state(store: &MemoryStore, id: ExecutionId) -> PublicState {
    store.record(id).await.unwrap().unwrap().public_state()
}

#[tokio::test(start_paused = true)]
async fn of_two_engines_one_acts_and_learns_of_timers_at_once() {
    let store = store();
    let (owner, other) = roles([Process::start(&store), Process::start(&store)]).await;
    for _ in 0..10 {
        assert!(fired_after(&store).await < Duration::from_millis(100));
    }
    assert!(owner.take_scans() > 0);
    assert_eq!(other.take_scans(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_other_acts_at_once_when_the_owner_stops() {
    let store = store();
    let (owner, other) = roles([Process::start(&store), Process::start(&store)]).await;
    owner.services.stop().await;
    assert!(fired_after(&store).await < Duration::from_millis(100));
    assert!(other.take_scans() > 0);
}

#[tokio::test(start_paused = true)]
async fn the_other_acts_soon_after_the_owner_was_killed() {
    let store = store();
    let (owner, other) = roles([Process::start(&store), Process::start(&store)]).await;
    owner.freeze(true);
    assert!(fired_after(&store).await <= ENGINE_TTL + ENGINE_BEAT);
    assert!(fired_after(&store).await < Duration::from_millis(100));
    assert!(other.take_scans() > 0);
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_was_frozen_comes_back_beside_the_other() {
    let store = store();
    let (owner, other) = roles([Process::start(&store), Process::start(&store)]).await;
    owner.freeze(true);
    fired_after(&store).await;
    owner.freeze(false);
    let (owner, _) = roles([owner, other]).await;
    assert!(fired_after(&store).await < Duration::from_millis(100));
    assert!(owner.take_scans() > 0);
}
