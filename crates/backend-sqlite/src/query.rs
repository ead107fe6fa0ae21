//! Reads of single rows and of listings, for commands and callers.

use bytes::Bytes;
use ff_core::limits::Blocker;
use ff_core::payload::{BlobKey, BlobPart};
use ff_core::placement::{AdmissionClass, QueueEntry, Score};
use ff_core::{Execution, ExecutionId, Namespace, Refusal, ResourceKind, ResourceName, Time};
use ff_store::{BlockedClass, BlockedScan, ListIndex, ListScan, Listed, Position, codec};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Params, Row, ToSql, params_from_iter};

use crate::error::Fault;

/// The record of `id`.
pub(crate) fn record(connection: &Connection, id: ExecutionId) -> Result<Option<Execution>, Fault> {
    let mut select = connection.prepare_cached("SELECT record FROM execution WHERE id = ?1")?;
    let mut rows = select.query([id.as_bytes()])?;
    match rows.next()? {
        Some(row) => Ok(Some(codec::record(id, row.get_ref(0)?.as_blob()?)?)),
        None => Ok(None),
    }
}

/// A payload stored outside its record.
pub(crate) fn blob(connection: &Connection, key: BlobKey) -> Result<Option<Bytes>, Fault> {
    let mut select =
        connection.prepare_cached("SELECT bytes FROM blob WHERE id = ?1 AND part = ?2")?;
    let mut rows = select.query((key.execution.as_bytes(), part_number(key.part)))?;
    match rows.next()? {
        Some(row) => Ok(Some(Bytes::copy_from_slice(row.get_ref(0)?.as_blob()?))),
        None => Ok(None),
    }
}

/// The number of a part in the table.
pub(crate) fn part_number(part: BlobPart) -> i64 {
    match part {
        BlobPart::Input => -1,
        BlobPart::Result(run) => run.into(),
    }
}

/// The id in column `column`.
pub(crate) fn id(row: &Row<'_>, column: usize) -> Result<ExecutionId, Fault> {
    let bytes = row.get_ref(column)?.as_blob()?;
    ExecutionId::from_bytes(bytes)
        .map_err(|_| Fault::Unreadable(format!("{bytes:02x?} is not an execution id")))
}

/// The id in column `column` of an index; nothing when the entry names none, which affects that entry
/// alone and is reported by an audit.
pub(crate) fn entry(row: &Row<'_>, column: usize) -> Result<Option<ExecutionId>, Fault> {
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
pub(crate) fn time(row: &Row<'_>, column: usize) -> Result<Time, Fault> {
    let ms: i64 = row.get(column)?;
    match u64::try_from(ms) {
        Ok(ms) if ms <= Time::MAX.as_ms() => Ok(Time::from_ms(ms)),
        _ => Err(Fault::Unreadable(format!("{ms} is not a time"))),
    }
}

/// A range of a listing, newest first.
pub(crate) fn list(connection: &Connection, scan: &ListScan) -> Result<Vec<Listed>, Fault> {
    let first = Position { created: Time::MAX, id: [u8::MAX; 16] };
    let Position { created, id } = scan.after.unwrap_or(first);
    let (namespace, created, limit) =
        (scan.namespace.as_str(), created.as_ms() as i64, scan.limit as i64);
    match scan.which {
        ListIndex::All => listed(
            connection,
            "SELECT list.id, created, execution.record FROM list LEFT JOIN execution USING (id) \
             WHERE namespace = ?1 AND (created, list.id) < (?2, ?3) \
             ORDER BY created DESC, list.id DESC LIMIT ?4",
            (namespace, created, id, limit),
        ),
        ListIndex::Attention(attention) => listed(
            connection,
            "SELECT attention.id, created, execution.record FROM attention LEFT JOIN execution USING (id) \
             WHERE namespace = ?1 AND attention = ?5 AND (created, attention.id) < (?2, ?3) \
             ORDER BY created DESC, attention.id DESC LIMIT ?4",
            (namespace, created, id, limit, attention.as_str()),
        ),
    }
}

fn listed(
    connection: &Connection,
    sql: &str,
    parameters: impl Params,
) -> Result<Vec<Listed>, Fault> {
    let mut select = connection.prepare_cached(sql)?;
    let mut rows = select.query(parameters)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (Some(id), Ok(created)) = (entry(row, 0)?, time(row, 1)) else { continue };
        let position = Position { created, id: *id.as_bytes() };
        let record = match row.get_ref(2)?.as_blob_or_null()? {
            Some(bytes) => codec::record(id, bytes).map_err(Fault::from),
            None => Err(Fault::Unreadable(format!("execution {id}: listed but absent"))),
        };
        found.push(match record {
            Ok(record) => Listed::Record(Box::new(record)),
            Err(Fault::Unreadable(why)) => {
                tracing::warn!(why, "a listed execution cannot be read");
                Listed::Unreadable(position)
            }
            Err(fault) => return Err(fault),
        });
    }
    Ok(found)
}

/// An admission class as stored: signed, in the same order.
pub(crate) fn class_number(class: AdmissionClass) -> i64 {
    (class.get() ^ (1 << 63)) as i64
}

/// The admission class that is stored as this number.
pub(crate) fn class(number: i64) -> AdmissionClass {
    AdmissionClass::from_stored(number as u64 ^ (1 << 63))
}

