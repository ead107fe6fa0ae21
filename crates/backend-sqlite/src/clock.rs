//! The store's time, which never runs back.
//!
//! The last moment at which anything was written is kept in the store. Time is the clock's or that
//! moment, whichever is later, whatever process wrote it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ff_core::Time;
use ff_store::Clock;
use rusqlite::Connection;

use crate::error::Fault;

/// The clock of one open store.
pub(crate) struct StoreClock {
    clock: Arc<dyn Clock>,
    /// What this process has answered with, also when nothing was written.
    seen: AtomicU64,
}

/// The time of one transaction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reading {
    /// The store's time.
    pub(crate) now: Time,
    /// The last moment kept in the store.
    kept: Time,
}

impl StoreClock {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> StoreClock {
        StoreClock { clock, seen: AtomicU64::new(0) }
    }

    /// The store's time, as the open transaction of `connection` sees it.
    pub(crate) fn read(&self, connection: &Connection) -> Result<Reading, Fault> {
        let mut select =
            connection.prepare_cached("SELECT value FROM meta WHERE name = 'clock'")?;
        let kept = select.query_row((), |row| row.get::<_, i64>(0))?;
        let kept = Time::from_ms(kept.max(0) as u64);
        let ms = self.clock.now().max(kept).as_ms();
        let now = Time::from_ms(self.seen.fetch_max(ms, Ordering::SeqCst).max(ms));
        Ok(Reading { now, kept })
    }
}

impl Reading {
    /// Keeps this time in the store, if it is later than what is kept.
    pub(crate) fn keep(self, connection: &Connection) -> Result<(), Fault> {
        if self.now > self.kept {
            let mut update =
                connection.prepare_cached("UPDATE meta SET value = ?1 WHERE name = 'clock'")?;
            update.execute([self.now.as_ms() as i64])?;
        }
        Ok(())
    }
}
