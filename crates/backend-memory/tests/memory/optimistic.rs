//! The optimistic path: which commits are refused, and what a claim keeps after conflicts.

use std::sync::Arc;

use ff_backend_memory::{Faults, MemoryStore};
use ff_core::machine::{
    self, Action, ClaimRequest, Command, Complete, Renew, Reply, Step, Submit, WriteSet,
};
use ff_core::state::Worker;
use ff_core::{
    Capabilities, ExecutionId, Lane, Millis, Namespace, Partition, Payload, RequestId, Time,
};
use ff_store::Store;
use ff_store::optimistic::{Ask, Commit, Decided, Optimistic, Write};
use ff_testkit::ManualClock;

fn store(faults: Faults) -> (MemoryStore, ManualClock) {
    let clock = ManualClock::default();
    (MemoryStore::optimistic(Arc::new(clock.clone()), faults), clock)
}

fn id(n: u32) -> ExecutionId {
    ExecutionId::mint(Time::from_ms(1), Partition::ONLY, n, 0)
}

fn command(action: impl Into<Action>) -> Command {
    Command { entropy: 7, by: None, action: action.into() }
}

fn claim(request: u128, max: u16) -> ClaimRequest {
    ClaimRequest {
        namespace: Namespace::default(),
        lane: Lane::default(),
        worker: Worker { id: "w".parse().unwrap(), instance: "w-1".parse().unwrap() },
        capabilities: Capabilities::NONE,
        request: RequestId::new(request),
        max,
        retry: false,
    }
}

async fn run(store: &MemoryStore, action: impl Into<Action>) -> Reply {
    store.execute(vec![command(action)]).await.remove(0).unwrap()
}

async fn claimed(store: &MemoryStore, request: u128, max: u16) -> machine::Claimed {
    match run(store, claim(request, max)).await {
        Reply::Claimed(claimed) => claimed,
        other => panic!("{other:?}"),
    }
}

/// Decides `action` without committing it.
async fn decide(store: &MemoryStore, action: impl Into<Action>) -> (WriteSet, Decided) {
    let command = command(action);
    let ask = Ask { reads: machine::reads(&command), earlier: None };
    let loaded = store.part(Partition::ONLY).load(vec![ask]).await.remove(0).unwrap();
    let Step::Done(transition) = machine::apply(&command, &loaded).unwrap() else {
        panic!("one round is enough here");
    };
    let decided = Decided { at: loaded.now, valid_until: loaded.valid_until() };
    (transition.items.into_iter().find_map(|item| item.write).unwrap(), decided)
}

async fn commit(store: &MemoryStore, set: WriteSet, decided: Decided) -> Commit {
    let write = Write { set, decided, adds: true };
    store.part(Partition::ONLY).commit(vec![write]).await.remove(0).unwrap()
}

#[tokio::test]
async fn a_decision_overtaken_by_the_end_of_the_lease_is_stale() {
    let (store, clock) = store(Faults::default());
    run(&store, Submit::new(id(1))).await;
    let hold = claimed(&store, 1, 1).await.assignments[0].hold();
    clock.advance(Millis::new(29_900));
    let (write, decided) = decide(&store, Complete { hold, result: Payload::default() }).await;
    clock.advance(Millis::new(100));
    assert_eq!(commit(&store, write, decided).await, Commit::Stale);
    let record = store.record(id(1)).await.unwrap().unwrap();
    assert!(record.outcome().is_none(), "a stale commit writes nothing");
}

#[tokio::test]
async fn a_decision_older_than_a_second_is_stale() {
    let (store, clock) = store(Faults::default());
    run(&store, Submit::new(id(1))).await;
    let hold = claimed(&store, 1, 1).await.assignments[0].hold();
    let (write, decided) = decide(&store, Renew { hold: hold.clone() }).await;
    clock.advance(Millis::new(1_000));
    assert_eq!(commit(&store, write.clone(), decided).await, Commit::Written(Vec::new()));
    let (write, decided) = decide(&store, Renew { hold }).await;
    clock.advance(Millis::new(1_001));
    assert_eq!(commit(&store, write, decided).await, Commit::Stale);
}

#[tokio::test]
async fn of_two_decisions_on_one_version_one_is_written() {
    let (store, _clock) = store(Faults::default());
    run(&store, Submit::new(id(1))).await;
    let hold = claimed(&store, 1, 1).await.assignments[0].hold();
    let (first, decided) = decide(&store, Renew { hold: hold.clone() }).await;
    let (second, _) = decide(&store, Complete { hold, result: Payload::default() }).await;
    assert_eq!(commit(&store, second, decided).await, Commit::Written(Vec::new()));
    assert_eq!(commit(&store, first, decided).await, Commit::Conflict);
}

#[tokio::test]
async fn of_two_submits_with_one_key_one_is_written() {
    let (store, _clock) = store(Faults::default());
    let key = Some("order-1".parse().unwrap());
    let one = Submit { key: key.clone(), ..Submit::new(id(1)) };
    let two = Submit { key, ..Submit::new(id(2)) };
    let (first, decided) = decide(&store, one).await;
    let (second, _) = decide(&store, two).await;
    assert_eq!(commit(&store, first, decided).await, Commit::Written(Vec::new()));
    assert_eq!(commit(&store, second, decided).await, Commit::Conflict);
}

#[tokio::test]
async fn a_claim_that_meets_conflicts_takes_each_execution_once_and_names_each_lease_once() {
    for seed in 0..50 {
        let faults = Faults { seed, conflict_percent: 40, pause_percent: 0 };
        let (store, _clock) = store(faults);
        for n in 0..20 {
            run(&store, Submit::new(id(n))).await;
        }
        let claimed = claimed(&store, 9, 20).await;
        let mut ids: Vec<_> = claimed.assignments.iter().map(|a| a.execution).collect();
        let mut leases: Vec<_> = claimed.assignments.iter().map(|a| a.fence.lease).collect();
        ids.sort_unstable();
        ids.dedup();
        leases.sort_unstable();
        leases.dedup();
        assert_eq!(ids.len(), 20, "seed {seed}");
        assert_eq!(leases.len(), 20, "seed {seed}");
    }
}

#[tokio::test]
async fn conflicts_without_end_answer_contention_and_change_nothing() {
    let faults = Faults { seed: 1, conflict_percent: 100, pause_percent: 0 };
    let (store, _clock) = store(faults);
    let answer = store.execute(vec![command(Submit::new(id(1)))]).await.remove(0);
    let error = answer.unwrap_err();
    assert_eq!(error.code(), "store_contention");
    assert!(error.is_retryable());
    assert!(store.record(id(1)).await.unwrap().is_none());
}
