//! The log of events, in an order in which nothing that is committed later comes before what was read.
//!
//! Transactions commit in another order than they write in, so a number from a sequence is no place in a
//! log: a reader that has seen a higher one would never come back for a lower one. Here an event has the
//! number of its transaction, or that of the last one that had ended when it was written, if that is
//! higher, and is read once every transaction with a lower number, or the same, has ended. The events of one
//! execution are in the order of its changes: a later change is written after the earlier one has committed.

use std::time::Duration;

use ff_core::event::Event;
use ff_core::feed::Trim;
use ff_core::{Namespace, Partition, ResourceKey};
use ff_store::codec;
use ff_store::events::{LogPage, LogScan, PartLog, Place, Positions};
use tokio::time::sleep;
use tokio_postgres::Row;

use crate::columns::encoded;
use crate::connection::Session;
use crate::error::Fault;
use crate::query;

/// How many events one call removes.
const TRIMMED: usize = 10_000;

/// How often a reader looks again for what is written and not yet to be read, and how long it waits in between.
const LOOKS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(25);

/// The one partition.
const ONLY: u16 = Partition::ONLY.number();

/// Writes events whose feed is on: as the transaction knows, or else as it is stored.
pub(crate) const PUT: &str = "INSERT INTO event (namespace, major, at, event)
 SELECT n.namespace, greatest(pg_current_xact_id()::text::bigint,
     pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1), n.at, n.event
 FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::boolean[])
     WITH ORDINALITY AS n(namespace, at, event, is_on, place)
 WHERE n.is_on OR EXISTS (SELECT 1 FROM resource r
     WHERE r.kind = 'feed' AND r.namespace = n.namespace AND r.gate)
 ORDER BY n.place";

const READ: &str = "SELECT s.xmax, coalesce(r.major, 0), coalesce(r.minor, 0),
     EXISTS (SELECT 1 FROM event l WHERE l.namespace = $1 AND l.major >= s.xmin
         AND (l.major, l.minor) > ($2, $3)), e.major, e.minor, e.event
 FROM (SELECT pg_snapshot_xmin(x)::text::bigint AS xmin, pg_snapshot_xmax(x)::text::bigint AS xmax
     FROM pg_current_snapshot() AS x) AS s
 LEFT JOIN event_removed r ON r.namespace = $1
 LEFT JOIN LATERAL (SELECT major, minor, event FROM event
     WHERE namespace = $1 AND (major, minor) > ($2, $3) AND major < s.xmin
     ORDER BY major, minor LIMIT $4) AS e ON true
 ORDER BY e.major, e.minor";

const HEAD: &str = "SELECT s.xmin - 1,
     EXISTS (SELECT 1 FROM event l WHERE l.namespace = $1 AND l.major >= s.xmin)
 FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS xmin) AS s";

/// The oldest events: place and time, and whether each is to be read already.
const OLDEST: &str = "SELECT e.major, e.minor, e.at, e.major < s.xmin
 FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS xmin) AS s
 CROSS JOIN LATERAL (SELECT major, minor, at FROM event WHERE namespace = $1
     ORDER BY major, minor LIMIT $2) AS e
 ORDER BY e.major, e.minor";

/// The number of the newest event.
const NEWEST: &str = "SELECT coalesce((SELECT minor FROM event WHERE namespace = $1
 ORDER BY major DESC, minor DESC LIMIT 1), 0)";

/// The newest event that is too many, if so many are kept.
const TOO_MANY: &str = "SELECT major, minor FROM event WHERE namespace = $1
 ORDER BY major DESC, minor DESC OFFSET $2 LIMIT 1";

const REMOVE: &str = "WITH gone AS (
     DELETE FROM event WHERE namespace = $1 AND (major, minor) <= ($2, $3))
 INSERT INTO event_removed AS r (namespace, major, minor) VALUES ($1, $2, $3)
 ON CONFLICT (namespace) DO UPDATE SET major = EXCLUDED.major, minor = EXCLUDED.minor
 WHERE (r.major, r.minor) < (EXCLUDED.major, EXCLUDED.minor)";

/// What a server wrote whose transactions have other numbers: that of another cluster, before its data was
/// copied here.
const FOREIGN: &str = "WITH late AS MATERIALIZED (
     SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xmax),
 marks AS (DELETE FROM event_removed r USING late WHERE r.major >= late.xmax),
 gone AS (DELETE FROM event e USING late, resource f
     WHERE f.kind = 'feed' AND e.namespace = f.namespace AND e.major >= late.xmax RETURNING 1)
 SELECT count(*) FROM gone";

/// The columns of events.
#[derive(Default)]
pub(crate) struct Logged<'a> {
    pub(crate) namespace: Vec<&'a str>,
    pub(crate) at: Vec<i64>,
    pub(crate) event: Vec<Vec<u8>>,
    pub(crate) is_on: Vec<Option<bool>>,
}

impl<'a> Logged<'a> {
    /// Adds an event; `is_on` is what the transaction knows of its feed.
    pub(crate) fn add(&mut self, event: &'a Event, is_on: Option<bool>) -> Result<(), Fault> {
        self.namespace.push(event.namespace.as_str());
        self.at.push(event.at.as_ms() as i64);
        self.event.push(encoded(event)?);
        self.is_on.push(is_on);
        Ok(())
    }
}

