//! The engine runs the continuations that dead processes have left.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use ff_backend_memory::MemoryStore;
use ff_core::collection::{Collection, ElementRange};
use ff_core::continuation::{ContinuationKind, TAKEOVER};
use ff_core::machine::{Action, Command, Continue, Reply, Submit, Target, ToyLater};
use ff_core::{ExecutionId, Namespace, Partition};
use ff_engine::timers::{Options, Report, Timers};
use ff_store::roles::Engine;
use ff_store::{Store, StoreError, mint};
use ff_testkit::{Forward, Forwarding, ManualClock};

/// A store in which the continuations of one execution cannot be run.
struct Broken {
    store: MemoryStore,
    owner: ExecutionId,
}

#[async_trait]
impl Forward for Broken {
    fn beneath(&self) -> &dyn Store {
        &self.store
    }

    async fn execute(&self, batch: Vec<Command>) -> Vec<Result<Reply, StoreError>> {
        let mut answers = Vec::new();
        for command in batch {
            match &command.action {
                Action::Continue(Continue { continuation }) if continuation.owner == self.owner => {
                    answers.push(Err(StoreError::Unavailable("planted".into())));
                }
                _ => answers.extend(self.store.execute(vec![command]).await),
            }
        }
        answers
    }
}

fn new_id() -> ExecutionId {
    mint::execution_id(Partition::ONLY)
}

/// A store with these executions, of which each has continuations that a dead process has added.
async fn left(
    clock: &ManualClock,
    broken: ExecutionId,
    all: &[(ExecutionId, Vec<(ContinuationKind, u32)>)],
) -> Arc<Engine<Forwarding<Broken>>> {
    let store = MemoryStore::serial(Arc::new(clock.clone()));
    for (id, add) in all {
        let target = Target { namespace: Namespace::default(), execution: *id };
        let (add, count) = (add.clone(), BTreeMap::new());
        let later = ToyLater { target, changes: false, add, count, at_zero: None };
        for command in [mint::command(Submit::new(*id)), mint::command(later)] {
            store.execute(vec![command]).await.remove(0).unwrap();
        }
    }
    store.continuations().take(usize::MAX);
    Arc::new(Engine::new(Forwarding(Broken { store, owner: broken })))
}

async fn slices(backend: &Engine<Forwarding<Broken>>, owner: ExecutionId) -> usize {
    let collection = Collection::Signals;
    let range = ElementRange { owner, collection, from: 0, limit: 1_000 };
    backend.store().elements(range).await.unwrap().len()
}

async fn cycle(backend: &Engine<Forwarding<Broken>>, timers: &Timers) -> Report {
    let report = timers.run_once().await.unwrap();
    backend.drain().await;
    report
}

#[tokio::test]
async fn a_cycle_runs_more_than_one_page_and_the_process_runs_the_rest() {
    const OWNERS: usize = 7;
    let clock = ManualClock::default();
    let owners: Vec<_> = (0..OWNERS).map(|_| new_id()).collect();
    let all: Vec<_> =
        owners.iter().map(|id| (*id, vec![(ContinuationKind::TOY, 3); 100])).collect();
    let backend = left(&clock, new_id(), &all).await;
    let timers = Timers::new(backend.clone(), Options::default());
    assert_eq!(cycle(&backend, &timers).await.fired, 0, "nothing is due");
    clock.advance(TAKEOVER);
    let report = cycle(&backend, &timers).await;
    assert_eq!((report.fired, report.errors), (100 * OWNERS as u64, 0));
    for id in owners {
        assert_eq!(slices(&backend, id).await, 300, "to their end");
    }
    assert_eq!(cycle(&backend, &timers).await, Report::default(), "nothing is left");
}

#[tokio::test]
async fn one_that_fails_or_is_unknown_costs_itself_alone() {
    let clock = ManualClock::default();
    let (broken, strange, sound) = (new_id(), new_id(), new_id());
    let one = |kind| vec![(kind, 1)];
    let all = [
        (broken, one(ContinuationKind::TOY)),
        (strange, one(ContinuationKind(250))),
        (sound, one(ContinuationKind::TOY)),
    ];
    let backend = left(&clock, broken, &all).await;
    let timers = Timers::new(backend.clone(), Options::default());
    clock.advance(TAKEOVER);
    for fired in [1, 0] {
        let report = cycle(&backend, &timers).await;
        assert_eq!((report.fired, report.stale, report.errors), (fired, 0, 2));
    }
    assert_eq!(slices(&backend, sound).await, 1);
}
