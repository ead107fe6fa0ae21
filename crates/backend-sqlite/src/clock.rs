//! The store's time, as all processes on one file have it.
//!
//! The file keeps the time of the last write: the store's time, the system clock, the
//! offset between them and a jump that is not yet confirmed. The rules are in
//! [`ff_store::steady`].

use std::sync::Arc;

use ff_core::Time;
use ff_store::Clock;
use ff_store::steady::{Mark, Steady};
use rusqlite::Connection;

use crate::error::Fault;
use crate::query;

/// The clock of one open store.
pub(crate) struct StoreClock(Steady);

/// The time of one transaction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reading {
    /// The current time.
    pub(crate) mark: Mark,
    /// The time of the last write.
    kept: Mark,
}

impl StoreClock {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> StoreClock {
        StoreClock(Steady::new(clock))
    }

    /// The store's time, as the open transaction of `connection` sees it.
    pub(crate) fn read(&self, connection: &Connection) -> Result<Reading, Fault> {
        let kept = kept(connection)?;
        Ok(Reading { mark: self.0.read(kept), kept })
    }
}

impl Reading {
    /// Stores this time, if it differs from the stored one.
    pub(crate) fn keep(self, connection: &Connection) -> Result<(), Fault> {
        if self.mark != self.kept {
            keep(connection, &self.mark)?;
        }
        Ok(())
    }
}

/// The time of the last write.
pub(crate) fn kept(connection: &Connection) -> Result<Mark, Fault> {
    let mut select = connection
        .prepare_cached("SELECT time, system_time, offset_us, before_jump, jumped FROM clock")?;
    let mut rows = select.query(())?;
    let Some(row) = rows.next()? else {
        return Err(Fault::Unreadable("the table of the store's clock is empty".into()));
    };
    let before_jump = match row.get::<_, Option<i64>>(3)? {
        Some(_) => Some(query::time(row, 3)?),
        None => None,
    };
    Ok(Mark {
        now: query::time(row, 0)?,
        clock: query::time(row, 1)?,
        offset_us: row.get::<_, i64>(2)?.unsigned_abs(),
        before_jump,
        jumped: query::time(row, 4)?,
    })
}

/// Stores the time.
pub(crate) fn keep(connection: &Connection, mark: &Mark) -> Result<(), Fault> {
    let mut update = connection.prepare_cached(
        "UPDATE clock SET time = ?1, system_time = ?2, offset_us = ?3, before_jump = ?4, \
         jumped = ?5",
    )?;
    let ms = |time: Time| time.as_ms() as i64;
    let before_jump = mark.before_jump.map(ms);
    let offset_us = i64::try_from(mark.offset_us).unwrap_or(i64::MAX);
    update.execute((ms(mark.now), ms(mark.clock), offset_us, before_jump, ms(mark.jumped)))?;
    Ok(())
}
