//! A clock that moves only when a test moves it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ff_core::{Millis, Time};
use ff_store::Clock;

/// A clock that a test moves. Clones show the same time.
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<Shown>);

#[derive(Debug)]
struct Shown {
    now: AtomicU64,
    elapsed: AtomicU64,
}

impl ManualClock {
    /// A clock at `ms` milliseconds after the epoch.
    pub fn at(ms: u64) -> ManualClock {
        ManualClock(Arc::new(Shown { now: AtomicU64::new(ms), elapsed: AtomicU64::new(0) }))
    }

    /// Lets time pass.
    pub fn advance(&self, span: Millis) {
        self.0.elapsed.fetch_add(span.get(), Ordering::SeqCst);
        self.0.now.fetch_add(span.get(), Ordering::SeqCst);
    }

    /// Sets the clock, forward or back. No time passes.
    pub fn set(&self, time: Time) {
        self.0.now.store(time.as_ms(), Ordering::SeqCst);
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
        Time::from_ms(self.0.now.load(Ordering::SeqCst))
    }

    fn elapsed(&self) -> Millis {
        Millis::new(self.0.elapsed.load(Ordering::SeqCst))
    }
}
