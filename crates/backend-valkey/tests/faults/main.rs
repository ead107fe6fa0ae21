//! Every function that writes fails at each of its calls in turn. What that leaves has a name, and
//! repair restores it: the store is then as if the call had been made, or had not.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue fails")]

mod arguments;
mod cases;
mod counting;
mod events;
mod faulty;
#[path = "../fixture/mod.rs"]
mod fixture;
mod flows;
mod moving;
mod several;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use cases::Case;
use faulty::{Everything, Faulty};
use ff_backend_valkey::PartialWrite;
use ff_conformance::Snapshot;
use ff_core::ExecutionId;
use ff_core::machine::{Reply, Submit};
use ff_store::Store;
use ff_testkit::report;

/// No function makes more calls than this in any case.
const MOST_CALLS: usize = 200;

/// A store before or after a case, with nothing left to repair.
struct Reference {
    everything: Everything,
    snapshot: Snapshot,
}

impl Reference {
    async fn of(case: &Case, acted: bool) -> Reference {
        let faulty = Faulty::new().await;
        faulty.play(&case.before).await;
        if acted {
            assert_eq!(faulty.run(&case.act).await.is_err(), case.refused);
            faulty.play(&case.then).await;
        }
        let report = faulty.audit().await;
        assert_eq!(report.violations, [], "{}: {}", case.verb, case.name);
        faulty.store.repair().await.unwrap();
        Reference { everything: faulty.everything(), snapshot: faulty.snapshot().await }
    }
}

/// Runs a case once for each call of its function, which fails. Answers how many there are, and how
/// often each named state was left.
async fn examine(case: &Case) -> (usize, BTreeMap<Option<PartialWrite>, usize>) {
    let before = Reference::of(case, false).await;
    let after = Reference::of(case, true).await;
    let mut left = BTreeMap::new();
    for call in 1..MOST_CALLS {
        let name = format!("{}: {}, call {call}", case.verb, case.name);
        let faulty = Faulty::new().await;
        faulty.play(&case.before).await;
        let start = faulty.everything();
        faulty.fail(case.verb, call);
        let answer = faulty.run(&case.act).await;
        if !faulty.failed() {
            assert_eq!(answer.is_err(), case.refused, "{name}: {answer:?}");
            return (call - 1, left);
        }
        assert!(answer.is_err(), "{name} was answered {answer:?}");
        for partial in judge(&faulty, &name, &start).await {
            *left.entry(partial).or_default() += 1;
        }
        repair(&faulty, &name, &before, &after).await;
        if case.repeats {
            repeat(case, call, &after).await;
        }
    }
    panic!("{}: {} has no end", case.verb, case.name);
}

/// The states that a fault has left; `None` stands for a store in which nothing has changed, or
/// nothing that an audit sees.
async fn judge(faulty: &Faulty, name: &str, start: &Everything) -> BTreeSet<Option<PartialWrite>> {
    let partial = faulty.partial_writes(name).await;
    if faulty.everything() == *start {
        assert_eq!(partial, BTreeSet::new(), "{name}");
    }
    match partial.is_empty() {
        true => BTreeSet::from([None]),
        false => partial.into_iter().map(Some).collect(),
    }
}

/// Repairs, and checks that every execution is as before or as after, and that nothing else exists.
async fn repair(faulty: &Faulty, name: &str, before: &Reference, after: &Reference) {
    faulty.store.repair().await.unwrap();
    assert_eq!(faulty.audit().await.violations, [], "{name}");
    let found = faulty.snapshot().await;
    for id in named(&[&found, &before.snapshot, &after.snapshot]) {
        let now = found.naming(id);
        let whole = now == before.snapshot.naming(id) || now == after.snapshot.naming(id);
        assert!(whole, "{name} left {id} as {now:#?}");
    }
    for (key, elements) in faulty.everything() {
        let known = [before, after].map(|reference| reference.everything.get(&key));
        let known: BTreeSet<_> = known.into_iter().flatten().flatten().collect();
        let strange: Vec<_> = elements.iter().filter(|one| !known.contains(one)).collect();
        assert!(strange.is_empty(), "{name} left in {key}: {strange:?}");
    }
    let again = faulty.store.repair().await.unwrap();
    assert_eq!(again.fixed(), 0, "{name}: a second repair finds {again:?}");
}

/// Every execution that a snapshot names.
fn named(snapshots: &[&Snapshot]) -> BTreeSet<ExecutionId> {
    let records = snapshots.iter().flat_map(|all| all.records.keys().copied());
    let entries = snapshots.iter().flat_map(|all| all.entries.keys().map(|(id, _)| *id));
    records.chain(entries).collect()
}

/// The caller, which got an error, repeats the call before any repair.
async fn repeat(case: &Case, call: usize, after: &Reference) {
    let name = format!("{}: {}, call {call}, repeated", case.verb, case.name);
    let faulty = Faulty::new().await;
    faulty.play(&case.before).await;
    faulty.fail(case.verb, call);
    faulty.run(&case.act).await.unwrap_err();
    assert!(faulty.failed(), "{name}");
    let answer = faulty.run(&case.act).await;
    assert!(answer.is_ok(), "{name}: {answer:?}");
    faulty.play(&case.then).await;
    faulty.store.repair().await.unwrap();
    assert_eq!(faulty.audit().await.violations, [], "{name}");
    let found = faulty.snapshot().await.without_versions();
    let differences = found.differences(&after.snapshot.clone().without_versions());
    assert!(differences.is_empty(), "{name}: {differences:#?}");
}

