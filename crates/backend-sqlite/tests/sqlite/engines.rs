//! Engines in several processes on one file. Two stores on one file stand for two processes.

use std::sync::Arc;
use std::time::Duration;

use crate::fixture::Place;
use ff_backend_sqlite::{SqliteStore, backend};
use ff_core::Millis;
use ff_store::partition_set::ENGINE_TTL;
use ff_store::roles::Engine;
use ff_store::{EngineId, PartitionSet, Store};
use ff_testkit::ManualClock;

const ONE: EngineId = EngineId::new(1);
const OTHER: EngineId = EngineId::new(2);

/// A file, and the clock of the stores on it.
struct Machine {
    place: Place,
    clock: ManualClock,
}

impl Machine {
    fn new() -> Machine {
        Machine { place: Place::new(), clock: ManualClock::default() }
    }

    fn start(&self) -> Engine<SqliteStore> {
        backend(self.place.options().clock(Arc::new(self.clock.clone()))).unwrap()
    }

    /// A number that every write to the file changes.
    fn version(&self, watcher: &rusqlite::Connection) -> i64 {
        watcher.pragma_query_value(None, "data_version", |row| row.get(0)).unwrap()
    }
}

/// Whether `engine` acts on the file after a heartbeat.
async fn acts(process: &Engine<SqliteStore>, engine: EngineId) -> bool {
    let alive = process.store().engine_heartbeat(engine).await.unwrap();
    PartitionSet::of(engine, &alive, 1).has(0)
}

#[tokio::test]
async fn an_engine_that_is_alone_writes_when_it_comes_and_goes_and_never_between() {
    let machine = Machine::new();
    let process = machine.start();
    let watcher = machine.place.sql();
    let before = machine.version(&watcher);
    assert!(acts(&process, ONE).await);
    let registered = machine.version(&watcher);
    assert_ne!(registered, before);
    for _ in 0..20 {
        machine.clock.advance(Millis::from_secs(2));
        assert!(acts(&process, ONE).await);
        assert_eq!(machine.version(&watcher), registered);
    }
    process.store().leave(ONE).await.unwrap();
    assert_ne!(machine.version(&watcher), registered);
}

#[tokio::test]
async fn of_engines_in_two_processes_one_acts_after_a_heartbeat_or_two() {
    let machine = Machine::new();
    let (one, other) = (machine.start(), machine.start());
    assert!(acts(&one, ONE).await);
    assert!(acts(&other, OTHER).await, "what was there before may be dead");
    acts(&one, ONE).await;
    for _ in 0..5 {
        machine.clock.advance(Millis::from_secs(2));
        let both = [acts(&other, OTHER).await, acts(&one, ONE).await];
        assert_eq!(both.iter().filter(|acts| **acts).count(), 1, "{both:?}");
    }
}

#[tokio::test]
async fn an_engine_acts_at_once_whatever_a_killed_one_has_left() {
    let machine = Machine::new();
    assert!(acts(&machine.start(), ONE).await);
    let successor = machine.start();
    for _ in 0..5 {
        assert!(acts(&successor, OTHER).await);
        machine.clock.advance(Millis::from_secs(2));
    }
    let rows = "SELECT count(*) FROM engine";
    let left: i64 = machine.place.sql().query_row(rows, (), |row| row.get(0)).unwrap();
    assert_eq!(left, 1, "the row of the killed one is removed");
}

#[tokio::test]
async fn an_engine_acts_when_the_other_is_silent_and_shares_when_it_comes_back() {
    let machine = Machine::new();
    let (one, other) = (machine.start(), machine.start());
    for _ in 0..3 {
        acts(&one, ONE).await;
        acts(&other, OTHER).await;
    }
    acts(&one, ONE).await;
    machine.clock.advance(Millis::new(ENGINE_TTL.as_millis() as u64 + 1));
    assert!(acts(&one, ONE).await);
    for _ in 0..2 {
        acts(&other, OTHER).await;
        acts(&one, ONE).await;
    }
    assert_ne!(acts(&one, ONE).await, acts(&other, OTHER).await);
}

#[tokio::test]
async fn an_engine_learns_at_once_that_one_in_another_process_has_left() {
    let machine = Machine::new();
    let (one, other) = (machine.start(), machine.start());
    for _ in 0..3 {
        acts(&one, ONE).await;
        acts(&other, OTHER).await;
    }
    let timeout = Duration::from_secs(10);
    other.store().leave(OTHER).await.unwrap();
    // What came before may be received first.
    while one.store().engine_heartbeat(ONE).await.unwrap() != [ONE] {
        tokio::time::timeout(timeout, one.store().wakeups().engines_changed()).await.unwrap();
    }
    assert!(acts(&one, ONE).await);
}