/// The feed of a namespace.
pub(crate) fn feed(namespace: &Namespace) -> ResourceKey {
    ResourceKey::feed_in(Partition::ONLY, namespace)
}

/// Events after a place. What is written and not yet to be read is waited for, for a moment.
pub(crate) async fn read(session: &Session<'_>, scan: &LogScan) -> Result<LogPage, Fault> {
    let namespace = scan.namespace.as_str();
    let after = scan.after.of(ONLY);
    let (major, minor) = (stored(after.major), stored(after.minor));
    let limit = scan.limit as i64;
    let mut looks = 0;
    loop {
        let rows = session.query(READ, &[&namespace, &major, &minor, &limit]).await?;
        let first = rows.first().ok_or_else(|| Fault::Unreadable("a log is silent".into()))?;
        let found = match first.try_get::<_, Option<i64>>(4)? {
            Some(_) => rows.len(),
            None => 0,
        };
        let is_late: bool = first.try_get(3)?;
        if is_late && found < scan.limit && looks < LOOKS {
            looks += 1;
            sleep(PAUSE).await;
            continue;
        }
        return page(scan, after, &rows[..found], first);
    }
}

fn page(scan: &LogScan, after: Place, rows: &[Row], state: &Row) -> Result<LogPage, Fault> {
    let end: i64 = state.try_get(0)?;
    let removed = place(state, 1)?;
    let expired = after < removed || stored(after.major) >= end;
    let behind = (after < removed).then_some(removed);
    let mut part = PartLog { partition: ONLY, expired, last: behind, ..PartLog::default() };
    for row in rows {
        let place = place(row, 4)?;
        match codec::decode::<Event>(row.try_get(6)?) {
            Ok(event) => part.events.push((place, event)),
            Err(why) => {
                let namespace = scan.namespace.as_str();
                tracing::error!(namespace, ?place, why, "an event cannot be read");
            }
        }
        part.last = Some(place);
    }
    part.more = rows.len() == scan.limit;
    Ok(LogPage::of(scan.after.clone(), [part]))
}

/// The place before everything that is committed later.
pub(crate) async fn heads(
    session: &Session<'_>,
    namespace: &Namespace,
) -> Result<Positions, Fault> {
    let mut looks = 0;
    loop {
        let row = session.first(HEAD, &[&namespace.as_str()]).await?;
        let row = row.ok_or_else(|| Fault::Unreadable("a log is silent".into()))?;
        if row.try_get(1)? && looks < LOOKS {
            looks += 1;
            sleep(PAUSE).await;
            continue;
        }
        let major = query::count(&row, 0)?;
        return Ok([(ONLY, Place { major, minor: i64::MAX as u64 })].into_iter().collect());
    }
}

/// Removes the oldest events, and answers whether there is more to remove. What is not yet to be read stays,
/// unless all of a log goes: its feed is off, and nothing is written to it.
pub(crate) async fn trim(
    session: &Session<'_>,
    namespace: &Namespace,
    trim: Trim,
) -> Result<bool, Fault> {
    let name = namespace.as_str();
    let is_emptied = trim.most == 0;
    let mut looks = 0;
    loop {
        let rows = session.query(OLDEST, &[&name, &(TRIMMED as i64)]).await?;
        let Some(first) = rows.first() else { return Ok(false) };
        let too_many = too_many(session, name, place(first, 0)?, trim.most).await?;
        let (mut upto, mut count, mut is_late) = (None, 0, false);
        for row in &rows {
            let (place, at) = (place(row, 0)?, query::count(row, 2)?);
            if at >= trim.before.as_ms() && Some(place) > too_many {
                break;
            }
            if !is_emptied && !row.try_get::<_, bool>(3)? {
                is_late = true;
                break;
            }
            (upto, count) = (Some(place), count + 1);
        }
        if is_late && looks < LOOKS {
            looks += 1;
            sleep(PAUSE).await;
            continue;
        }
        let Some(upto) = upto else { return Ok(false) };
        session.query(REMOVE, &[&name, &stored(upto.major), &stored(upto.minor)]).await?;
        return Ok(count == TRIMMED);
    }
}

/// The newest event that goes because there are too many. Numbers only grow, so there are no more than they
/// say, and mostly nothing is to be counted.
async fn too_many(
    session: &Session<'_>,
    namespace: &str,
    first: Place,
    most: u64,
) -> Result<Option<Place>, Fault> {
    let newest = session.number(NEWEST, &[&namespace]).await?;
    if newest.saturating_sub(stored(first.minor)) < stored(most) {
        return Ok(None);
    }
    let row = session.first(TOO_MANY, &[&namespace, &stored(most)]).await?;
    row.map(|row| place(&row, 0)).transpose()
}

/// Removes what has places of another server, which would never be read here.
pub(crate) async fn remove_foreign(session: &Session<'_>) -> Result<(), Fault> {
    let gone = session.number(FOREIGN, &[]).await?;
    if gone > 0 {
        tracing::warn!(
            events = gone,
            "the data was copied from another server; its events are removed, and cursors have expired"
        );
    }
    Ok(())
}

/// A number of a place as it is stored.
fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The place in two columns.
fn place(row: &Row, column: usize) -> Result<Place, Fault> {
    Ok(Place { major: query::count(row, column)?, minor: query::count(row, column + 1)? })
}
