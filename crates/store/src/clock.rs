//! Where a store in this process takes its time from.

use std::time::{SystemTime, UNIX_EPOCH};

use ff_core::Time;

/// The clock of a store. Nothing else in the system decides by a clock.
pub trait Clock: Send + Sync + 'static {
    /// The present moment.
    fn now(&self) -> Time;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time::from_ms(since.as_millis().try_into().unwrap_or(u64::MAX))
    }
}
