//! One bad item affects only itself. The damage is planted past the store.

use std::time::Duration;

use crate::fixture::{self, Place, accepted, claim, command, complete, submit, take, target};
use ff_core::limits::ExecutionLimits;
use ff_core::machine::{Admissions, ClaimRequest, GrantNext, Reply, Submit, Tick};
use ff_core::payload::{BlobKey, BlobPart};
use ff_core::quota::QuotaLimits;
use ff_core::{Capabilities, ExecutionId, Lane, Millis, Namespace, ResourceName, When};
use ff_store::listing::{Filter, Listing};
use ff_store::roles::Registering;
use ff_store::{
    ClientBackend, LimitsBackend, PartitionSet, Store, StoreError, WorkerBackend, mint,
};
use ff_testkit::wait;

/// How long a timer of a millisecond may take.
const TIMEOUT: Duration = Duration::from_secs(20);

fn spoil(place: &Place, id: ExecutionId) {
    let sql = "UPDATE execution SET record = x'01ff' WHERE id = ?1";
    assert_eq!(place.sql().execute(sql, [id.as_bytes()]).unwrap(), 1);
}

fn listing() -> Listing {
    Listing { namespace: Namespace::default(), filter: Filter::default(), after: None, limit: 10 }
}

#[track_caller]
fn names<T: std::fmt::Debug>(answer: Result<T, StoreError>, id: ExecutionId) {
    match answer {
        Err(StoreError::Corrupt(what)) => assert!(what.contains(&id.to_string()), "{what}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_unreadable_record_is_reported_wherever_it_is_named() {
    let place = Place::new();
    let backend = place.open();
    let bad = submit(&backend, Submit::new(fixture::new_id())).await;
    spoil(&place, bad);
    names(backend.describe(&target(bad)).await, bad);
    assert_eq!(backend.list(&listing()).await.unwrap().unreadable, [bad]);
    let tick = vec![command(Tick { execution: bad })];
    names(backend.store().execute(tick).await.remove(0), bad);
    let broken = fixture::violations(&**backend.store()).await;
    assert!(broken.iter().any(|v| v.starts_with("readable") && v.contains(&bad.to_string())));
}

#[tokio::test]
async fn a_listed_execution_that_is_absent_is_reported() {
    let place = Place::new();
    let backend = place.open();
    let lost = submit(&backend, Submit::new(fixture::new_id())).await;
    place.sql().execute("DELETE FROM execution", ()).unwrap();
    let kept = submit(&backend, Submit::new(fixture::new_id())).await;
    let page = backend.list(&listing()).await.unwrap();
    assert_eq!(page.unreadable, [lost]);
    assert_eq!(page.executions.iter().map(|one| one.id).collect::<Vec<_>>(), [kept]);
}

#[tokio::test]
async fn work_behind_an_unreadable_record_is_claimed() {
    let place = Place::new();
    let backend = place.open();
    let bad = submit(&backend, Submit::new(fixture::new_id())).await;
    let good = submit(&backend, Submit::new(fixture::new_id())).await;
    spoil(&place, bad);
    let taken = take(&backend, 1).await;
    assert_eq!(taken.len(), 1);
    assert_eq!(taken[0].execution, good);
}

#[tokio::test]
async fn work_behind_an_entry_that_names_nothing_is_claimed() {
    for capabilities in [&[][..], &["gpu"]] {
        let place = Place::new();
        let backend = place.open();
        let requires = Capabilities::new(capabilities).unwrap();
        let work = Submit { requires: requires.clone(), ..Submit::new(fixture::new_id()) };
        let good = submit(&backend, work).await;
        let sql = "INSERT INTO queue (namespace, lane, class, score, id) \
                   SELECT namespace, lane, class, score - 1, x'00' FROM queue";
        assert_eq!(place.sql().execute(sql, ()).unwrap(), 1);
        let claim = ClaimRequest { capabilities: requires, ..claim(1) };
        let taken = backend.claim(claim, Millis::ZERO).await.unwrap().assignments;
        assert_eq!(taken.len(), 1);
        assert_eq!(taken[0].execution, good);
    }
}

#[tokio::test]
async fn a_timer_that_names_nothing_keeps_no_other_from_running() {
    let place = Place::new();
    let backend = place.open();
    let start = When::After(Millis::new(1));
    let delayed = submit(&backend, Submit { start, ..Submit::new(fixture::new_id()) }).await;
    place.sql().execute("INSERT INTO timer (due, id) VALUES (1, x'00')", ()).unwrap();
    let found = wait::until_async(TIMEOUT, async || {
        let due = backend.store().due(&PartitionSet::All, None, 10).await.unwrap().due;
        due.iter().any(|(_, id)| *id == delayed).then_some(())
    });
    found.await.expect("the timer is found");
}

#[tokio::test]
async fn work_behind_an_unreadable_record_is_granted() {
    let place = Place::new();
    let backend = place.open();
    let bad = submit(&backend, Submit::new(fixture::new_id())).await;
    let good = submit(&backend, Submit::new(fixture::new_id())).await;
    spoil(&place, bad);
    let claim = claim(1);
    let grant = GrantNext {
        namespace: claim.namespace,
        lane: claim.lane,
        worker: claim.worker,
        capabilities: claim.capabilities,
        request: claim.request,
        ttl: Millis::from_secs(1),
        retry: false,
        at: None,
        admissions: Admissions::Any,
    };
    match accepted(&backend, vec![command(grant)]).await.remove(0) {
        Reply::Granted(granted) => assert_eq!(granted.offer.unwrap().execution, good),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_unreadable_waiter_blocks_no_later_ones() {
    let place = Place::new();
    let backend = place.open();
    let name = ResourceName::new("api").unwrap();
    let one = QuotaLimits {
        max_requests: None,
        window: Millis::from_secs(1),
        max_active: Some(1),
        jitter: Millis::ZERO,
    };
    backend.put_quota(&Namespace::default(), &name, one).await.unwrap();
    let limits = ExecutionLimits { quotas: [name].into(), ..ExecutionLimits::default() };
    let mut ids = Vec::new();
    for _ in 0..4 {
        let work = Submit { limits: limits.clone(), ..Submit::new(fixture::new_id()) };
        ids.push(submit(&backend, work).await);
    }
    let mut held = take(&backend, 1).await.remove(0);
    assert!(take(&backend, 1).await.is_empty(), "the others wait");
    spoil(&place, ids[1]);
    for id in [ids[2], ids[3]] {
        backend.complete(vec![complete(&held)]).await.unwrap().remove(0).unwrap();
        backend.drain().await;
        held = take(&backend, 1).await.remove(0);
        assert_eq!(held.execution, id);
    }
}

#[tokio::test]
async fn an_unreadable_record_fails_only_its_command_in_a_group() {
    let place = Place::new();
    let backend = place.open();
    let bad = submit(&backend, Submit::new(fixture::new_id())).await;
    spoil(&place, bad);
    let before = backend.store().stats();
    let (first, last) = (fixture::new_id(), fixture::new_id());
    let batch = vec![
        command(Submit::new(first)),
        command(Tick { execution: bad }),
        command(Submit::new(last)),
    ];
    let mut answers = backend.store().execute(batch).await;
    answers.pop().unwrap().unwrap();
    names(answers.pop().unwrap(), bad);
    answers.pop().unwrap().unwrap();
    let after = backend.store().stats();
    assert_eq!(after.groups - before.groups, 1, "the group is not run again");
    assert_eq!(after.commits - before.commits, 1);
    assert!(backend.store().record(first).await.unwrap().is_some());
    assert!(backend.store().record(last).await.unwrap().is_some());
}

#[tokio::test]
async fn a_command_that_breaks_the_transaction_fails_alone() {
    let place = Place::new();
    let backend = place.open();
    submit(&backend, Submit::new(fixture::new_id())).await;
    let taken = take(&backend, 1).await;
    let bad = taken[0].execution;
    place.sql().execute("UPDATE execution SET version = version + 1", ()).unwrap();
    let (first, last) = (fixture::new_id(), fixture::new_id());
    let batch =
        vec![command(Submit::new(first)), command(complete(&taken[0])), command(Submit::new(last))];
    let mut answers = backend.store().execute(batch).await;
    answers.pop().unwrap().unwrap();
    names(answers.pop().unwrap(), bad);
    answers.pop().unwrap().unwrap();
    assert!(backend.store().record(first).await.unwrap().is_some());
    assert!(backend.store().record(last).await.unwrap().is_some());
    let result = BlobKey { execution: bad, part: BlobPart::Result(0) };
    assert!(backend.store().blob(result).await.unwrap().is_none(), "nothing of it is written");
}

#[tokio::test]
async fn a_record_of_a_later_format_is_unreadable() {
    let place = Place::new();
    let backend = place.open();
    let id = submit(&backend, Submit::new(fixture::new_id())).await;
    place
        .sql()
        .execute("UPDATE execution SET record = CAST(x'FF' || substr(record, 2) AS BLOB)", ())
        .unwrap();
    match backend.describe(&target(id)).await {
        Err(StoreError::Corrupt(what)) => assert!(what.contains("format 255"), "{what}"),
        other => panic!("{other:?}"),
    }
}

/// Adds a copy of every row of `table`, with an unreadable text in `column`.
fn misname(place: &Place, table: &str, columns: &str, column: &str) {
    let spoilt = columns.replace(column, "'not a name!'");
    let sql = format!("INSERT INTO {table} ({columns}) SELECT {spoilt} FROM {table}");
    assert_eq!(place.sql().execute(&sql, ()).unwrap(), 1);
}

#[tokio::test]
async fn an_unreadable_name_is_not_counted_and_spoils_no_count() {
    let queue = "namespace, lane, class, score, id";
    let blocked = "namespace, kind, name, class, score, id";
    for (table, columns, column) in [
        ("queue", queue, "namespace"),
        ("queue", queue, "lane"),
        ("queue", queue, "class"),
        ("blocked", blocked, "namespace"),
        ("blocked", blocked, "kind"),
        ("blocked", blocked, "name"),
    ] {
        let place = Place::new();
        let backend = place.open();
        let quotas = [ResourceName::new("absent").unwrap()].into();
        let limits = ExecutionLimits { quotas, ..ExecutionLimits::default() };
        submit(&backend, Submit { limits, ..Submit::new(fixture::new_id()) }).await;
        assert!(take(&backend, 1).await.is_empty(), "it waits for its quota");
        submit(&backend, Submit::new(fixture::new_id())).await;
        misname(&place, table, columns, column);
        let backlog = backend.store().backlog().await.unwrap();
        let queued: Vec<_> = backlog.queues.values().map(|queue| queue.count).collect();
        let blocked: Vec<_> = backlog.blocked.values().copied().collect();
        assert_eq!((queued, blocked), (vec![1], vec![1]), "{table}.{column}");
        let limits = backend.store().blockers(&PartitionSet::All, None, 10).await.unwrap();
        assert_eq!(limits.len(), 1, "{table}.{column}: the limit is examined");
    }
}

#[tokio::test]
async fn an_unreadable_record_hides_no_blocked_execution_of_its_lane() {
    let place = Place::new();
    let backend = place.open();
    let quotas = [ResourceName::new("absent").unwrap()].into();
    let limits = ExecutionLimits { quotas, ..ExecutionLimits::default() };
    let limited = || Submit { limits: limits.clone(), ..Submit::new(fixture::new_id()) };
    let first = submit(&backend, limited()).await;
    submit(&backend, limited()).await;
    assert!(take(&backend, 2).await.is_empty(), "they wait for their quota");
    spoil(&place, first);
    let counted = backend.store().backlog().await.unwrap().blocked_by_lane;
    assert_eq!(counted, [((Namespace::default(), Lane::default()), 2)].into());
}

#[tokio::test]
async fn a_resource_of_an_unreadable_name_keeps_no_timer_from_running() {
    let columns = "kind, namespace, name, version, due, resource";
    for column in ["kind", "namespace", "name"] {
        let place = Place::new();
        let backend = place.open();
        let start = When::After(Millis::new(1));
        let delayed = submit(&backend, Submit { start, ..Submit::new(fixture::new_id()) }).await;
        let worker = Registering {
            namespace: Namespace::default(),
            worker: fixture::worker(),
            session: mint::request_id(),
            lanes: vec![Lane::default()],
            capabilities: Capabilities::NONE,
            ttl: Millis::from_secs(10),
        };
        backend.register(worker).await.unwrap();
        misname(&place, "resource", columns, column);
        place.sql().execute("UPDATE resource SET due = 1", ()).unwrap();
        let found = wait::until_async(TIMEOUT, async || {
            let timers = backend.store().due(&PartitionSet::All, None, 1).await.unwrap();
            let both = timers.due.iter().any(|(_, id)| *id == delayed);
            (both && timers.resources.len() == 1).then_some(())
        });
        found.await.unwrap_or_else(|| panic!("both timers are found in spite of a bad {column}"));
    }
}
