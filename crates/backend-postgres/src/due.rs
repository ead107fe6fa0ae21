//! Due timers of executions, of resources and of continuations.
//!
//! They are read in pages, each from where the last one ended, so that timers that fail,
//! however many, hide no later ones. A row whose names cannot be read is skipped.

use ff_core::continuation::Continuation;
use ff_core::{ExecutionId, ResourceKey, Time};
use ff_store::{DueCursor, DueTimers};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::clock::StoreClock;
use crate::connection::Session;
use crate::error::Fault;
use crate::query::{self, passed_over};
use crate::{clock, continuation, resource};

const EXECUTIONS: &str = "SELECT due, id FROM timer WHERE due <= $1 AND (due, id) > ($2, $3)
 ORDER BY due, id LIMIT $4";

const RESOURCES: &str = "SELECT kind, namespace, name, due FROM resource
 WHERE due <= $1 AND (due, kind, namespace, name) > ($2, $3, $4, $5)
 ORDER BY due, kind, namespace, name LIMIT $6";

const CONTINUATIONS: &str = "SELECT due, what FROM continuation
 WHERE due <= $1 AND (due, what) > ($2, $3) ORDER BY due, what LIMIT $4";

/// The first timer that is not due.
const NEXT: &str = "SELECT least((SELECT min(due) FROM timer WHERE due > $1),
 (SELECT min(due) FROM continuation WHERE due > $1), (SELECT min(due) FROM resource WHERE due > $1))";

/// Due timers, earliest first, after `after`, at most `limit` of executions and as many of
/// resources and of continuations.
pub(crate) async fn read(
    session: &Session<'_>,
    clock: &StoreClock,
    after: DueCursor,
    limit: usize,
) -> Result<DueTimers, Fault> {
    session.prepare(&[EXECUTIONS, RESOURCES, CONTINUATIONS, NEXT]).await?;
    let now = clock.read(session).await?;
    let ms = now.as_ms() as i64;
    // Some may have to be skipped.
    let rows = 2 * limit as i64;
    let (due, id) =
        after.execution.map_or((-1, Uuid::nil()), |(due, id)| (ms_of(due), query::uuid(id)));
    let (resource_due, [kind, namespace, name]) = after
        .resource
        .as_ref()
        .map_or((-1, [""; 3]), |(due, key)| (ms_of(*due), resource::texts(key)));
    let (later_due, what) = match after.continuation {
        Some((due, last)) => (ms_of(due), last.to_bytes().to_vec()),
        None => (-1, Vec::new()),
    };
    let answers = session
        .all(&[
            (EXECUTIONS, vec![&ms, &due, &id, &rows]),
            (RESOURCES, vec![&ms, &resource_due, &kind, &namespace, &name, &rows]),
            (CONTINUATIONS, vec![&ms, &later_due, &what, &rows]),
            (NEXT, vec![&ms]),
        ])
        .await?;
    let due: Vec<(Time, ExecutionId)> =
        page(&answers[0], limit, |row| Ok((query::time(row, 0)?, query::id(row, 1)?)))?;
    let resources: Vec<(Time, ResourceKey)> =
        page(&answers[1], limit, |row| Ok((query::time(row, 3)?, resource::key(row)?)))?;
    let later: Vec<(Time, Continuation)> =
        page(&answers[2], limit, |row| Ok((query::time(row, 0)?, continuation::read(row, 1)?)))?;
    let next = match answers[3].first().map(|row| row.try_get::<_, Option<i64>>(0)).transpose()? {
        Some(Some(_)) => passed_over(query::time(&answers[3][0], 0))?,
        _ => None,
    };
    let is_full = [due.len(), resources.len(), later.len()].contains(&limit);
    let more = is_full.then(|| DueCursor {
        execution: due.last().copied().or(after.execution),
        resource: resources.last().cloned().or(after.resource),
        continuation: later.last().copied().or(after.continuation),
    });
    let resources = resources.into_iter().map(|(_, key)| key).collect();
    let continuations = later.into_iter().map(|(_, due)| due).collect();
    Ok(DueTimers { due, more, resources, continuations, next, ..DueTimers::none(clock::mark(now)) })
}

fn ms_of(time: Time) -> i64 {
    time.as_ms() as i64
}

/// The first `limit` rows that can be read.
fn page<T>(
    rows: &[Row],
    limit: usize,
    read: impl Fn(&Row) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let found = rows.iter().filter_map(|row| passed_over(read(row)).transpose());
    found.take(limit).collect()
}
