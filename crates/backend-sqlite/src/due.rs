//! Due timers of executions, of resources and of continuations.
//!
//! They are read in pages, each from where the last one ended, so that timers that fail,
//! however many, hide no later ones. A row whose names cannot be read is skipped.

use ff_core::continuation::Continuation;
use ff_core::{ExecutionId, ResourceKey, Time};
use ff_store::{DueCursor, DueTimers};
use rusqlite::{Connection, Row};

use crate::clock::StoreClock;
use crate::continuation;
use crate::error::Fault;
use crate::query::{self, passed_over};
use crate::resource;

/// Due timers, earliest first, after `after`, at most `limit` of executions and as many of
/// resources and of continuations. Finished executions are removed by the confirmed time.
pub(crate) fn read(
    connection: &Connection,
    clock: &StoreClock,
    after: DueCursor,
    limit: usize,
) -> Result<DueTimers, Fault> {
    // One transaction, so that the time and all reads of timers are consistent.
    let transaction = connection.unchecked_transaction()?;
    let mark = clock.read(&transaction)?.mark;
    let due = executions(&transaction, (mark.now, mark.confirmed()), after.execution, limit)?;
    let resources = resources(&transaction, mark.now, after.resource.as_ref(), limit)?;
    let later = continuations(&transaction, mark.now, after.continuation, limit)?;
    let is_full = [due.len(), resources.len(), later.len()].contains(&limit);
    let more = is_full.then(|| DueCursor {
        execution: due.last().copied().or(after.execution),
        resource: resources.last().cloned().or(after.resource),
        continuation: later.last().copied().or(after.continuation),
    });
    let resources = resources.into_iter().map(|(_, key)| key).collect();
    let continuations = later.into_iter().map(|(_, due)| due).collect();
    let (now, next) = (mark.now, next(&transaction, mark.now)?);
    Ok(DueTimers { now, due, more, resources, continuations, next, offset: mark.offset() })
}

/// How many rows are read for `limit` of them: some may have to be skipped.
fn rows(limit: usize) -> i64 {
    2 * limit as i64
}

fn executions(
    connection: &Connection,
    (now, confirmed): (Time, Time),
    after: Option<(Time, ExecutionId)>,
    limit: usize,
) -> Result<Vec<(Time, ExecutionId)>, Fault> {
    let (after_due, after_id) = match after {
        Some((due, id)) => (due.as_ms() as i64, *id.as_bytes()),
        None => (-1, [0; 16]),
    };
    let mut select = connection.prepare_cached(
        "SELECT due, id FROM timer WHERE due <= ?1 AND (due, id) > (?2, ?3) \
         UNION ALL \
         SELECT due, id FROM retirement WHERE due <= ?5 AND (due, id) > (?2, ?3) \
         ORDER BY due, id LIMIT ?4",
    )?;
    let (now, confirmed) = (now.as_ms() as i64, confirmed.as_ms() as i64);
    let found = select.query((now, after_due, after_id, rows(limit), confirmed))?;
    page(found, limit, |row| Ok((query::time(row, 0)?, query::id(row, 1)?)))
}

fn resources(
    connection: &Connection,
    now: Time,
    after: Option<&(Time, ResourceKey)>,
    limit: usize,
) -> Result<Vec<(Time, ResourceKey)>, Fault> {
    let mut select = connection.prepare_cached(
        "SELECT kind, namespace, name, due FROM resource \
         WHERE due <= ?1 AND (due, kind, namespace, name) > (?2, ?3, ?4, ?5) \
         ORDER BY due, kind, namespace, name LIMIT ?6",
    )?;
    let (due, (kind, namespace, name)) =
        after.map_or((-1, ("", "", "")), |(due, key)| (due.as_ms() as i64, resource::texts(key)));
    let now = now.as_ms() as i64;
    let found = select.query((now, due, kind, namespace, name, rows(limit)))?;
    page(found, limit, |row| Ok((query::time(row, 3)?, resource::key(row)?)))
}

fn continuations(
    connection: &Connection,
    now: Time,
    after: Option<(Time, Continuation)>,
    limit: usize,
) -> Result<Vec<(Time, Continuation)>, Fault> {
    let mut select = connection.prepare_cached(
        "SELECT due, what FROM continuation WHERE due <= ?1 AND (due, what) > (?2, ?3) \
         ORDER BY due, what LIMIT ?4",
    )?;
    let (due, what) = match after {
        Some((due, last)) => (due.as_ms() as i64, last.to_bytes()),
        None => (-1, [0; Continuation::BYTES]),
    };
    let found = select.query((now.as_ms() as i64, due, what, rows(limit)))?;
    page(found, limit, |row| Ok((query::time(row, 0)?, continuation::read(row, 1)?)))
}

/// The first `limit` rows that can be read.
fn page<T>(
    mut rows: rusqlite::Rows<'_>,
    limit: usize,
    read: impl Fn(&Row<'_>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut found = Vec::new();
    while found.len() < limit {
        let Some(row) = rows.next()? else { break };
        found.extend(passed_over(read(row))?);
    }
    Ok(found)
}

/// The first timer that is not due.
fn next(connection: &Connection, now: Time) -> Result<Option<Time>, Fault> {
    let mut first = connection.prepare_cached(
        "SELECT due FROM timer WHERE due > ?1 \
         UNION ALL SELECT due FROM retirement WHERE due > ?1 \
         UNION ALL SELECT due FROM continuation WHERE due > ?1 \
         UNION ALL SELECT due FROM resource WHERE due > ?1 ORDER BY due LIMIT 1",
    )?;
    let mut rows = first.query([now.as_ms() as i64])?;
    let next = rows.next()?.map(|row| passed_over(query::time(row, 0))).transpose()?;
    Ok(next.flatten())
}
