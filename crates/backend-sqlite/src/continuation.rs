//! Continuations, and the counters of executions.

use ff_core::continuation::{Armed, Continuation, ContinuationChange, Tally, TallyChange};
use ff_core::{ExecutionId, Time};
use ff_store::audit::{Row, TallyRow};
use rusqlite::{Connection, OptionalExtension};

use crate::error::Fault;
use crate::query;

type SqlRow<'a> = rusqlite::Row<'a>;

/// When a continuation is due; nothing if there is none.
pub(crate) fn due(connection: &Connection, read: &Continuation) -> Result<Option<Time>, Fault> {
    let mut select = connection.prepare_cached("SELECT due FROM continuation WHERE what = ?1")?;
    let found = select.query_row([read.to_bytes()], |row| Ok(query::time(row, 0)));
    found.optional()?.transpose()
}

/// The counters of an execution.
pub(crate) fn tally(connection: &Connection, owner: ExecutionId) -> Result<Tally, Fault> {
    let mut select =
        connection.prepare_cached("SELECT counter, value FROM tally WHERE owner = ?1")?;
    let mut rows = select.query([owner.as_bytes()])?;
    let mut tally = Tally::default();
    while let Some(row) = rows.next()? {
        tally.set(row.get(0)?, row.get(1)?);
    }
    Ok(tally)
}

/// Adds or removes a continuation. There is one writer, so one that was read is still there.
pub(crate) fn write(connection: &Connection, change: &ContinuationChange) -> Result<(), Fault> {
    match change {
        ContinuationChange::Add(armed) => add(connection, armed),
        ContinuationChange::Remove(read) => {
            let removed = connection
                .prepare_cached("DELETE FROM continuation WHERE what = ?1")?
                .execute([read.to_bytes()])?;
            match removed {
                1 => Ok(()),
                _ => Err(Fault::Unreadable(format!("{read:?} is not there"))),
            }
        }
    }
}

fn add(connection: &Connection, armed: &Armed) -> Result<(), Fault> {
    let Armed { continuation, due } = armed;
    connection
        .prepare_cached("INSERT OR REPLACE INTO continuation (what, due) VALUES (?1, ?2)")?
        .execute((continuation.to_bytes(), due.as_ms() as i64))?;
    Ok(())
}

/// Counts, if the owner is there. Answers the continuation that the latch has added.
pub(crate) fn count(connection: &Connection, change: &TallyChange) -> Result<Option<Armed>, Fault> {
    let owner = change.owner.as_bytes();
    let mut exists = connection.prepare_cached("SELECT 1 FROM execution WHERE id = ?1")?;
    if !exists.exists([owner])? {
        return Ok(None);
    }
    let mut tally = tally(connection, change.owner)?;
    let added = tally.count(change);
    for counter in change.add.keys() {
        match tally.of(*counter) {
            0 => connection
                .prepare_cached("DELETE FROM tally WHERE owner = ?1 AND counter = ?2")?
                .execute((owner, counter))?,
            value => connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO tally (owner, counter, value) VALUES (?1, ?2, ?3)",
                )?
                .execute((owner, counter, value))?,
        };
    }
    added.iter().try_for_each(|armed| add(connection, armed))?;
    Ok(added)
}

/// Removes the counters of an execution.
pub(crate) fn delete_tally(connection: &Connection, owner: ExecutionId) -> Result<(), Fault> {
    connection.prepare_cached("DELETE FROM tally WHERE owner = ?1")?.execute([owner.as_bytes()])?;
    Ok(())
}

/// The continuation in column `column`.
pub(crate) fn read(row: &SqlRow<'_>, column: usize) -> Result<Continuation, Fault> {
    let bytes = row.get_ref(column)?.as_blob()?;
    Continuation::from_bytes(bytes)
        .ok_or_else(|| Fault::Unreadable(format!("{bytes:02x?} is no continuation")))
}

/// A continuation, for audit and comparison.
pub(crate) fn row(row: &SqlRow<'_>) -> Result<Row, Fault> {
    Ok(Row::Continuation(read(row, 0)?, query::time(row, 1)?))
}

/// The columns of [`tally_row`], for a table of rows.
pub(crate) const TALLY_COLUMNS: &str = "SELECT owner, counter, value, \
     EXISTS (SELECT 1 FROM execution WHERE id = owner) FROM tally";

/// A counter, for audit and comparison.
pub(crate) fn tally_row(row: &SqlRow<'_>) -> Result<Row, Fault> {
    let (owner, counter, value) = (query::id(row, 0)?, row.get(1)?, row.get(2)?);
    Ok(Row::Tally(TallyRow { owner, counter, value, is_owned: row.get(3)? }))
}
