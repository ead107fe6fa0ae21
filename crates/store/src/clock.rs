//! Where a store in this process takes its time from.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ff_core::{Millis, Time};

/// The clock of a store. Nothing else in the system decides by a clock.
pub trait Clock: Send + Sync + 'static {
    /// The present moment. It may be set, forward and back.
    fn now(&self) -> Time;

    /// How long this process has seen time pass, whatever the clock was set to meanwhile. It never
    /// falls, and says nothing about a time in which the process did not run.
    fn elapsed(&self) -> Millis;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

/// A longer gap between two readings is not counted as time that was seen to pass: the process was
/// stopped, or its monotonic clock was moved.
const LONGEST_GAP: Duration = Duration::from_secs(5 * 60);

/// The last reading of the monotonic clock, and the sum of the gaps.
static SEEN: Mutex<Option<(Instant, Duration)>> = Mutex::new(None);

impl Clock for SystemClock {
    fn now(&self) -> Time {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time::from_ms(since.as_millis().try_into().unwrap_or(u64::MAX))
    }

    fn elapsed(&self) -> Millis {
        let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let (last, sum) = seen.unwrap_or((now, Duration::ZERO));
        let gap = now.saturating_duration_since(last);
        let sum = if gap <= LONGEST_GAP { sum.saturating_add(gap) } else { sum };
        *seen = Some((now, sum));
        Millis::new(sum.as_millis().try_into().unwrap_or(u64::MAX))
    }
}

/// A clock that follows tokio's time. Where that is paused, a store, its timers and its workers share
/// one virtual time.
#[derive(Debug, Clone, Copy)]
pub struct TokioClock(tokio::time::Instant);

/// What a [`TokioClock`] shows when it starts, in milliseconds since the Unix epoch.
const TOKIO_START: u64 = 1_700_000_000_000;

impl TokioClock {
    /// A clock that starts now.
    pub fn start() -> TokioClock {
        TokioClock(tokio::time::Instant::now())
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Time {
        Time::from_ms(TOKIO_START.saturating_add(self.elapsed().get()))
    }

    fn elapsed(&self) -> Millis {
        Millis::new(self.0.elapsed().as_millis().try_into().unwrap_or(u64::MAX))
    }
}
