//! Elements next to a record.

use std::collections::HashSet;

use bytes::Bytes;
use ff_core::ExecutionId;
use ff_core::collection::{
    Collection, Content, Element, ElementKey, ElementName, ElementRange, RangeRead,
};
use ff_store::audit::{ElementRow, Row as AuditRow, RowContent};
use ff_store::codec;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::connection::Session;
use crate::error::Fault;
use crate::query;
use crate::view::View;

/// The newest element of each name.
pub(crate) const NAMED: &str = "SELECT n.place, e.number, e.name, e.bytes
 FROM unnest($1::uuid[], $2::smallint[], $3::bytea[]) WITH ORDINALITY
     AS n(owner, collection, name, place)
 CROSS JOIN LATERAL (SELECT number, name, bytes FROM element e
     WHERE e.owner = n.owner AND e.collection = n.collection AND e.name = n.name
     ORDER BY e.number DESC LIMIT 1) AS e";

/// Elements in rows, each up to the first one that is more than one answer should carry.
pub(crate) const RANGES: &str = "SELECT n.place, e.number, e.name, e.bytes
 FROM unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::bigint[]) WITH ORDINALITY
     AS n(owner, collection, first, most, place)
 CROSS JOIN LATERAL (
     SELECT number, name, bytes,
         sum(octet_length(bytes)) OVER (ORDER BY number) - octet_length(bytes) AS before
     FROM (SELECT number, name, bytes FROM element e
         WHERE e.owner = n.owner AND e.collection = n.collection AND e.number >= n.first
         ORDER BY e.number LIMIT n.most) AS part) AS e
 WHERE e.before <= 1048576 ORDER BY n.place, e.number";

/// The parameters of [`NAMED`].
#[derive(Default)]
pub(crate) struct Names<'a> {
    owners: Vec<Uuid>,
    collections: Vec<i16>,
    names: Vec<&'a [u8]>,
}

impl<'a> Names<'a> {
    pub(crate) fn of(keys: &'a HashSet<ElementKey>) -> Names<'a> {
        let mut names = Names::default();
        for key in keys {
            names.owners.push(query::uuid(key.owner));
            names.collections.push(key.collection.number().into());
            names.names.push(key.name.as_bytes());
        }
        names
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    pub(crate) fn parameters(&self) -> Vec<&(dyn ToSql + Sync)> {
        vec![&self.owners, &self.collections, &self.names]
    }
}

/// The parameters of [`RANGES`].
#[derive(Default)]
pub(crate) struct Ranges {
    owners: Vec<Uuid>,
    collections: Vec<i16>,
    firsts: Vec<i64>,
    limits: Vec<i64>,
}

impl Ranges {
    pub(crate) fn of<'a>(ranges: impl IntoIterator<Item = &'a ElementRange>) -> Ranges {
        let mut all = Ranges::default();
        for range in ranges {
            all.owners.push(query::uuid(range.owner));
            all.collections.push(range.collection.number().into());
            all.firsts.push(i64::try_from(range.from).unwrap_or(i64::MAX));
            all.limits.push(i64::try_from(range.limit).unwrap_or(i64::MAX));
        }
        all
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    pub(crate) fn parameters(&self) -> Vec<&(dyn ToSql + Sync)> {
        vec![&self.owners, &self.collections, &self.firsts, &self.limits]
    }
}

/// Adds the rows of [`NAMED`] to the view.
pub(crate) fn named(
    view: &mut View,
    keys: &HashSet<ElementKey>,
    rows: &[Row],
) -> Result<(), Fault> {
    for key in keys {
        view.elements.insert(key.clone(), None);
    }
    for row in rows {
        if let Some(key) = keys.iter().nth(place(row)?) {
            let found = element(key.owner, key.collection, row)?;
            view.elements.insert(key.clone(), Some(found));
        }
    }
    Ok(())
}

/// Passes the rows of [`RANGES`] on, each with the range it belongs to and what was read of that.
pub(crate) fn ranges<'a>(
    ranges: impl IntoIterator<Item = &'a ElementRange>,
    rows: &[Row],
    mut take: impl FnMut(&'a ElementRange, Element, &mut RangeRead),
) -> Result<(), Fault> {
    let mut all: Vec<_> = ranges.into_iter().map(|range| (range, RangeRead::default())).collect();
    for row in rows {
        if let Some((range, read)) = all.get_mut(place(row)?) {
            take(range, element(range.owner, range.collection, row)?, read);
        }
    }
    Ok(())
}

/// Elements in a row.
pub(crate) async fn range(
    session: &Session<'_>,
    range: &ElementRange,
) -> Result<Vec<Element>, Fault> {
    let rows = session.query(RANGES, &Ranges::of([range]).parameters()).await?;
    let mut found = Vec::new();
    ranges([range], &rows, |_, element, read| {
        if read.takes(&element) {
            found.push(element);
        }
    })?;
    Ok(found)
}

/// The place in the first column, which counts from 1.
fn place(row: &Row) -> Result<usize, Fault> {
    let place: i64 = row.try_get(0)?;
    Ok(usize::try_from(place - 1).unwrap_or(usize::MAX))
}

fn element(owner: ExecutionId, collection: Collection, row: &Row) -> Result<Element, Fault> {
    let number = query::count(row, 1)?;
    let name: Option<&[u8]> = row.try_get(2)?;
    let bytes: &[u8] = row.try_get(3)?;
    let content = match collection {
        Collection::Attempts => Content::Attempt(Box::new(codec::attempt(owner, number, bytes)?)),
        _ => Content::Bytes(Bytes::copy_from_slice(bytes)),
    };
    let name = name.map(|name| ElementName::from_stored(Bytes::copy_from_slice(name)));
    Ok(Element { number, name, content })
}

/// The columns of [`row`], for a table of rows. Of bytes only their number is read, attempts aside.
pub(crate) const COLUMNS: &str = "SELECT owner, collection, number, octet_length(bytes)::bigint,
 CASE collection WHEN 0 THEN bytes END FROM element";

/// An element, for audit and comparison.
pub(crate) fn row(row: &Row) -> Result<AuditRow, Fault> {
    let owner = query::id(row, 0)?;
    let unreadable = |why| Fault::Unreadable(format!("execution {owner}: {why}"));
    let collection: i16 = row.try_get(1)?;
    let collection = u8::try_from(collection).map_err(|why| unreadable(why.to_string()))?;
    let collection = Collection::try_from(collection).map_err(unreadable)?;
    let number = query::count(row, 2)?;
    let content = match collection {
        Collection::Attempts => {
            let bytes: &[u8] = row.try_get(4)?;
            RowContent::Attempt(Box::new(codec::attempt(owner, number, bytes)?))
        }
        _ => RowContent::Bytes(query::count(row, 3)?),
    };
    Ok(AuditRow::Element(Box::new(ElementRow { owner, collection, number, content })))
}
