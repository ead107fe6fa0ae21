//! Resources: reads of their one table. All are in the one partition.

use ff_core::{Namespace, Partition, Resource, ResourceKey, ResourceKind, ResourceName};
use ff_store::{ResourceScan, codec};
use tokio_postgres::Row;

use crate::connection::Session;
use crate::error::Fault;

/// The resource of `key`.
pub(crate) async fn get(
    session: &Session<'_>,
    key: &ResourceKey,
) -> Result<Option<Resource>, Fault> {
    let [kind, namespace, name] = texts(key);
    let sql = "SELECT resource FROM resource WHERE kind = $1 AND namespace = $2 AND name = $3";
    match session.first(sql, &[&kind, &namespace, &name]).await? {
        Some(row) => Ok(Some(codec::resource(key, row.try_get(0)?)?)),
        None => Ok(None),
    }
}

/// A range of the resources of a namespace.
pub(crate) async fn scan(
    session: &Session<'_>,
    scan: &ResourceScan,
) -> Result<Vec<Resource>, Fault> {
    let sql = "SELECT kind, namespace, name, resource FROM resource
         WHERE kind = $1 AND namespace = $2 AND name > $3 ORDER BY name LIMIT $4";
    let after = scan.after.as_ref().map_or("", ResourceName::as_str);
    let (kind, namespace) = (scan.kind.as_str(), scan.namespace.as_str());
    let rows = session.query(sql, &[&kind, &namespace, &after, &(scan.limit as i64)]).await?;
    rows.iter().map(|row| Ok(codec::resource(&key(row)?, row.try_get(3)?)?)).collect()
}

/// The columns that name a resource.
pub(crate) fn texts(key: &ResourceKey) -> [&str; 3] {
    [key.kind.as_str(), key.namespace.as_str(), key.name.as_str()]
}

/// The key in the first three columns.
pub(crate) fn key(row: &Row) -> Result<ResourceKey, Fault> {
    let (word, namespace, name): (&str, &str, &str) =
        (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    let unreadable = |why: String| Fault::Unreadable(format!("a resource: {why}"));
    Ok(ResourceKey {
        partition: Partition::ONLY,
        kind: ResourceKind::parse(word)
            .ok_or_else(|| unreadable(format!("{word:?} is no kind")))?,
        namespace: Namespace::stored(namespace).map_err(|why| unreadable(why.to_string()))?,
        name: ResourceName::new(name).map_err(|why| unreadable(why.to_string()))?,
    })
}