/// A range of the executions that wait for a budget or a quota.
pub(crate) fn blocked(
    connection: &Connection,
    scan: &BlockedScan,
) -> Result<Vec<BlockedClass>, Fault> {
    let (namespace, kind, name) =
        (scan.namespace.as_str(), scan.on.kind.as_str(), scan.on.name.as_str());
    let mut next = connection.prepare_cached(
        "SELECT class FROM blocked WHERE namespace = ?1 AND kind = ?2 AND name = ?3 \
         AND class >= ?4 ORDER BY class LIMIT 1",
    )?;
    let mut members = connection.prepare_cached(
        "SELECT score, id FROM blocked WHERE namespace = ?1 AND kind = ?2 AND name = ?3 \
         AND class = ?4 ORDER BY score, id LIMIT ?5",
    )?;
    let (mut found, mut from) = (Vec::new(), Some(scan.from));
    while let Some(at) = from.filter(|_| found.len() < scan.classes) {
        let parameters = (namespace, kind, name, class_number(at));
        let number = next.query_row(parameters, |row| row.get::<_, i64>(0)).optional()?;
        let Some(number) = number else { break };
        let place = |row: &Row<'_>| {
            let score = Score::from_stored(row.get(0)?);
            Ok::<_, Fault>(entry(row, 1)?.map(|id| (score, id)))
        };
        let parameters = (namespace, kind, name, number, scan.each as i64);
        let first = members.query_and_then(parameters, place)?.filter_map(Result::transpose);
        let first: Vec<_> = first.collect::<Result<_, _>>()?;
        let class = class(number);
        if !first.is_empty() {
            found.push(BlockedClass { class, first });
        }
        from = class.next();
    }
    Ok(found)
}

/// A range of the budgets and quotas that executions wait for.
pub(crate) fn blockers(
    connection: &Connection,
    after: Option<&(Namespace, Blocker)>,
    limit: usize,
) -> Result<Vec<(Namespace, Blocker)>, Fault> {
    let mut next = connection.prepare_cached(
        "SELECT namespace, kind, name FROM blocked WHERE (namespace, kind, name) > (?1, ?2, ?3) \
         ORDER BY namespace, kind, name LIMIT 1",
    )?;
    let text =
        |row: &Row<'_>, column| Ok::<_, Fault>(Text(row.get_ref(column)?.as_bytes()?.into()));
    let mut last = after.map_or_else(Default::default, |(namespace, on)| {
        [namespace.as_str(), on.kind.as_str(), on.name.as_str()].map(|text| Text(text.into()))
    });
    let mut found = Vec::new();
    for _ in 0..2 * limit {
        if found.len() == limit {
            break;
        }
        let mut rows = next.query(params_from_iter(&last))?;
        let Some(row) = rows.next()? else { break };
        let one = namespace(row, 0).and_then(|namespace| Ok((namespace, blocker(row, 1)?)));
        found.extend(passed_over(one)?);
        last = [text(row, 0)?, text(row, 1)?, text(row, 2)?];
    }
    Ok(found)
}

/// A text as it is stored, whether or not it can be read.
#[derive(Debug, Default)]
struct Text(Vec<u8>);

impl ToSql for Text {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(&self.0)))
    }
}

/// The namespace in column `column`.
pub(crate) fn namespace(row: &Row<'_>, column: usize) -> Result<Namespace, Fault> {
    let unreadable = |why: Refusal| Fault::Unreadable(format!("a namespace: {why}"));
    Namespace::new(row.get_ref(column)?.as_str()?).map_err(unreadable)
}

/// The budget or quota in column `column` and the one after it.
pub(crate) fn blocker(row: &Row<'_>, column: usize) -> Result<Blocker, Fault> {
    let (word, name) = (row.get_ref(column)?.as_str()?, row.get_ref(column + 1)?.as_str()?);
    let unreadable = || Fault::Unreadable(format!("{word:?} {name:?} is nothing to wait for"));
    Ok(Blocker {
        kind: ResourceKind::parse(word).ok_or_else(unreadable)?,
        name: ResourceName::new(name).map_err(|_| unreadable())?,
    })
}

/// How many precede a place of a queue.
pub(crate) fn ahead(
    connection: &Connection,
    place: &QueueEntry,
    id: ExecutionId,
) -> Result<u64, Fault> {
    let mut count = connection.prepare_cached(
        "SELECT count(*) FROM queue WHERE namespace = ?1 AND lane = ?2 AND class = ?3 \
         AND (score, id) < (?4, ?5)",
    )?;
    let (namespace, lane) = (place.namespace.as_str(), place.lane.as_str());
    let parameters = (namespace, lane, place.class.as_str(), place.score.get(), id.as_bytes());
    Ok(count.query_row(parameters, |row| row.get::<_, i64>(0))? as u64)
}

/// The execution with this idempotency key.
pub(crate) fn named(
    connection: &Connection,
    namespace: &str,
    key: &str,
) -> Result<Option<ExecutionId>, Fault> {
    let mut select = connection
        .prepare_cached("SELECT id FROM idempotency_key WHERE namespace = ?1 AND key = ?2")?;
    select.query_row((namespace, key), |row| Ok(id(row, 0))).optional()?.transpose()
}
