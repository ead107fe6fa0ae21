//! How many executions wait, for what, and how many run. A row that cannot be read is not counted.

use ff_core::limits::Blocker;
use ff_core::placement::Score;
use ff_core::{Capabilities, Execution, Lane, Namespace, Refusal};
use ff_store::backlog::Backlog;
use ff_store::codec;
use rusqlite::{Connection, Row};

use crate::clock::StoreClock;
use crate::error::Fault;
use crate::query::{self, passed_over};

pub(crate) fn count(connection: &Connection, clock: &StoreClock) -> Result<Backlog, Fault> {
    // One transaction, for a consistent count.
    let connection = connection.unchecked_transaction()?;
    let now = clock.read(&connection)?.mark.now;
    let mut backlog = Backlog { now, ..Backlog::default() };
    let mut queues = connection.prepare_cached(
        "SELECT namespace, lane, class, COUNT(*), MIN(score) FROM queue
         GROUP BY namespace, lane, class",
    )?;
    let mut rows = queues.query([])?;
    while let Some(row) = rows.next()? {
        let Some((queue, requires)) = passed_over(queue(row))? else { continue };
        let head = Score::from_stored(row.get(4)?);
        backlog.add_queue(queue, requires, number(row, 3)?, head);
    }
    let mut holding = connection
        .prepare_cached("SELECT execution.id, record FROM request JOIN execution USING (id)")?;
    let mut rows = holding.query([])?;
    while let Some(row) = rows.next()? {
        let Some(record) = record(row)? else { continue };
        if record.lease().is_some() {
            let queue = (record.spec.namespace.clone(), record.spec.lane.clone());
            *backlog.active.entry(queue).or_default() += 1;
        }
    }
    let mut blocked = connection.prepare_cached(
        "SELECT namespace, kind, name, class, COUNT(*) FROM blocked
         GROUP BY namespace, kind, name, class",
    )?;
    let mut rows = blocked.query([])?;
    while let Some(row) = rows.next()? {
        let limit =
            query::namespace(row, 0).and_then(|namespace| Ok((namespace, query::blocker(row, 1)?)));
        let Some(limit) = passed_over(limit)? else { continue };
        let lane = blocked_lane(&connection, &limit, row.get(3)?)?;
        backlog.add_blocked(limit, lane, number(row, 4)?);
    }
    let mut workers =
        connection.prepare_cached("SELECT COUNT(*) FROM resource WHERE kind = 'worker'")?;
    backlog.workers = workers.query_one([], |row| row.get::<_, u32>(0))?.into();
    Ok(backlog)
}

/// The queue in the first columns, and what its executions require.
fn queue(row: &Row<'_>) -> Result<((Namespace, Lane), Capabilities), Fault> {
    let lane = Lane::new(row.get_ref(1)?.as_str()?).map_err(unreadable)?;
    let requires = Capabilities::parse(row.get_ref(2)?.as_str()?).map_err(unreadable)?;
    Ok(((query::namespace(row, 0)?, lane), requires))
}

/// The record in the second column, of the id in the first. One that cannot be read costs its own
/// count alone, and is reported by an audit.
fn record(row: &Row<'_>) -> Result<Option<Execution>, Fault> {
    let Some(id) = query::entry(row, 0)? else { return Ok(None) };
    Ok(codec::record(id, row.get_ref(1)?.as_blob()?).ok())
}

/// The lane of the executions of one class that wait for one limit: that of the first one whose
/// record can be read.
fn blocked_lane(
    connection: &Connection,
    (namespace, on): &(Namespace, Blocker),
    class: i64,
) -> Result<Option<Lane>, Fault> {
    let mut members = connection.prepare_cached(
        "SELECT execution.id, record FROM blocked JOIN execution USING (id)
         WHERE namespace = ?1 AND kind = ?2 AND name = ?3 AND class = ?4 ORDER BY score, id",
    )?;
    let limit = (namespace.as_str(), on.kind.as_str(), on.name.as_str(), class);
    let mut rows = members.query(limit)?;
    while let Some(row) = rows.next()? {
        if let Some(record) = record(row)? {
            return Ok(Some(record.spec.lane.clone()));
        }
    }
    Ok(None)
}

fn number(row: &Row<'_>, column: usize) -> Result<u64, Fault> {
    Ok(row.get::<_, i64>(column)?.unsigned_abs())
}

fn unreadable(why: Refusal) -> Fault {
    Fault::Unreadable(format!("a name: {why}"))
}
