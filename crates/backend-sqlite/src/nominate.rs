//! Which queued executions a worker could take. It only nominates: the record decides.

use ff_core::machine::{Loaded, Nominate};
use ff_core::{Capabilities, ExecutionId};
use ff_store::codec;
use rusqlite::Connection;

use crate::error::Fault;
use crate::query;

/// A place in a queue: lower goes first.
type Place = (i64, ExecutionId);

/// How many entries of a queue that name no execution are skipped: this many rows are read beyond
/// the requested ones, if needed.
const UNREADABLE: usize = 8;

/// Adds the best candidates and their records to `loaded`. A candidate whose record is missing or
/// cannot be read is listed without one.
pub(crate) fn nominate(
    connection: &Connection,
    nominate: &Nominate,
    loaded: &mut Loaded,
) -> Result<(), Fault> {
    let classes = covered_classes(connection, nominate)?;
    if classes.is_empty() {
        return from_one_class(connection, nominate, loaded);
    }
    let best = best_of(connection, nominate, &classes)?;
    for (_, id) in &best {
        let record = query::record(connection, *id);
        loaded.records.insert(*id, readable(*id, record)?);
    }
    loaded.candidates = Some(best.into_iter().map(|(_, id)| id).collect());
    Ok(())
}

/// `record`, or nothing when it cannot be read: one bad record must not keep others from being
/// claimed.
pub(crate) fn readable<T>(
    id: ExecutionId,
    record: Result<Option<T>, Fault>,
) -> Result<Option<T>, Fault> {
    match record {
        Err(Fault::Unreadable(why)) => {
            tracing::warn!(execution = %id, why, "a record is skipped");
            Ok(None)
        }
        record => record,
    }
}

/// The classes, other than the empty one, that have something queued and that the worker covers.
fn covered_classes(connection: &Connection, nominate: &Nominate) -> Result<Vec<String>, Fault> {
    if nominate.capabilities.is_empty() {
        return Ok(Vec::new());
    }
    let mut select =
        connection.prepare_cached("SELECT class FROM class WHERE namespace = ?1 AND lane = ?2")?;
    let mut rows = select.query((nominate.namespace.as_str(), nominate.lane.as_str()))?;
    let mut classes = Vec::new();
    while let Some(row) = rows.next()? {
        let text = row.get_ref(0)?.as_str()?;
        match Capabilities::parse(text) {
            Ok(class) if nominate.capabilities.covers(&class) => classes.push(text.to_owned()),
            Ok(_) => {}
            Err(why) => tracing::warn!(class = text, %why, "a class is skipped"),
        }
    }
    Ok(classes)
}

/// The head of the empty class, which every worker covers.
fn from_one_class(
    connection: &Connection,
    nominate: &Nominate,
    loaded: &mut Loaded,
) -> Result<(), Fault> {
    let mut select = connection.prepare_cached(
        "SELECT queue.id, execution.record FROM queue LEFT JOIN execution USING (id) \
         WHERE namespace = ?1 AND lane = ?2 AND class = '' \
         ORDER BY score, queue.id LIMIT ?3",
    )?;
    let most = (nominate.limit + UNREADABLE) as i64;
    let parameters = (nominate.namespace.as_str(), nominate.lane.as_str(), most);
    let mut rows = select.query(parameters)?;
    let mut candidates = Vec::new();
    while candidates.len() < nominate.limit {
        let Some(row) = rows.next()? else { break };
        let Some(id) = query::entry(row, 0)? else { continue };
        let bytes = row.get_ref(1)?.as_blob_or_null()?;
        let record = bytes.map(|bytes| Ok(codec::record(id, bytes)?)).transpose();
        loaded.records.insert(id, readable(id, record)?);
        candidates.push(id);
    }
    loaded.candidates = Some(candidates);
    Ok(())
}

/// The best places of the empty class and of `classes`. Of many classes, only as many are read
/// beyond their head as could fill the answer.
fn best_of(
    connection: &Connection,
    nominate: &Nominate,
    classes: &[String],
) -> Result<Vec<Place>, Fault> {
    let mut heads: Vec<(Place, &str)> = Vec::new();
    for class in std::iter::once("").chain(classes.iter().map(String::as_str)) {
        let head = head_of(connection, nominate, class, 1)?.into_iter().next();
        heads.extend(head.map(|place| (place, class)));
    }
    heads.sort_unstable();
    heads.truncate(nominate.limit);
    if nominate.limit == 1 {
        return Ok(heads.into_iter().map(|(place, _)| place).collect());
    }
    let mut best = Vec::new();
    for (_, class) in heads {
        best.extend(head_of(connection, nominate, class, nominate.limit)?);
    }
    best.sort_unstable();
    best.truncate(nominate.limit);
    Ok(best)
}

fn head_of(
    connection: &Connection,
    nominate: &Nominate,
    class: &str,
    limit: usize,
) -> Result<Vec<Place>, Fault> {
    let mut select = connection.prepare_cached(
        "SELECT score, id FROM queue WHERE namespace = ?1 AND lane = ?2 AND class = ?3 \
         ORDER BY score, id LIMIT ?4",
    )?;
    let most = (limit + UNREADABLE) as i64;
    let parameters = (nominate.namespace.as_str(), nominate.lane.as_str(), class, most);
    let mut rows = select.query(parameters)?;
    let mut places = Vec::new();
    while places.len() < limit {
        let Some(row) = rows.next()? else { break };
        if let Some(id) = query::entry(row, 1)? {
            places.push((row.get(0)?, id));
        }
    }
    Ok(places)
}
