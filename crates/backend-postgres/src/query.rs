//! Reads of single rows and of listings, for callers.

use bytes::Bytes;
use ff_core::limits::Blocker;
use ff_core::payload::{BlobKey, BlobPart};
use ff_core::placement::{AdmissionClass, QueueEntry, Score};
use ff_core::{Execution, ExecutionId, Namespace, Refusal, ResourceKind, ResourceName, Time};
use ff_store::{BlockedClass, BlockedScan, ListIndex, ListScan, Listed, Position, codec};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::connection::Session;
use crate::error::Fault;

/// The record of `id`.
pub(crate) async fn record(
    session: &Session<'_>,
    id: ExecutionId,
) -> Result<Option<Execution>, Fault> {
    let sql = "SELECT record FROM execution WHERE id = $1";
    match session.first(sql, &[&uuid(id)]).await? {
        Some(row) => Ok(Some(codec::record(id, row.try_get(0)?)?)),
        None => Ok(None),
    }
}

/// A payload stored outside its record.
pub(crate) async fn blob(session: &Session<'_>, key: BlobKey) -> Result<Option<Bytes>, Fault> {
    let sql = "SELECT bytes FROM blob WHERE id = $1 AND part = $2";
    let row = session.first(sql, &[&uuid(key.execution), &part_number(key.part)]).await?;
    Ok(row.map(|row| row.try_get::<_, Vec<u8>>(0)).transpose()?.map(Bytes::from))
}

/// The number of a part in the table.
pub(crate) fn part_number(part: BlobPart) -> i64 {
    match part {
        BlobPart::Input => -1,
        BlobPart::Result(run) => run.into(),
    }
}

/// An id as it is stored.
pub(crate) fn uuid(id: ExecutionId) -> Uuid {
    Uuid::from_bytes(*id.as_bytes())
}

/// The id in column `column`.
pub(crate) fn id(row: &Row, column: usize) -> Result<ExecutionId, Fault> {
    let stored: Uuid = row.try_get(column)?;
    ExecutionId::from_bytes(stored.as_bytes())
        .map_err(|_| Fault::Unreadable(format!("{stored} is not an execution id")))
}

/// The id in column `column` of an index; nothing when the entry names none, which affects that entry
/// alone and is reported by an audit.
pub(crate) fn entry(row: &Row, column: usize) -> Result<Option<ExecutionId>, Fault> {
    passed_over(id(row, column))
}

/// The result of reading a row of an index; nothing when it cannot be read, which affects that row
/// alone and is reported by an audit.
pub(crate) fn passed_over<T>(read: Result<T, Fault>) -> Result<Option<T>, Fault> {
    match read {
        Err(Fault::Unreadable(why)) => {
            tracing::warn!(why, "an index entry is skipped");
            Ok(None)
        }
        found => found.map(Some),
    }
}

/// The time in column `column`.
pub(crate) fn time(row: &Row, column: usize) -> Result<Time, Fault> {
    let ms: i64 = row.try_get(column)?;
    match u64::try_from(ms) {
        Ok(ms) if ms <= Time::MAX.as_ms() => Ok(Time::from_ms(ms)),
        _ => Err(Fault::Unreadable(format!("{ms} is not a time"))),
    }
}

/// The number in column `column`, which is never negative.
pub(crate) fn count(row: &Row, column: usize) -> Result<u64, Fault> {
    let number: i64 = row.try_get(column)?;
    u64::try_from(number).map_err(|_| Fault::Unreadable(format!("{number} counts nothing")))
}

/// A range of a listing, newest first.
pub(crate) async fn list(session: &Session<'_>, scan: &ListScan) -> Result<Vec<Listed>, Fault> {
    let first = Position { created: Time::MAX, id: [u8::MAX; 16] };
    let Position { created, id } = scan.after.unwrap_or(first);
    let (namespace, created, id, limit) =
        (scan.namespace.as_str(), created.as_ms() as i64, Uuid::from_bytes(id), scan.limit as i64);
    let rows = match scan.which {
        ListIndex::All => {
            let sql =
                "SELECT l.id, l.created, e.record FROM list l LEFT JOIN execution e ON e.id = l.id
                 WHERE l.namespace = $1 AND (l.created, l.id) < ($2, $3)
                 ORDER BY l.created DESC, l.id DESC LIMIT $4";
            session.query(sql, &[&namespace, &created, &id, &limit]).await?
        }
        ListIndex::Attention(attention) => {
            let sql = "SELECT a.id, a.created, e.record
                 FROM attention a LEFT JOIN execution e ON e.id = a.id
                 WHERE a.namespace = $1 AND a.attention = $5 AND (a.created, a.id) < ($2, $3)
                 ORDER BY a.created DESC, a.id DESC LIMIT $4";
            let word = attention.as_str();
            session.query(sql, &[&namespace, &created, &id, &limit, &word]).await?
        }
    };
    rows.iter().filter_map(|row| listed(row).transpose()).collect()
}

fn listed(row: &Row) -> Result<Option<Listed>, Fault> {
    let (Some(id), Ok(created)) = (entry(row, 0)?, time(row, 1)) else { return Ok(None) };
    let position = Position { created, id: *id.as_bytes() };
    let record = match row.try_get::<_, Option<&[u8]>>(2)? {
        Some(bytes) => codec::record(id, bytes).map_err(|why| why.0),
        None => Err(format!("execution {id}: listed but absent")),
    };
    Ok(Some(match record {
        Ok(record) => Listed::Record(Box::new(record)),
        Err(why) => {
            tracing::warn!(why, "a listed execution cannot be read");
            Listed::Unreadable(position)
        }
    }))
}

