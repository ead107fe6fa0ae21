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

const START: u64 = 1_700_000_000_000;

impl Default for ManualClock {
    fn default() -> Self {
        ManualClock::at(START)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        Time::from_ms(self.0.load(Ordering::SeqCst))
    }
}

/// A clock that goes with tokio's time, so that a test with paused time runs a store, its timers
/// and its workers in one virtual time.
#[derive(Debug, Clone, Copy)]
pub struct TokioClock(tokio::time::Instant);

impl TokioClock {
    /// A clock that starts now.
    pub fn start() -> TokioClock {
        TokioClock(tokio::time::Instant::now())
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Time {
        let elapsed = self.0.elapsed().as_millis();
        Time::from_ms(START + u64::try_from(elapsed).unwrap_or(u64::MAX / 2))
    }
}