/// A fault between the frames of an append leaves a shorter one, or more than the bound: a stream like
/// any other. The same call, made again, completes it.
#[tokio::test(flavor = "multi_thread")]
async fn an_append_that_fails_is_completed_by_its_repetition() {
    let mut pairs = 0;
    for case in cases::append_() {
        let after = Reference::of(&case, true).await;
        for call in 1..MOST_CALLS {
            let name = format!("{}: {}, call {call}", case.verb, case.name);
            let faulty = Faulty::new().await;
            faulty.play(&case.before).await;
            faulty.fail(case.verb, call);
            let answer = faulty.run(&case.act).await;
            if !faulty.failed() {
                assert!(answer.is_ok(), "{name}: {answer:?}");
                assert!(call > 3, "{name} is not tried");
                break;
            }
            faulty.store.repair().await.unwrap();
            assert_eq!(faulty.audit().await.violations, [], "{name}");
            repeat(&case, call, &after).await;
            pairs += 1;
        }
    }
    report::count("function faults", pairs);
}

/// A submit of the same work under another id, before any repair, finds the first execution
/// or creates the only one.
#[tokio::test(flavor = "multi_thread")]
async fn no_fault_lets_two_executions_have_one_key() {
    let (first, second) = (words::laden(1), Submit { id: words::id(2), ..words::laden(1) });
    for call in 1..MOST_CALLS {
        let faulty = Faulty::new().await;
        faulty.fail("submit", call);
        let answer = faulty.run(&[words::command(first.clone())]).await;
        if !faulty.failed() {
            assert!(answer.is_ok(), "{answer:?}");
            return;
        }
        let answer = faulty.run(&[words::command(second.clone())]).await.unwrap().remove(0);
        let Reply::Submitted(found) = answer else { panic!("{answer:?}") };
        faulty.store.repair().await.unwrap();
        assert_eq!(faulty.audit().await.violations, [], "call {call}");
        let records = faulty.snapshot().await.records;
        let ids: Vec<_> = records.keys().copied().collect();
        assert_eq!(ids, [found.execution], "call {call}");
        let known = faulty.run(&[words::command(second.clone())]).await.unwrap().remove(0);
        assert!(matches!(known, Reply::Submitted(known) if !known.created), "call {call}");
    }
}

async fn examine_all(verb: &str, cases: Vec<Case>) {
    let (mut pairs, mut states) = (0, BTreeMap::new());
    for case in &cases {
        let (calls, left) = examine(case).await;
        eprintln!("{verb}: {}: {calls} calls, {left:?}", case.name);
        pairs += calls;
        for (partial, count) in left {
            *states.entry(partial).or_insert(0) += count;
        }
    }
    eprintln!("{verb}: {pairs} calls in {} cases, {states:?}", cases.len());
    report::count("function faults", pairs as u64);
}

/// Repair fails at each of its calls, too, wherever the function of a case has failed.
async fn examine_repair(case: &Case) -> usize {
    let before = Reference::of(case, false).await;
    let after = Reference::of(case, true).await;
    let mut pairs = 0;
    for fault_at in 1..MOST_CALLS {
        for call in 1..MOST_CALLS {
            let name = format!("{}: {} at {fault_at}, repair {call}", case.verb, case.name);
            let faulty = Faulty::new().await;
            faulty.play(&case.before).await;
            faulty.fail(case.verb, fault_at);
            drop(faulty.run(&case.act).await);
            if !faulty.fail("repair", call) {
                return pairs;
            }
            // It may continue after a record that it could not read.
            drop(faulty.store.repair().await);
            if !faulty.failed() {
                break;
            }
            repair(&faulty, &name, &before, &after).await;
            pairs += 1;
        }
    }
    panic!("{}: {} has no end", case.verb, case.name);
}

/// One test for each function whose fault repair finds.
macro_rules! a_failed_repair_is_repaired_by_the_next_after {
    ($($verb:ident: $case:expr;)+) => {
        mod a_failed_repair_is_repaired_by_the_next_after {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $verb() {
                let pairs = super::examine_repair(&$case).await;
                eprintln!("repair after {}: {pairs} calls", stringify!($verb));
                super::report::count("function faults", pairs as u64);
            })+
        }
    };
}

a_failed_repair_is_repaired_by_the_next_after! {
    submit: crate::cases::submit().remove(3);
    claim: crate::cases::claim_().remove(1);
    retire: crate::cases::retire().remove(2);
    settle: crate::cases::settle().remove(15);
}

/// One test for each function.
macro_rules! every_fault_is_repaired_in {
    ($($verb:ident: $cases:expr;)+) => {
        mod every_fault_is_repaired_in {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $verb() {
                super::examine_all(stringify!($verb), $cases).await;
            })+
        }
    };
}

every_fault_is_repaired_in! {
    submit: crate::cases::submit();
    claim: crate::cases::claim_();
    complete: crate::cases::complete_();
    renew: crate::cases::renew_();
    retire: crate::cases::retire();
    commit: crate::cases::commit();
    settle: crate::cases::settle();
    unblock: crate::cases::unblock_();
    signal: crate::cases::signals();
    suspend: crate::cases::suspensions();
}
