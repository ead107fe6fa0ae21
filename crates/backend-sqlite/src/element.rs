//! Elements beside a record.

use bytes::Bytes;
use ff_core::ExecutionId;
use ff_core::collection::{
    Collection, Content, Element, ElementKey, ElementName, ElementRange, RangeRead,
};
use ff_store::audit::{ElementRow, Row, RowContent};
use ff_store::codec;
use rusqlite::{Connection, OptionalExtension};

use crate::error::Fault;
use crate::query;

type SqlRow<'a> = rusqlite::Row<'a>;

/// Writes an element. `buffer` is scratch space.
pub(crate) fn write(
    connection: &Connection,
    owner: ExecutionId,
    collection: Collection,
    element: &Element,
    buffer: &mut Vec<u8>,
) -> Result<(), Fault> {
    let bytes = match &element.content {
        Content::Attempt(attempt) => {
            codec::encode(attempt, buffer)?;
            &buffer[..]
        }
        Content::Bytes(bytes) => &bytes[..],
    };
    let name = element.name.as_ref().map(ElementName::as_bytes);
    let mut insert = connection.prepare_cached(
        "INSERT OR REPLACE INTO element (owner, collection, number, name, bytes) \
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    let number = element.number as i64;
    insert.execute((owner.as_bytes(), collection.number(), number, name, bytes))?;
    Ok(())
}

/// Removes all elements beside a record.
pub(crate) fn delete(connection: &Connection, owner: ExecutionId) -> Result<(), Fault> {
    connection
        .prepare_cached("DELETE FROM element WHERE owner = ?1")?
        .execute([owner.as_bytes()])?;
    Ok(())
}

/// Elements in a row.
pub(crate) fn range(connection: &Connection, range: &ElementRange) -> Result<Vec<Element>, Fault> {
    let mut select = connection.prepare_cached(
        "SELECT number, name, bytes FROM element \
         WHERE owner = ?1 AND collection = ?2 AND number >= ?3 ORDER BY number LIMIT ?4",
    )?;
    let from = i64::try_from(range.from).unwrap_or(i64::MAX);
    let limit = i64::try_from(range.limit).unwrap_or(i64::MAX);
    let of = (range.owner.as_bytes(), range.collection.number(), from, limit);
    let all = select.query_and_then(of, |row| element(range.owner, range.collection, row))?;
    let mut read = RangeRead::default();
    let cut = |found: &Result<Element, Fault>| found.as_ref().map_or(true, |one| read.takes(one));
    all.take_while(cut).collect()
}

/// The newest element of a name.
pub(crate) fn named(connection: &Connection, key: &ElementKey) -> Result<Option<Element>, Fault> {
    let mut select = connection.prepare_cached(
        "SELECT number, name, bytes FROM element \
         WHERE owner = ?1 AND collection = ?2 AND name = ?3 ORDER BY number DESC LIMIT 1",
    )?;
    let of = (key.owner.as_bytes(), key.collection.number(), key.name.as_bytes());
    let found = select.query_row(of, |row| Ok(element(key.owner, key.collection, row)));
    found.optional()?.transpose()
}

fn element(owner: ExecutionId, collection: Collection, row: &SqlRow<'_>) -> Result<Element, Fault> {
    let number = number(row, 0)?;
    let name = row.get_ref(1)?.as_blob_or_null()?.map(Bytes::copy_from_slice);
    let bytes = row.get_ref(2)?.as_blob()?;
    let content = match collection {
        Collection::Attempts => Content::Attempt(Box::new(codec::attempt(owner, number, bytes)?)),
        _ => Content::Bytes(Bytes::copy_from_slice(bytes)),
    };
    Ok(Element { number, name: name.map(ElementName::from_stored), content })
}

/// The columns of [`row`], for a table of rows. Of bytes only their number is read, attempts aside.
pub(crate) const COLUMNS: &str = "SELECT owner, collection, number, length(bytes), \
     CASE collection WHEN 0 THEN bytes END FROM element";

/// An element, for audit and comparison.
pub(crate) fn row(row: &SqlRow<'_>) -> Result<Row, Fault> {
    let owner = query::id(row, 0)?;
    let unreadable = |why| Fault::Unreadable(format!("execution {owner}: {why}"));
    let collection: u8 = row.get(1)?;
    let collection = Collection::try_from(collection).map_err(unreadable)?;
    let number = number(row, 2)?;
    let content = match collection {
        Collection::Attempts => {
            let bytes = row.get_ref(4)?.as_blob()?;
            RowContent::Attempt(Box::new(codec::attempt(owner, number, bytes)?))
        }
        _ => RowContent::Bytes(row.get::<_, i64>(3)? as u64),
    };
    Ok(Row::Element(Box::new(ElementRow { owner, collection, number, content })))
}

fn number(row: &SqlRow<'_>, column: usize) -> Result<u64, Fault> {
    let number: i64 = row.get(column)?;
    u64::try_from(number)
        .map_err(|_| Fault::Unreadable(format!("{number} is not the number of an element")))
}
