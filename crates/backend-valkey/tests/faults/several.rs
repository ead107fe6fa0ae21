//! Faults in writes that change several records: budgets, quotas and tickets.

use std::collections::{BTreeMap, BTreeSet};

use ff_backend_valkey::PartialWrite;
use ff_core::machine::Command;
use ff_store::Store;
use ff_testkit::report;

use crate::faulty::{Faulty, Step};
use crate::words::{admit, command, limits, settle_admission};

/// No case makes more calls than this.
const MOST_CALLS: usize = 100;

/// Fails `act` at each of its calls. Every fault leaves named states alone; repair removes them; and the
/// call, made again, does what it would have done.
async fn examine(name: &str, verb: &str, before: &[Command], act: &Command) {
    let mut states = BTreeMap::<_, usize>::new();
    for call in 1..MOST_CALLS {
        let faulty = Faulty::new().await;
        let before = limits().into_iter().chain(before.iter().cloned());
        let before: Vec<_> = before.map(|command| Step::Run(Box::new(command))).collect();
        faulty.play(&before).await;
        faulty.fail(verb, call);
        let answer = faulty.run(std::slice::from_ref(act)).await;
        if !faulty.failed() {
            assert!(answer.is_ok(), "{name}: {answer:?}");
            eprintln!("{name}: {} calls, {states:?}", call - 1);
            report::count("function faults", call as u64 - 1);
            let left: BTreeSet<_> = states.into_keys().collect();
            assert!(left.contains(&PartialWrite::Uncounted), "{name}: no fault splits its write");
            return;
        }
        for state in faulty.partial_writes(name).await {
            *states.entry(state).or_default() += 1;
        }
        faulty.store.repair().await.unwrap();
        assert_eq!(faulty.audit().await.violations, [], "{name}, call {call}");
        let again = faulty.store.repair().await.unwrap();
        assert_eq!(again.fixed(), 0, "{name}, call {call}: a second repair finds {again:?}");
        faulty.run(std::slice::from_ref(act)).await.unwrap();
        assert_eq!(faulty.audit().await.violations, [], "{name}, call {call}, repeated");
    }
    panic!("{name} has no end");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admission_that_is_cut_is_recounted() {
    examine("admit one", "commit", &[], &command(admit(&[1]))).await;
    examine("admit two", "commit", &[], &command(admit(&[1, 2]))).await;
    examine("admit another", "commit", &[command(admit(&[1]))], &command(admit(&[2]))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_that_is_cut_is_recounted() {
    let admitted = [command(admit(&[1, 2]))];
    examine("settle one of two", "commit_freeing", &admitted, &command(settle_admission(1))).await;
}
