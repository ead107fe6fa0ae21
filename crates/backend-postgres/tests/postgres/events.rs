//! The log of events while transactions commit in another order than they write in.

use std::time::Duration;

use ff_backend_postgres::{PostgresStore, Schema, submit_in};
use ff_core::event::EventName;
use ff_core::machine::{Delete, Submit};
use ff_core::{ExecutionId, Namespace};
use ff_store::events::{EventFilter, EventsRequest, FeedUpdate, LogScan, Positions, StartAt};
use ff_store::roles::Engine;
use ff_store::{ClientBackend, EventsBackend, Store, mint};
use ff_testkit::wait::until_async;

use crate::calls::{Place, complete, new_id, submit, take, target};
use crate::fixture::sql;

/// How long a test waits for other transactions to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// A store whose feed is on.
async fn logging(place: &Place) -> Engine<PostgresStore> {
    let store = place.open().await;
    let on = FeedUpdate { on: Some(true), ..FeedUpdate::default() };
    store.set_feed(on).await.unwrap();
    store
}

/// What comes after `after`, and where to continue.
async fn read(
    store: &Engine<PostgresStore>,
    after: &Positions,
) -> (Vec<(ExecutionId, EventName)>, Positions) {
    let scan = LogScan { namespace: Namespace::default(), after: after.clone(), limit: 100 };
    let page = store.store().events(scan).await.unwrap();
    assert!(!page.expired);
    let events = page.events.iter();
    (events.map(|one| (one.event.execution(), one.event.what.name())).collect(), page.positions)
}

/// The executions of what comes after `after`, once there are `count` events: a transaction anywhere on the
/// server, such as that of another test, holds events back.
async fn read_some(
    store: &Engine<PostgresStore>,
    after: &Positions,
    count: usize,
) -> Vec<ExecutionId> {
    let all = async || {
        let (events, _) = read(store, after).await;
        (events.len() >= count).then(|| events.into_iter().map(|(id, _)| id).collect())
    };
    until_async(PATIENCE, all).await.unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_is_committed_late_is_not_skipped() {
    let place = Place::new().await;
    let store = logging(&place).await;
    let schema = Schema::new(&place.schema()).unwrap();
    let begin = store.store().event_heads(&Namespace::default()).await.unwrap();
    let mut client = sql().await;
    let late = Submit::new(new_id());
    let transaction = client.transaction().await.unwrap();
    submit_in(&transaction, &schema, late.clone()).await.unwrap();
    let early = submit(&store).await;
    let (before, after) = read(&store, &begin).await;
    assert_eq!(before, [], "a reader that went on would never come back");
    transaction.commit().await.unwrap();
    let found = read_some(&store, &after, 2).await;
    assert_eq!(found.len(), 2);
    assert!(found.contains(&late.id) && found.contains(&early));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_began_first_and_wrote_last_comes_last() {
    let place = Place::new().await;
    let store = logging(&place).await;
    let schema = Schema::new(&place.schema()).unwrap();
    let begin = store.store().event_heads(&Namespace::default()).await.unwrap();
    let mut client = sql().await;
    let old = client.transaction().await.unwrap();
    old.query_one("SELECT pg_current_xact_id()::text", &[]).await.unwrap();
    let id = submit(&store).await;
    let taken = take(&store, 1).await.remove(0);
    ff_store::WorkerBackend::complete(&store, vec![complete(&taken)]).await.unwrap();
    let removed = mint::command(Delete { target: target(id) });
    store.store().execute(vec![removed]).await.remove(0).unwrap();
    // The same execution once more, by the transaction with the lowest number.
    submit_in(&old, &schema, Submit::new(id)).await.unwrap();
    old.commit().await.unwrap();
    assert!(!read_some(&store, &begin, 4).await.is_empty());
    let (events, _) = read(&store, &begin).await;
    assert!(events.iter().all(|(of, _)| *of == id), "{events:?}");
    let names: Vec<_> = events.iter().map(|(_, name)| *name).collect();
    assert_eq!(names.first(), Some(&EventName::Submitted));
    assert_eq!(names.last(), Some(&EventName::Submitted), "{names:?}");
    assert!(names.len() >= 4, "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_begins_after_a_feed_is_on_is_logged_whichever_process_writes() {
    let place = Place::new().await;
    let stores = [place.open().await, place.open().await];
    let writers: Vec<_> = stores
        .iter()
        .map(|store| {
            let store = store.clone();
            tokio::spawn(async move {
                for _ in 0..40 {
                    submit(&store).await;
                }
            })
        })
        .collect();
    let on = FeedUpdate { on: Some(true), ..FeedUpdate::default() };
    stores[0].set_feed(on).await.unwrap();
    let begin = stores[0].store().event_heads(&Namespace::default()).await.unwrap();
    let mut mine = Vec::new();
    for _ in 0..20 {
        mine.push(submit(&stores[1]).await);
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let logged = async || {
        let (events, _) = read(&stores[0], &begin).await;
        let logged: Vec<_> = events.into_iter().map(|(id, _)| id).collect();
        mine.iter().all(|id| logged.contains(id)).then_some(())
    };
    assert!(until_async(PATIENCE, logged).await.is_some(), "of {} some are missing", mine.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscriber_is_woken_by_another_process() {
    let place = Place::new().await;
    let (one, other) = (logging(&place).await, place.open().await);
    let request = |from, wait| EventsRequest {
        namespace: Namespace::default(),
        from,
        filter: EventFilter::default(),
        limit: 10,
        wait,
    };
    let now = other.events(request(StartAt::Now, ff_core::Millis::ZERO)).await.unwrap();
    let waiting = {
        let other = other.clone();
        let from = StartAt::After(now.cursor);
        tokio::spawn(async move {
            other.events(request(from, ff_core::Millis::from_secs(20))).await.unwrap()
        })
    };
    let id = submit(&one).await;
    let page = waiting.await.unwrap();
    assert_eq!(page.events.len(), 1);
    assert_eq!(page.events[0].execution(), id);
    assert_eq!(other.describe(&target(id)).await.unwrap().id, id);
}

#[tokio::test]
async fn events_that_another_server_numbered_are_removed() {
    let place = Place::new().await;
    let store = logging(&place).await;
    submit(&store).await;
    let copied = "UPDATE event SET major = major + (1::bigint << 60)";
    assert_eq!(place.sql(copied).await, 1);
    let again = place.open().await;
    assert_eq!(read(&again, &Positions::default()).await.0, []);
    let id = submit(&again).await;
    assert_eq!(read_some(&again, &Positions::default(), 1).await, [id]);
}
