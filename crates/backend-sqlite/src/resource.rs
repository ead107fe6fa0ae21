//! Resources: reads and writes of their one table. All are in the one partition.

use ff_core::machine::ResourceChange;
use ff_core::{Lane, Namespace, Partition, Resource, ResourceKey, ResourceKind, ResourceName};
use ff_store::{ResourceScan, codec};
use rusqlite::{Connection, Row};

use crate::error::Fault;

/// The resource of `key`.
pub(crate) fn get(connection: &Connection, key: &ResourceKey) -> Result<Option<Resource>, Fault> {
    let mut select = connection.prepare_cached(
        "SELECT resource FROM resource WHERE kind = ?1 AND namespace = ?2 AND name = ?3",
    )?;
    let mut rows = select.query(texts(key))?;
    match rows.next()? {
        Some(row) => Ok(Some(codec::resource(key, row.get_ref(0)?.as_blob()?)?)),
        None => Ok(None),
    }
}

/// The state of a lane, and its key.
pub(crate) fn lane(
    connection: &Connection,
    namespace: &Namespace,
    lane: &Lane,
) -> Result<(ResourceKey, Option<Resource>), Fault> {
    let key = ResourceKey::lane_in(Partition::ONLY, namespace, lane);
    let resource = get(connection, &key)?;
    Ok((key, resource))
}

/// A range of the resources of a namespace.
pub(crate) fn scan(connection: &Connection, scan: &ResourceScan) -> Result<Vec<Resource>, Fault> {
    let mut select = connection.prepare_cached(
        "SELECT kind, namespace, name, resource FROM resource \
         WHERE kind = ?1 AND namespace = ?2 AND name > ?3 ORDER BY name LIMIT ?4",
    )?;
    let after = scan.after.as_ref().map_or("", ResourceName::as_str);
    let (kind, namespace) = (scan.kind.as_str(), scan.namespace.as_str());
    let mut rows = select.query((kind, namespace, after, scan.limit as i64))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(codec::resource(&key(row)?, row.get_ref(3)?.as_blob()?)?);
    }
    Ok(found)
}

/// Writes a change; there is one writer, so nothing was written since the read.
pub(crate) fn write(
    connection: &Connection,
    change: &ResourceChange,
    buffer: &mut Vec<u8>,
) -> Result<(), Fault> {
    let (kind, namespace, name) = texts(&change.key);
    match &change.after {
        Some(resource) => {
            codec::encode(resource, buffer)?;
            let due = resource.timer().map(|at| at.as_ms() as i64);
            connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO resource \
                     (kind, namespace, name, version, due, resource) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                )?
                .execute((
                    kind,
                    namespace,
                    name,
                    resource.version.get() as i64,
                    due,
                    &buffer[..],
                ))?;
        }
        None => {
            connection
                .prepare_cached(
                    "DELETE FROM resource WHERE kind = ?1 AND namespace = ?2 AND name = ?3",
                )?
                .execute((kind, namespace, name))?;
        }
    }
    Ok(())
}

/// The columns that name a resource.
pub(crate) fn texts(key: &ResourceKey) -> (&'static str, &str, &str) {
    (key.kind.as_str(), key.namespace.as_str(), key.name.as_str())
}

/// The key in the first three columns.
pub(crate) fn key(row: &Row<'_>) -> Result<ResourceKey, Fault> {
    let word = row.get_ref(0)?.as_str()?;
    let text = |column: usize| Ok::<_, Fault>(row.get_ref(column)?.as_str()?);
    let unreadable = |why: String| Fault::Unreadable(format!("a resource: {why}"));
    Ok(ResourceKey {
        partition: Partition::ONLY,
        kind: ResourceKind::parse(word)
            .ok_or_else(|| unreadable(format!("{word:?} is no kind")))?,
        namespace: Namespace::stored(text(1)?).map_err(|why| unreadable(why.to_string()))?,
        name: ResourceName::new(text(2)?).map_err(|why| unreadable(why.to_string()))?,
    })
}
