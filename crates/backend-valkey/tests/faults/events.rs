//! The log: whatever fails, no change is without its event.

use std::collections::BTreeSet;

use ff_core::ResourceKey;
use ff_core::event::{EventId, EventName};
use ff_core::machine::{FeedChange, SetFeed};
use ff_testkit::report;

use crate::MOST_CALLS;
use crate::cases::{self, Case};
use crate::faulty::{Faulty, Step};
use crate::words::{namespace, run};

fn switched_on() -> Step {
    let key = ResourceKey::feed(&namespace("acme"), 1);
    let change = FeedChange::Set { on: Some(true), retention: None, most: None };
    run(SetFeed { key, change, partitions: 1 })
}

/// Runs a case once for each call of its function, which fails. Answers how many there are, and how
/// many events were told of changes that failed.
async fn examine(case: &Case) -> (usize, usize) {
    let mut early = 0;
    for call in 1..MOST_CALLS {
        let name = format!("{}: {}, call {call}", case.verb, case.name);
        let faulty = Faulty::new().await;
        faulty.play(&[vec![switched_on()], case.before.clone()].concat()).await;
        let before = faulty.snapshot().await;
        faulty.fail(case.verb, call);
        let answer = faulty.run(&case.act).await;
        let failed = faulty.failed();
        assert_eq!(answer.is_err(), failed || case.refused, "{name}: {answer:?}");
        let after = faulty.snapshot().await;
        let told: BTreeSet<_> = after.events.values().map(|event| event.id).collect();
        for (id, record) in &*after.records {
            let was = before.record(*id);
            if was.map(|was| was.public_state()) != Some(record.public_state()) {
                let event = EventId { execution: *id, version: record.version };
                assert!(told.contains(&event), "{name} left {id} without its event");
            }
        }
        let retired = |id| {
            let mut own = after.events.values().filter(|event| event.execution() == id);
            own.any(|event| event.what.name() == EventName::Retired)
        };
        for id in before.records.keys().filter(|id| !after.records.contains_key(id)) {
            assert!(retired(*id), "{name} removed {id} without its event");
        }
        let is_so = |event: &&EventId| {
            let now = after.record(event.execution).map(|record| record.version);
            now.is_none_or(|now| now >= event.version)
        };
        early += told.iter().filter(|event| !is_so(event)).count();
        if !failed {
            return (call - 1, early);
        }
    }
    panic!("{}: {} has no end", case.verb, case.name);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_fault_leaves_a_change_without_its_event() {
    let all = [
        cases::submit(),
        cases::claim_(),
        cases::complete_(),
        cases::unblock_(),
        cases::retire(),
        cases::commit(),
        cases::settle(),
    ];
    let (mut pairs, mut early) = (0, 0);
    for case in all.into_iter().flatten() {
        let (calls, told) = examine(&case).await;
        (pairs, early) = (pairs + calls, early + told);
    }
    eprintln!("events: {pairs} faults, {early} events of changes that failed");
    report::count("event faults", pairs as u64);
}
