//! The store's time: the server's clock, by the one function of the schema that reads it.
//!
//! A reading that is a little earlier than one this process has seen, because answers overtake each other
//! or another server has taken over, counts as that one. A clock that is set back by more is a step of the
//! store's time, for all processes alike: one that held on to what it has seen would disagree with those
//! that start later.

use std::sync::atomic::{AtomicU64, Ordering};

use ff_core::{Millis, Time};
use ff_store::steady::Mark;
use tokio_postgres::Row;

use crate::connection::Session;
use crate::error::Fault;

/// Reads the clock.
pub(crate) const NOW: &str = "SELECT ff_now()";

/// A reading that is behind by no more is not believed.
const PATIENCE: Millis = Millis::new(1_000);

/// The latest time that this process has seen.
#[derive(Debug, Default)]
pub(crate) struct StoreClock(AtomicU64);

impl StoreClock {
    /// Reads the clock.
    pub(crate) async fn read(&self, session: &Session<'_>) -> Result<Time, Fault> {
        Ok(self.seen(session.number(NOW, &[]).await?))
    }

    /// The time of the reading in the first column of the first row.
    pub(crate) fn of(&self, rows: &[Row]) -> Result<Time, Fault> {
        let row = rows.first().ok_or_else(|| Fault::Unreadable("the clock is silent".into()))?;
        Ok(self.seen(row.try_get(0)?))
    }

    /// The time when the server's clock says `ms`.
    fn seen(&self, ms: i64) -> Time {
        let read = ms.unsigned_abs();
        let seen = self.0.load(Ordering::SeqCst);
        if read < seen && seen - read <= PATIENCE.get() {
            return Time::from_ms(seen);
        }
        if read < seen {
            tracing::warn!(
                by_ms = seen - read,
                "the server's clock was set back, and the store's time with it"
            );
            self.0.store(read, Ordering::SeqCst);
        } else {
            self.0.fetch_max(read, Ordering::SeqCst);
        }
        Time::from_ms(read)
    }
}

/// A time that is all confirmed.
pub(crate) fn mark(now: Time) -> Mark {
    Mark { now, clock: now, ..Mark::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_that_is_late_counts_as_the_newest_and_a_step_back_is_followed() {
        let clock = StoreClock::default();
        let seen = |ms| clock.seen(ms).as_ms();
        assert_eq!(seen(10_000_000), 10_000_000);
        assert_eq!(seen(9_999_000), 10_000_000);
        assert_eq!(seen(10_000_001), 10_000_001);
        assert_eq!(seen(9_000_000), 9_000_000, "the clock was set back");
        assert_eq!(seen(9_000_001), 9_000_001);
    }
}
