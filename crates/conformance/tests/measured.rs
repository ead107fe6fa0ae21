//! What a store in memory counts, by both drivers.

use std::sync::Arc;

use ff_backend_memory::{Faults, MemoryStore};
use ff_conformance::{Subject, measured};
use ff_testkit::ManualClock;

#[tokio::test]
async fn executions_are_counted_by_lane_and_kind_in_memory() {
    let clock = ManualClock::default();
    let serial = Subject::new(MemoryStore::serial(Arc::new(clock.clone())), clock);
    let clock = ManualClock::default();
    let faults = Faults { seed: 7, conflict_percent: 20, pause_percent: 33 };
    let store = MemoryStore::optimistic(Arc::new(clock.clone()), faults);
    measured([serial, Subject::new(store, clock)]).await;
}
