//! The stream of an execution: frames among the elements beside its record.

use ff_core::ExecutionId;
use ff_core::collection::Collection;
use ff_core::stream::{FRAME_HEAD, FrameEnd, Kept, Trim};
use rusqlite::{Connection, OptionalExtension};

use crate::error::Fault;

/// A frame, as far as a stream has to know it.
struct End {
    number: u64,
    head: Vec<u8>,
    stored: usize,
}

impl End {
    fn of(row: &rusqlite::Row<'_>) -> rusqlite::Result<End> {
        let (number, stored): (i64, i64) = (row.get(0)?, row.get(2)?);
        Ok(End { number: number as u64, head: row.get(1)?, stored: stored as usize })
    }

    fn seen(&self) -> FrameEnd<'_> {
        FrameEnd { number: self.number, head: &self.head, stored: self.stored }
    }
}

const OLDEST: &str = "SELECT number, substr(bytes, 1, ?3), length(bytes) FROM element \
     WHERE owner = ?1 AND collection = ?2 ORDER BY number";

const NEWEST: &str = "SELECT number, substr(bytes, 1, ?3), length(bytes) FROM element \
     WHERE owner = ?1 AND collection = ?2 ORDER BY number DESC LIMIT 1";

/// How much is kept of a stream.
pub(crate) fn kept(connection: &Connection, owner: ExecutionId) -> Result<Kept, Fault> {
    let end = |sql| {
        let mut select = connection.prepare_cached(sql)?;
        select.query_row(parameters(&owner), End::of).optional()
    };
    let (Some(first), Some(last)) = (end(OLDEST)?, end(NEWEST)?) else {
        return Ok(Kept::default());
    };
    Kept::between(first.seen(), last.seen()).map_err(|why| unreadable(owner, &why))
}

/// Removes the oldest frames of a stream.
pub(crate) fn trim(connection: &Connection, owner: ExecutionId, trim: Trim) -> Result<(), Fault> {
    let mut select = connection.prepare_cached(OLDEST)?;
    let mut first = 0;
    for end in select.query_map(parameters(&owner), End::of)? {
        let end = end?;
        let offset = end.seen().offset().map_err(|why| unreadable(owner, &why))?;
        if !trim.takes(end.number, offset) {
            first = end.number;
            break;
        }
    }
    connection
        .prepare_cached("DELETE FROM element WHERE owner = ?1 AND collection = ?2 AND number < ?3")?
        .execute((owner.as_bytes(), Collection::Frames.number(), first as i64))?;
    Ok(())
}

fn parameters(owner: &ExecutionId) -> (&[u8; 16], u8, i64) {
    (owner.as_bytes(), Collection::Frames.number(), FRAME_HEAD as i64)
}

fn unreadable(owner: ExecutionId, why: &dyn std::fmt::Display) -> Fault {
    Fault::Unreadable(format!("execution {owner}: {why}"))
}
