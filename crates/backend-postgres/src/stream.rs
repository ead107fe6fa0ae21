//! The stream of an execution: frames among the elements next to its record.

use ff_core::ExecutionId;
use ff_core::collection::Collection;
use ff_core::stream::{FRAME_HEAD, FrameEnd, Kept, Trim};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::connection::Session;
use crate::error::Fault;
use crate::query;

/// The number of the collection, and how much of a frame is read.
pub(crate) const COLLECTION: i16 = Collection::Frames.number() as i16;
pub(crate) const HEAD: i32 = FRAME_HEAD as i32;

/// Both ends of streams that have frames.
pub(crate) const ENDS: &str =
    "SELECT n.owner, a.number, a.head, a.stored, b.number, b.head, b.stored
 FROM unnest($1::uuid[]) AS n(owner)
 CROSS JOIN LATERAL (
     SELECT number, substring(bytes, 1, $3) AS head, octet_length(bytes)::bigint AS stored
     FROM element WHERE owner = n.owner AND collection = $2 ORDER BY number LIMIT 1) AS a
 CROSS JOIN LATERAL (
     SELECT number, substring(bytes, 1, $3) AS head, octet_length(bytes)::bigint AS stored
     FROM element WHERE owner = n.owner AND collection = $2 ORDER BY number DESC LIMIT 1) AS b";

const OLDEST: &str =
    "SELECT number, substring(bytes, 1, $3), octet_length(bytes)::bigint FROM element
 WHERE owner = $1 AND collection = $2 AND number >= $4 ORDER BY number LIMIT $5";

const REMOVE: &str =
    "DELETE FROM element e USING unnest($1::uuid[], $3::bigint[]) AS n(owner, first)
 WHERE e.owner = n.owner AND e.collection = $2 AND e.number < n.first";

/// How many frames are read at once.
const PAGE: usize = 256;

/// A frame, as far as a stream has to know it: its number, its first bytes and its length, in columns from
/// `column` on.
struct End<'a> {
    number: u64,
    head: &'a [u8],
    stored: usize,
}

impl<'a> End<'a> {
    fn of(row: &'a Row, column: usize) -> Result<End<'a>, Fault> {
        let (number, stored) = (query::count(row, column)?, query::count(row, column + 2)?);
        Ok(End { number, head: row.try_get(column + 1)?, stored: stored as usize })
    }

    fn seen(&self) -> FrameEnd<'a> {
        FrameEnd { number: self.number, head: self.head, stored: self.stored }
    }
}

/// How much is kept of a stream, by a row of [`ENDS`].
pub(crate) fn kept(owner: ExecutionId, row: &Row) -> Result<Kept, Fault> {
    let (first, last) = (End::of(row, 1)?, End::of(row, 4)?);
    Kept::between(first.seen(), last.seen()).map_err(|why| unreadable(owner, &why))
}

/// Removes the oldest frames of streams.
pub(crate) async fn trim(
    session: &Session<'_>,
    trims: &[(ExecutionId, Trim)],
) -> Result<(), Fault> {
    let (mut owners, mut firsts): (Vec<Uuid>, Vec<i64>) = Default::default();
    for (owner, trim) in trims {
        owners.push(query::uuid(*owner));
        firsts.push(first_kept(session, *owner, *trim).await?);
    }
    session.query(REMOVE, &[&owners, &COLLECTION, &firsts]).await?;
    Ok(())
}

/// The number of the first frame that stays.
async fn first_kept(session: &Session<'_>, owner: ExecutionId, trim: Trim) -> Result<i64, Fault> {
    let mut from = 0;
    loop {
        let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
            [&query::uuid(owner), &COLLECTION, &HEAD, &from, &(PAGE as i64)];
        let rows = session.query(OLDEST, &parameters).await?;
        for row in &rows {
            let end = End::of(row, 0)?;
            let offset = end.seen().offset().map_err(|why| unreadable(owner, &why))?;
            if !trim.takes(end.number, offset) {
                return Ok(end.number as i64);
            }
            from = end.number as i64 + 1;
        }
        if rows.len() < PAGE {
            return Ok(from);
        }
    }
}

fn unreadable(owner: ExecutionId, why: &dyn std::fmt::Display) -> Fault {
    Fault::Unreadable(format!("execution {owner}: {why}"))
}
