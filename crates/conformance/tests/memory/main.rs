//! The model itself sits the exam, and so does the optimistic driver with faults injected. The exam
//! is examined with planted bugs.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod admission;
mod followers;
mod planted;

use std::sync::Arc;

use ff_backend_memory::{Faults, MemoryStore};
use ff_conformance::{Agreement, Options, Subject};
use ff_testkit::ManualClock;

async fn serial() -> Subject {
    let clock = ManualClock::default();
    Subject::new(MemoryStore::serial(Arc::new(clock.clone())), clock)
}

/// Every fifth commit has an injected conflict, every third yields to others first.
async fn optimistic() -> Subject {
    let clock = ManualClock::default();
    let faults = Faults { seed: 7, conflict_percent: 20, pause_percent: 33 };
    Subject::new(MemoryStore::optimistic(Arc::new(clock.clone()), faults), clock)
}

/// Enough that the home of a namespace is rarely where its work is.
const PARTITIONS: u16 = 4;

async fn serial_4_partitions() -> Subject {
    let clock = ManualClock::default();
    let store = MemoryStore::serial(Arc::new(clock.clone())).with_partitions(PARTITIONS);
    Subject::new(store, clock)
}

async fn optimistic_4_partitions() -> Subject {
    let clock = ManualClock::default();
    let faults = Faults { seed: 7, conflict_percent: 20, pause_percent: 33 };
    let store = MemoryStore::optimistic(Arc::new(clock.clone()), faults);
    Subject::new(store.with_partitions(PARTITIONS), clock)
}

/// Commits become visible out of order: an event up to three reads late.
async fn late() -> Subject {
    let clock = ManualClock::default();
    let store = MemoryStore::serial(Arc::new(clock.clone())).with_late_visibility(7, 3);
    Subject::new(store, clock)
}

async fn late_4_partitions() -> Subject {
    let clock = ManualClock::default();
    let faults = Faults { seed: 7, conflict_percent: 20, pause_percent: 33 };
    let store = MemoryStore::optimistic(Arc::new(clock.clone()), faults);
    let store = store.with_late_visibility(11, 3).with_partitions(PARTITIONS);
    Subject::new(store, clock)
}

ff_conformance::exam!(memory_late, late, events, feed);
ff_conformance::exam!(memory_late_4_partitions, late_4_partitions, events, feed);
ff_conformance::exam!(memory_serial, serial);
ff_conformance::exam!(memory_optimistic, optimistic);
ff_conformance::exam!(memory_4_partitions, serial_4_partitions);
ff_conformance::exam!(memory_clock, serial, own_clock);
ff_conformance::clock_histories!(memory_clock_histories, serial);
ff_conformance::histories!(
    memory_optimistic_histories,
    optimistic,
    Options { agreement: Agreement::UpToLeaseNumbers, ..Options::default() }
);
ff_conformance::histories!(
    memory_4_partitions_histories,
    optimistic_4_partitions,
    // Of claims on several partitions fewer can be compared, so histories are longer.
    Options { commands: 90, agreement: Agreement::UpToLeaseNumbers, ..Options::default() }
);
