//! Every row of the store in one snapshot, for audit and comparison.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use ff_core::machine::LaneClass;
use ff_core::payload::{BlobKey, BlobPart};
use ff_core::placement::{Attention, Entry, QueueEntry, Score};
use ff_core::{Capabilities, IdempotencyKey, Lane, Namespace, RequestId};
use ff_store::audit::{ResourceEntry, Row, Rows};
use ff_store::{StoreError, codec};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::connection;
use crate::error::Fault;
use crate::{continuation, element, query, resource};

type SqlRow<'a> = rusqlite::Row<'a>;
type Emit<'a> = dyn FnMut(Row) -> ControlFlow<()> + 'a;

/// A table and how one of its rows is read.
type Table = (&'static str, &'static str, fn(&SqlRow<'_>) -> Result<Row, Fault>);

/// Records first; then everything that belongs to them.
const TABLES: &[Table] = &[
    ("execution", "SELECT id, version, record FROM execution ORDER BY id", record),
    ("queue", "SELECT id, namespace, lane, class, score FROM queue", queue_entry),
    ("timer", "SELECT id, due FROM timer", timer_entry),
    ("retirement", "SELECT id, due FROM retirement", timer_entry),
    ("request", "SELECT id, request FROM request", request_entry),
    ("list", "SELECT id, namespace, created FROM list", list_entry),
    ("attention", "SELECT id, namespace, created, attention FROM attention", attention_entry),
    ("blocked", "SELECT id, namespace, kind, name, class, score FROM blocked", blocked_entry),
    ("idempotency_key", "SELECT id, namespace, key FROM idempotency_key", key_entry),
    ("class", "SELECT namespace, lane, class FROM class", class),
    (
        "blob",
        "SELECT id, part, CASE typeof(bytes) WHEN 'blob' THEN length(bytes) END FROM blob",
        blob,
    ),
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

/// Streams all rows from a separate thread and connection. The snapshot is that of the call.
pub(crate) async fn stream(path: &Path, busy_timeout: Duration) -> Result<Rows, StoreError> {
    let path = path.to_owned();
    let (sender, rows) = Rows::channel();
    let (begun, beginning) = oneshot::channel();
    let thread = move || {
        let connection = match begin(&path, busy_timeout) {
            Ok(connection) => connection,
            Err(error) => return drop(begun.send(Err(error))),
        };
        if begun.send(Ok(())).is_err() {
            return;
        }
        let mut emit = |row| match sender.blocking_send(Ok(row)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        };
        if let Err(fault) = scan(&connection, &mut emit) {
            // The receiver is gone when this fails too.
            let _ = sender.blocking_send(Err(fault.into()));
        }
    };
    std::thread::Builder::new()
        .name("ff-sqlite-rows".into())
        .spawn(thread)
        .map_err(|error| StoreError::Unavailable(format!("cannot start a thread: {error}")))?;
    let cut = || StoreError::Unavailable("a read was cut short".into());
    beginning.await.map_err(|_| cut())??;
    Ok(rows)
}

fn begin(path: &Path, busy_timeout: Duration) -> Result<Connection, StoreError> {
    let connection = connection::reader(path, busy_timeout)?;
    // The snapshot is taken at the first read.
    connection.execute_batch("BEGIN; SELECT time FROM clock;").map_err(Fault::from)?;
    Ok(connection)
}

/// All rows at once, inside one read of the writer's connection.
pub(crate) fn collect(connection: &Connection) -> Result<Vec<Row>, Fault> {
    let mut all = Vec::new();
    scan(connection, &mut |row| {
        all.push(row);
        ControlFlow::Continue(())
    })?;
    Ok(all)
}

/// Rows that are already read, as a stream.
pub(crate) fn replay(all: Vec<Row>) -> Rows {
    let (sender, rows) = Rows::channel();
    tokio::spawn(async move {
        for row in all {
            if sender.send(Ok(row)).await.is_err() {
                return;
            }
        }
    });
    rows
}

fn scan(connection: &Connection, emit: &mut Emit<'_>) -> Result<(), Fault> {
    for (table, sql, read) in TABLES {
        let mut select = connection.prepare(sql)?;
        let mut rows = select.query(())?;
        let mut number = 0;
        while let Some(row) = rows.next()? {
            number += 1;
            let row = match read(row) {
                Err(Fault::Unreadable(why)) => {
                    Row::Unreadable { place: format!("table {table}, row {number}"), why }
                }
                row => row?,
            };
            if emit(row).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn record(row: &SqlRow<'_>) -> Result<Row, Fault> {
    let id = query::id(row, 0)?;
    let version: i64 = row.get(1)?;
    let record = codec::record(id, row.get_ref(2)?.as_blob()?)?;
    if record.version.get() as i64 != version {
        let why = format!("execution {id}: its row has another version than its record");
        return Err(Fault::Unreadable(why));
    }
    Ok(Row::Record(Box::new(record)))
}

fn resource_row(row: &SqlRow<'_>) -> Result<Row, Fault> {
    let key = resource::key(row)?;
    let found = codec::resource(&key, row.get_ref(4)?.as_blob()?)?;
    if found.version.get() as i64 != row.get::<_, i64>(3)? {
        let why = format!("{key:?}: its row has another version than what it says");
        return Err(Fault::Unreadable(why));
    }
    Ok(Row::Resource(Box::new(found)))
}

fn resource_timer(row: &SqlRow<'_>) -> Result<Row, Fault> {
    Ok(Row::ResourceEntry(resource::key(row)?, ResourceEntry::Timer(query::time(row, 3)?)))
}

fn resource_listed(row: &SqlRow<'_>) -> Result<Row, Fault> {
    Ok(Row::ResourceEntry(resource::key(row)?, ResourceEntry::Listed))
}

fn queue_entry(row: &SqlRow<'_>) -> Result<Row, Fault> {
    let place = QueueEntry {
        namespace: text(row, 1, |text| Namespace::new(text))?,
        lane: text(row, 2, |text| Lane::new(text))?,
        class: text(row, 3, Capabilities::parse)?,
        score: Score::from_stored(row.get(4)?),
    };
    Ok(Row::Entry(Entry::Queue(place), query::id(row, 0)?))
}

fn timer_entry(row: &SqlRow<'_>) -> Result<Row, Fault> {
    Ok(Row::Entry(Entry::Timer(query::time(row, 1)?), query::id(row, 0)?))
}

fn request_entry(row: &SqlRow<'_>) -> Result<Row, Fault> {
    let request = RequestId::new(u128::from_be_bytes(row.get(1)?));
    Ok(Row::Entry(Entry::Request(request), query::id(row, 0)?))
}

fn list_entry(row: &SqlRow<'_>) -> Result<Row, Fault> {
    let namespace = text(row, 1, |text| Namespace::new(text))?;
    Ok(Row::Entry(Entry::List(namespace, query::time(row, 2)?), query::id(row, 0)?))
}

fn attention_entry(row: &SqlRow<'_>) -> Result<Row, Fault> {
    let namespace = text(row, 1, |text| Namespace::new(text))?;
    let created = query::time(row, 2)?;
    let word = row.get_ref(3)?.as_str()?;
    let attention = Attention::from_word(word)
        .ok_or_else(|| Fault::Unreadable(format!("{word:?} is no reason for attention")))?;
    Ok(Row::Entry(Entry::Attention(namespace, attention, created), query::id(row, 0)?))
}

fn blocked_entry(row: &SqlRow<'_>) -> Result<Row, Fault> {
    let namespace = text(row, 1, |text| Namespace::new(text))?;
    let on = query::blocker(row, 2)?;
    let (class, score) = (query::class(row.get(4)?), Score::from_stored(row.get(5)?));
    Ok(Row::Entry(Entry::Blocked(namespace, on, class, score), query::id(row, 0)?))
}

fn key_entry(row: &SqlRow<'_>) -> Result<Row, Fault> {
    let namespace = text(row, 1, |text| Namespace::new(text))?;
    let key = text(row, 2, |text| IdempotencyKey::new(text))?;
    Ok(Row::Entry(Entry::Key(namespace, key), query::id(row, 0)?))
}

fn class(row: &SqlRow<'_>) -> Result<Row, Fault> {
    Ok(Row::Class(LaneClass {
        namespace: text(row, 0, |text| Namespace::new(text))?,
        lane: text(row, 1, |text| Lane::new(text))?,
        class: text(row, 2, Capabilities::parse)?,
    }))
}

fn blob(row: &SqlRow<'_>) -> Result<Row, Fault> {
    let execution = query::id(row, 0)?;
    let part =
        match row.get(1)? {
            -1 => BlobPart::Input,
            run => BlobPart::Result(u32::try_from(run).map_err(|_| {
                Fault::Unreadable(format!("execution {execution}: has no run {run}"))
            })?),
        };
    let len = row.get::<_, Option<i64>>(2)?.and_then(|len| u64::try_from(len).ok());
    let len = len.ok_or_else(|| Fault::Unreadable(format!("execution {execution}: no bytes")))?;
    Ok(Row::Blob(BlobKey { execution, part }, len))
}

fn text<T>(
    row: &SqlRow<'_>,
    column: usize,
    read: impl Fn(&str) -> Result<T, ff_core::Refusal>,
) -> Result<T, Fault> {
    read(row.get_ref(column)?.as_str()?).map_err(|why| Fault::Unreadable(why.to_string()))
}
