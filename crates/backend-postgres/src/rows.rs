//! Every row of the store in one snapshot, for audit and comparison.
//!
//! The snapshot is that of one transaction. While it is open the server keeps what others remove, so a reader
//! that is slow costs those that claim; one that held it for long is reported in the log.

use std::time::{Duration, Instant};

use ff_core::machine::LaneClass;
use ff_core::payload::{BlobKey, BlobPart};
use ff_core::placement::{Attention, Entry, QueueEntry, Score};
use ff_core::{Capabilities, IdempotencyKey, Lane, Namespace, RequestId};
use ff_store::audit::{ResourceEntry, Row, Rows};
use ff_store::{StoreError, codec};
use futures_util::future::try_join_all;
use tokio::sync::mpsc::Sender;
use tokio_postgres::{Portal, Row as SqlRow, Transaction};
use uuid::Uuid;

use crate::connection::Session;
use crate::error::Fault;
use crate::{continuation, element, query, resource};

/// How many rows are read at once.
const PAGE: i32 = 1_000;

/// A table and how one of its rows is read.
type Table = (&'static str, &'static str, fn(&SqlRow) -> Result<Row, Fault>);

/// Records first; then everything that belongs to them.
const TABLES: &[Table] = &[
    ("execution", "SELECT id, version, record FROM execution ORDER BY id", record),
    ("queue", "SELECT id, namespace, lane, class, score FROM queue", queue_entry),
    ("timer", "SELECT id, due FROM timer", timer_entry),
    ("request", "SELECT id, request FROM request", request_entry),
    ("list", "SELECT id, namespace, created FROM list", list_entry),
    ("attention", "SELECT id, namespace, created, attention FROM attention", attention_entry),
    ("blocked", "SELECT id, namespace, kind, name, class, score FROM blocked", blocked_entry),
    ("idempotency_key", "SELECT id, namespace, key FROM idempotency_key", key_entry),
    // What has something queued is registered by that.
    ("queue", "SELECT DISTINCT namespace, lane, class FROM queue WHERE class <> ''", class),
    ("blob", "SELECT id, part, octet_length(bytes)::bigint FROM blob", blob),
    ("element", element::COLUMNS, element::row),
    ("continuation", "SELECT what, due FROM continuation", continuation::row),
    ("tally", continuation::TALLY_COLUMNS, continuation::tally_row),
    ("resource", "SELECT kind, namespace, name, version, resource FROM resource", resource_row),
    ("resource", "SELECT kind, namespace, name FROM resource", resource_listed),
    (
        "resource",
        "SELECT kind, namespace, name, due FROM resource WHERE due IS NOT NULL",
        resource_timer,
    ),
];

/// Streams all rows over a connection of its own. The snapshot is that of the call.
pub(crate) async fn stream(mut session: Session<'static>) -> Result<Rows, StoreError> {
    let (sender, rows) = Rows::channel();
    let (begun, beginning) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        if let Err(fault) = scan(&mut session, &sender, begun).await {
            // The receiver is gone when this fails too.
            let _ = sender.send(Err(fault.into())).await;
        }
    });
    // If it could not begin, the error is among the rows.
    let _ = beginning.await;
    Ok(rows)
}