/// An admission class as stored: signed, in the same order.
pub(crate) fn class_number(class: AdmissionClass) -> i64 {
    (class.get() ^ (1 << 63)) as i64
}

/// The admission class that is stored as this number.
pub(crate) fn class(number: i64) -> AdmissionClass {
    AdmissionClass::from_stored(number as u64 ^ (1 << 63))
}

/// The classes of what waits for a limit, one step of the index each, and the first of each class.
const BLOCKED: &str = "WITH RECURSIVE step AS (
     SELECT (SELECT min(class) FROM blocked
         WHERE namespace = $1 AND kind = $2 AND name = $3 AND class >= $4) AS class, 1 AS number
     UNION ALL
     SELECT (SELECT min(class) FROM blocked
         WHERE namespace = $1 AND kind = $2 AND name = $3 AND class > s.class), s.number + 1
     FROM step s WHERE s.class IS NOT NULL AND s.number < $5)
 SELECT s.class, b.score, b.id FROM step s CROSS JOIN LATERAL (
     SELECT score, id FROM blocked
     WHERE namespace = $1 AND kind = $2 AND name = $3 AND class = s.class
     ORDER BY score, id LIMIT $6) AS b
 WHERE s.class IS NOT NULL ORDER BY s.class, b.score, b.id";

/// A range of the executions that wait for a budget or a quota.
pub(crate) async fn blocked(
    session: &Session<'_>,
    scan: &BlockedScan,
) -> Result<Vec<BlockedClass>, Fault> {
    let (namespace, kind, name) =
        (scan.namespace.as_str(), scan.on.kind.as_str(), scan.on.name.as_str());
    let (from, classes, each) = (class_number(scan.from), scan.classes as i32, scan.each as i64);
    let rows = session.query(BLOCKED, &[&namespace, &kind, &name, &from, &classes, &each]).await?;
    let mut found: Vec<BlockedClass> = Vec::new();
    for row in &rows {
        let Some(id) = entry(row, 2)? else { continue };
        let place = (Score::from_stored(row.try_get(1)?), id);
        let class = class(row.try_get(0)?);
        match found.last_mut().filter(|last| last.class == class) {
            Some(last) => last.first.push(place),
            None => found.push(BlockedClass { class, first: vec![place] }),
        }
    }
    Ok(found)
}

const BLOCKERS: &str = "WITH RECURSIVE step AS (
     (SELECT namespace, kind, name, 1 AS number FROM blocked
      WHERE (namespace, kind, name) > ($1, $2, $3) ORDER BY namespace, kind, name LIMIT 1)
     UNION ALL
     SELECT n.namespace, n.kind, n.name, s.number + 1 FROM step s CROSS JOIN LATERAL (
         SELECT b.namespace, b.kind, b.name FROM blocked b
         WHERE (b.namespace, b.kind, b.name) > (s.namespace, s.kind, s.name)
         ORDER BY b.namespace, b.kind, b.name LIMIT 1) AS n
     WHERE s.number < $4)
 SELECT namespace, kind, name FROM step ORDER BY number";

/// A range of the budgets and quotas that executions wait for. Twice as many are read, because some may
/// have to be skipped.
pub(crate) async fn blockers(
    session: &Session<'_>,
    after: Option<&(Namespace, Blocker)>,
    limit: usize,
) -> Result<Vec<(Namespace, Blocker)>, Fault> {
    let (namespace, kind, name) = after.map_or(("", "", ""), |(namespace, on)| {
        (namespace.as_str(), on.kind.as_str(), on.name.as_str())
    });
    let most = i32::try_from(2 * limit).unwrap_or(i32::MAX);
    let rows = session.query(BLOCKERS, &[&namespace, &kind, &name, &most]).await?;
    let one = |row: &Row| Ok((self::namespace(row, 0)?, blocker(row, 1)?));
    let found = rows.iter().filter_map(|row| passed_over(one(row)).transpose());
    found.take(limit).collect()
}

/// The namespace in column `column`.
pub(crate) fn namespace(row: &Row, column: usize) -> Result<Namespace, Fault> {
    let unreadable = |why: Refusal| Fault::Unreadable(format!("a namespace: {why}"));
    Namespace::new(row.try_get::<_, &str>(column)?).map_err(unreadable)
}

/// The budget or quota in column `column` and the one after it.
pub(crate) fn blocker(row: &Row, column: usize) -> Result<Blocker, Fault> {
    let (word, name): (&str, &str) = (row.try_get(column)?, row.try_get(column + 1)?);
    let unreadable = || Fault::Unreadable(format!("{word:?} {name:?} is nothing to wait for"));
    Ok(Blocker {
        kind: ResourceKind::parse(word).ok_or_else(unreadable)?,
        name: ResourceName::new(name).map_err(|_| unreadable())?,
    })
}

/// How many precede a place of a queue.
pub(crate) async fn ahead(
    session: &Session<'_>,
    place: &QueueEntry,
    id: ExecutionId,
) -> Result<u64, Fault> {
    let sql = "SELECT count(*) FROM queue
         WHERE namespace = $1 AND lane = $2 AND class = $3 AND (score, id) < ($4, $5)";
    let (namespace, lane, class) =
        (place.namespace.as_str(), place.lane.as_str(), place.class.as_str());
    let score = place.score.get();
    let ahead = session.number(sql, &[&namespace, &lane, &class, &score, &uuid(id)]).await?;
    Ok(ahead.unsigned_abs())
}
