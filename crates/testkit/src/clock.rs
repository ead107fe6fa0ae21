//! A clock that stands still until it is told to move.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ff_core::{Millis, Time};
use ff_store::Clock;

/// A clock that a test moves. Clones show the same time.
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// A clock that stands at `ms` milliseconds after the epoch.
    pub fn at(ms: u64) -> ManualClock {
        ManualClock(Arc::new(AtomicU64::new(ms)))
    }

    /// Moves the clock forward.
    pub fn advance(&self, span: Millis) {
        self.0.fetch_add(span.get(), Ordering::SeqCst);
    }

    /// Sets the clock, also backwards.
    pub fn set(&self, time: Time) {
        self.0.store(time.as_ms(), Ordering::SeqCst);
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        ManualClock::at(1_700_000_000_000)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        Time::from_ms(self.0.load(Ordering::SeqCst))
    }
}
