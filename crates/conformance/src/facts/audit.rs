//! The audit: a store that was only used passes it.

use std::collections::BTreeSet;

use ff_core::When;
use ff_core::machine::Submit;
use ff_store::audit::{Report, Row};

use crate::fixture::{Fixture, busy, failure, ms};

pub(crate) async fn an_empty_store_passes(g: Fixture) {
    assert_eq!(g.audit().await, Report::default());
    assert_eq!(g.snapshot().await, crate::Snapshot::default());
}

/// One execution in each state, and one that has been in most of them.
async fn one_of_each(g: &Fixture) -> u64 {
    g.expired().await;
    g.completed().await;
    g.failed().await;
    g.cancelled().await;
    g.held_under(busy()).await;
    let cancelling = g.held().await;
    g.cancel(cancelling.execution, Some(ms(500))).await.unwrap();
    let paused = g.held().await;
    g.delay(&paused, When::After(ms(500))).await.unwrap();
    let retrying = g.held().await;
    g.fail(&retrying, failure("broken")).await.unwrap();
    let replayed = g.completed().await;
    g.replay(replayed, 0).await.unwrap();
    g.claimed().await;
    g.waiting().await;
    g.granted().await;
    g.delayed(ms(500)).await;
    g.submit(g.keyed("order-1")).await;
    let requires = ff_core::Capabilities::new(["cuda"]).unwrap();
    g.submit(Submit { requires, ..g.work() }).await;
    13
}

pub(crate) async fn a_store_with_work_in_every_state_passes(g: Fixture) {
    let records = one_of_each(&g).await;
    let report = g.audit().await;
    assert_eq!(report.records, records);
    assert_eq!(report.violations, []);
}

pub(crate) async fn every_index_entry_is_counted(g: Fixture) {
    one_of_each(&g).await;
    let snapshot = g.snapshot().await;
    assert_eq!(g.audit().await.entries, snapshot.entries.len() as u64);
    let records = snapshot.records.values();
    let expected: usize =
        records.map(|record| ff_core::placement::EntryDiff::all(record).len()).sum();
    assert_eq!(snapshot.entries.len(), expected);
}

pub(crate) async fn records_come_before_what_belongs_to_them(g: Fixture) {
    one_of_each(&g).await;
    let mut rows = g.backend().rows().await.unwrap();
    let (mut records, mut others) = (BTreeSet::new(), 0);
    while let Some(row) = rows.next().await {
        let id = match row.unwrap() {
            Row::Record(record) => {
                records.insert(record.id);
                continue;
            }
            Row::Entry(_, id) => id,
            Row::Element(element) => element.owner,
            Row::Blob(key, _) => key.execution,
            _ => continue,
        };
        assert!(records.contains(&id), "a row of {id} comes before its record");
        others += 1;
    }
    assert!(others > records.len());
}

pub(crate) async fn time_alone_breaks_nothing(g: Fixture) {
    one_of_each(&g).await;
    for span in [400, 200, 5_000, 60_000, 90_000_000, 90_000_000] {
        g.pass(ms(span)).await;
        assert_eq!(g.audit().await.violations, []);
    }
}

pub(crate) async fn an_audit_changes_nothing(g: Fixture) {
    one_of_each(&g).await;
    let before = g.snapshot().await;
    g.audit().await;
    g.snapshot().await.assert_same(&before);
}