async fn scan(
    session: &mut Session<'static>,
    sender: &Sender<Result<Row, StoreError>>,
    begun: tokio::sync::oneshot::Sender<()>,
) -> Result<(), Fault> {
    session.batch("SET idle_in_transaction_session_timeout TO 0; SET enable_seqscan TO on").await?;
    let started = Instant::now();
    let Some(client) = session.client_mut() else { return Ok(()) };
    let statements = try_join_all(TABLES.iter().map(|(_, sql, _)| client.prepare(sql))).await?;
    let transaction = client
        .build_transaction()
        .isolation_level(tokio_postgres::IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()
        .await?;
    let bound = statements.iter().map(|statement| transaction.bind(statement, &[]));
    let portals = try_join_all(bound).await?;
    let first = portals.iter().map(|portal| transaction.query_portal(portal, PAGE));
    let pages = try_join_all(first).await?;
    let _ = begun.send(());
    for (((place, _, read), portal), page) in TABLES.iter().zip(&portals).zip(pages) {
        send_table(sender, &transaction, portal, page, place, *read).await?;
    }
    transaction.commit().await?;
    if started.elapsed() > WORTH_A_WARNING {
        tracing::warn!(
            seconds = started.elapsed().as_secs(),
            "an audit held a snapshot for long; the server could not clean up meanwhile"
        );
    }
    Ok(())
}

/// A snapshot that is held for longer is worth a warning.
const WORTH_A_WARNING: Duration = Duration::from_secs(60);

/// Sends the rows of a table, of which `page` are the first.
async fn send_table(
    sender: &Sender<Result<Row, StoreError>>,
    transaction: &Transaction<'_>,
    portal: &Portal,
    mut page: Vec<SqlRow>,
    place: &'static str,
    read: fn(&SqlRow) -> Result<Row, Fault>,
) -> Result<(), Fault> {
    loop {
        let is_last = page.len() < PAGE as usize;
        for row in &page {
            let row = match read(row) {
                Ok(row) => row,
                Err(Fault::Unreadable(why)) => Row::Unreadable { place: place.to_owned(), why },
                Err(fault) => return Err(fault),
            };
            if sender.send(Ok(row)).await.is_err() {
                return Ok(());
            }
        }
        if is_last {
            return Ok(());
        }
        page = transaction.query_portal(portal, PAGE).await?;
    }
}

fn record(row: &SqlRow) -> Result<Row, Fault> {
    let id = query::id(row, 0)?;
    let version: i64 = row.try_get(1)?;
    let record = codec::record(id, row.try_get(2)?)?;
    if record.version.get() as i64 != version {
        let why = format!("execution {id}: its row has another version than its record");
        return Err(Fault::Unreadable(why));
    }
    Ok(Row::Record(Box::new(record)))
}

fn resource_row(row: &SqlRow) -> Result<Row, Fault> {
    let key = resource::key(row)?;
    let found = codec::resource(&key, row.try_get(4)?)?;
    if found.version.get() as i64 != row.try_get::<_, i64>(3)? {
        let why = format!("{key:?}: its row has another version than what it says");
        return Err(Fault::Unreadable(why));
    }
    Ok(Row::Resource(Box::new(found)))
}

fn resource_timer(row: &SqlRow) -> Result<Row, Fault> {
    Ok(Row::ResourceEntry(resource::key(row)?, ResourceEntry::Timer(query::time(row, 3)?)))
}

fn resource_listed(row: &SqlRow) -> Result<Row, Fault> {
    Ok(Row::ResourceEntry(resource::key(row)?, ResourceEntry::Listed))
}

fn queue_entry(row: &SqlRow) -> Result<Row, Fault> {
    let place = QueueEntry {
        namespace: text(row, 1, |text| Namespace::new(text))?,
        lane: text(row, 2, |text| Lane::new(text))?,
        class: text(row, 3, Capabilities::parse)?,
        score: Score::from_stored(row.try_get(4)?),
    };
    Ok(Row::Entry(Entry::Queue(place), query::id(row, 0)?))
}

fn timer_entry(row: &SqlRow) -> Result<Row, Fault> {
    Ok(Row::Entry(Entry::Timer(query::time(row, 1)?), query::id(row, 0)?))
}

fn request_entry(row: &SqlRow) -> Result<Row, Fault> {
    let request = RequestId::new(row.try_get::<_, Uuid>(1)?.as_u128());
    Ok(Row::Entry(Entry::Request(request), query::id(row, 0)?))
}

fn list_entry(row: &SqlRow) -> Result<Row, Fault> {
    let namespace = text(row, 1, |text| Namespace::new(text))?;
    Ok(Row::Entry(Entry::List(namespace, query::time(row, 2)?), query::id(row, 0)?))
}

fn attention_entry(row: &SqlRow) -> Result<Row, Fault> {
    let namespace = text(row, 1, |text| Namespace::new(text))?;
    let created = query::time(row, 2)?;
    let word: &str = row.try_get(3)?;
    let attention = Attention::from_word(word)
        .ok_or_else(|| Fault::Unreadable(format!("{word:?} is no reason for attention")))?;
    Ok(Row::Entry(Entry::Attention(namespace, attention, created), query::id(row, 0)?))
}

fn blocked_entry(row: &SqlRow) -> Result<Row, Fault> {
    let namespace = text(row, 1, |text| Namespace::new(text))?;
    let on = query::blocker(row, 2)?;
    let (class, score) = (query::class(row.try_get(4)?), Score::from_stored(row.try_get(5)?));
    Ok(Row::Entry(Entry::Blocked(namespace, on, class, score), query::id(row, 0)?))
}

fn key_entry(row: &SqlRow) -> Result<Row, Fault> {
    let namespace = text(row, 1, |text| Namespace::new(text))?;
    let key = text(row, 2, |text| IdempotencyKey::new(text))?;
    Ok(Row::Entry(Entry::Key(namespace, key), query::id(row, 0)?))
}

fn class(row: &SqlRow) -> Result<Row, Fault> {
    Ok(Row::Class(LaneClass {
        namespace: text(row, 0, |text| Namespace::new(text))?,
        lane: text(row, 1, |text| Lane::new(text))?,
        class: text(row, 2, Capabilities::parse)?,
    }))
}

fn blob(row: &SqlRow) -> Result<Row, Fault> {
    let execution = query::id(row, 0)?;
    let part =
        match row.try_get::<_, i64>(1)? {
            -1 => BlobPart::Input,
            run => BlobPart::Result(u32::try_from(run).map_err(|_| {
                Fault::Unreadable(format!("execution {execution}: has no run {run}"))
            })?),
        };
    Ok(Row::Blob(BlobKey { execution, part }, query::count(row, 2)?))
}

fn text<T>(
    row: &SqlRow,
    column: usize,
    read: impl Fn(&str) -> Result<T, ff_core::Refusal>,
) -> Result<T, Fault> {
    read(row.try_get(column)?).map_err(|why| Fault::Unreadable(why.to_string()))
}
