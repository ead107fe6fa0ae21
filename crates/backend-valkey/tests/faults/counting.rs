//! Faults in a write that changes a record, adds a continuation and counts a latch down to zero.

use std::collections::BTreeSet;

use ff_conformance::Snapshot;
use ff_core::collection::Collection;
use ff_core::continuation::Continuation;
use ff_store::Store;
use ff_testkit::report;

use crate::cases;
use crate::faulty::Faulty;
use crate::words::{added, id};

/// The case makes no more calls than this.
const MOST_CALLS: usize = 60;

/// What a fault may have left of the write.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Left {
    is_changed: bool,
    counters: Vec<(u8, i64)>,
    continuations: Vec<Continuation>,
}

impl Left {
    async fn of(faulty: &Faulty) -> Left {
        let found = faulty.snapshot().await;
        let is_changed = found.record(id(1)).unwrap().counts.of(Collection::Steps) > 0;
        Left { is_changed, counters: counters(&found), continuations: pending(&found) }
    }
}

fn counters(found: &Snapshot) -> Vec<(u8, i64)> {
    found.tallies.iter().map(|((_, counter), (value, _))| (*counter, *value)).collect()
}

fn pending(found: &Snapshot) -> Vec<Continuation> {
    found.continuations.keys().copied().collect()
}

/// What is written is never without what follows from it; nothing is counted that did not happen, and
/// nothing in part.
#[tokio::test(flavor = "multi_thread")]
async fn a_fault_loses_no_continuation_and_counts_nothing_that_did_not_happen() {
    let case = cases::count().remove(1);
    let (own, latched) = (added(1, 0, 2), added(1, 1, 1));
    let (before, after) = (vec![(0, 1), (1, 1), (2, 2)], vec![(1, 4)]);
    let mut seen = BTreeSet::new();
    for call in 1..MOST_CALLS {
        let faulty = Faulty::new().await;
        faulty.play(&case.before).await;
        faulty.fail(case.verb, call);
        let answer = faulty.run(&case.act).await;
        let failed = faulty.failed();
        faulty.partial_writes(case.name).await;
        faulty.store.repair().await.unwrap();
        assert_eq!(faulty.audit().await.violations, [], "call {call}");
        let again = faulty.store.repair().await.unwrap();
        assert_eq!(again.fixed(), 0, "call {call}: a second repair finds {again:?}");
        let left = Left::of(&faulty).await;
        seen.insert(left.clone());
        if !failed {
            assert!(answer.is_ok(), "{answer:?}");
            let continuations = vec![own, latched];
            assert_eq!(left, Left { is_changed: true, counters: after, continuations });
            eprintln!("{} calls, {seen:#?}", call - 1);
            report::count("function faults", call as u64 - 1);
            assert!(seen.len() >= 4, "the faults are told apart");
            return;
        }
        let Left { is_changed, counters, continuations } = &left;
        assert!(*counters == before || *counters == after, "call {call}: {left:?}");
        assert!(*is_changed || *counters == before, "call {call}: counted early: {left:?}");
        assert!(!is_changed || continuations.contains(&own), "call {call}: {left:?}");
        let is_at_zero = *counters == after;
        assert!(!is_at_zero || continuations.contains(&latched), "call {call}: {left:?}");
    }
    panic!("there is no end");
}
