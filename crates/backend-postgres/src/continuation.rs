//! Continuations, and the counters of executions.

use std::collections::{BTreeMap, BTreeSet};

use ff_core::ExecutionId;
use ff_core::continuation::{Armed, Continuation, Tally, TallyChange};
use ff_store::audit::{Row as AuditRow, TallyRow};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::connection::Session;
use crate::error::Fault;
use crate::query;

/// When continuations are due. They are locked: one that was read is still there at the commit.
pub(crate) const READ: &str = "SELECT c.what, c.due FROM unnest($1::bytea[]) AS n(what)
 JOIN continuation c ON c.what = n.what FOR UPDATE OF c";

/// The counters of executions.
pub(crate) const TALLIES: &str =
    "SELECT owner, counter, value FROM tally WHERE owner = ANY($1) ORDER BY owner, counter";

/// Those of the owners that are there, locked: their counters are changed by one transaction at a time.
const OWNERS: &str = "SELECT e.id FROM unnest($1::uuid[]) AS n(id) JOIN execution e ON e.id = n.id
 FOR NO KEY UPDATE OF e";

const PUT: &str = "INSERT INTO tally (owner, counter, value)
 SELECT * FROM unnest($1::uuid[], $2::smallint[], $3::bigint[])
 ON CONFLICT (owner, counter) DO UPDATE SET value = EXCLUDED.value";

const REMOVE: &str =
    "DELETE FROM tally t USING unnest($1::uuid[], $2::smallint[]) AS n(owner, counter)
 WHERE (t.owner, t.counter) = (n.owner, n.counter)";

/// Counts, for owners that are there or are still to be written. Answers the continuations that latches add,
/// which are still to be written, too.
pub(crate) async fn count(
    session: &Session<'_>,
    changes: &[TallyChange],
    unwritten: &BTreeSet<ExecutionId>,
) -> Result<Vec<Armed>, Fault> {
    let owners: BTreeSet<_> = changes.iter().map(|change| change.owner).collect();
    let owners: Vec<_> = owners.into_iter().map(query::uuid).collect();
    session.prepare(&[OWNERS, TALLIES]).await?;
    let answers = session.all(&[(OWNERS, vec![&owners]), (TALLIES, vec![&owners])]).await?;
    let unwritten = unwritten.iter().map(|owner| (*owner, Tally::default()));
    let mut all: BTreeMap<ExecutionId, Tally> = unwritten.collect();
    for row in &answers[0] {
        all.insert(query::id(row, 0)?, Tally::default());
    }
    tallies(&answers[1], |owner, counter, value| {
        if let Some(tally) = all.get_mut(&owner) {
            tally.set(counter, value);
        }
    })?;
    let (mut armed, mut touched) = (Vec::new(), BTreeSet::new());
    for change in changes {
        if let Some(tally) = all.get_mut(&change.owner) {
            armed.extend(tally.count(change));
            touched.extend(change.add.keys().map(|counter| (change.owner, *counter)));
        }
    }
    let mut put: (Vec<Uuid>, Vec<i16>, Vec<i64>) = Default::default();
    let mut gone: (Vec<Uuid>, Vec<i16>) = Default::default();
    for (owner, counter) in touched {
        match all.get(&owner).map_or(0, |tally| tally.of(counter)) {
            0 => {
                gone.0.push(query::uuid(owner));
                gone.1.push(counter.into());
            }
            value => {
                put.0.push(query::uuid(owner));
                put.1.push(counter.into());
                put.2.push(value);
            }
        }
    }
    session.query(REMOVE, &[&gone.0, &gone.1]).await?;
    session.query(PUT, &[&put.0, &put.1, &put.2]).await?;
    Ok(armed)
}

/// Passes the rows of [`TALLIES`] on: owner, counter, value.
pub(crate) fn tallies(
    rows: &[Row],
    mut take: impl FnMut(ExecutionId, u8, i64),
) -> Result<(), Fault> {
    for row in rows {
        take(query::id(row, 0)?, counter(row)?, row.try_get(2)?);
    }
    Ok(())
}

/// The continuation in column `column`.
pub(crate) fn read(row: &Row, column: usize) -> Result<Continuation, Fault> {
    let bytes: &[u8] = row.try_get(column)?;
    Continuation::from_bytes(bytes)
        .ok_or_else(|| Fault::Unreadable(format!("{bytes:02x?} is no continuation")))
}

/// A continuation, for audit and comparison.
pub(crate) fn row(row: &Row) -> Result<AuditRow, Fault> {
    Ok(AuditRow::Continuation(read(row, 0)?, query::time(row, 1)?))
}

/// The columns of [`tally_row`], for a table of rows.
pub(crate) const TALLY_COLUMNS: &str = "SELECT owner, counter, value,
 EXISTS (SELECT 1 FROM execution WHERE id = owner) FROM tally";

/// A counter, for audit and comparison.
pub(crate) fn tally_row(row: &Row) -> Result<AuditRow, Fault> {
    let (owner, counter) = (query::id(row, 0)?, counter(row)?);
    let (value, is_owned) = (row.try_get(2)?, row.try_get(3)?);
    Ok(AuditRow::Tally(TallyRow { owner, counter, value, is_owned }))
}

/// The counter in the second column.
fn counter(row: &Row) -> Result<u8, Fault> {
    let counter: i16 = row.try_get(1)?;
    u8::try_from(counter).map_err(|_| Fault::Unreadable(format!("{counter} is no counter")))
}
