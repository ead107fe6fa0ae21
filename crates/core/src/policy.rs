//! What holds for an execution: retries, timeouts, leases, retention. What a caller says of it is an
//! [`PolicyOverrides`](crate::Ask).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::name::Category;
use crate::stream::StreamPolicy;
use crate::time::Millis;
use crate::words;

/// The policies of one execution.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Policy {
    /// What happens after a retryable failure.
    pub retry: Retry,
    /// How long one hold of an attempt may run, armed whole at each claim.
    pub attempt_timeout: Option<Millis>,
    /// How long a run may take from its start; then it ends `expired`.
    pub deadline: Option<Millis>,
    /// How long a lease lasts without a renewal.
    pub lease_ttl: Millis,
    /// How many leases a run may lose before it ends `failed`.
    pub max_reclaims: u32,
    /// How long the execution stays readable after its end.
    pub retention: Millis,
    /// How much is kept of what it streams.
    #[serde(default, skip_serializing_if = "StreamPolicy::is_default")]
    pub stream: StreamPolicy,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            retry: Retry::default(),
            attempt_timeout: None,
            deadline: None,
            lease_ttl: Millis::from_secs(30),
            max_reclaims: 10,
            retention: Millis::from_days(7),
            stream: StreamPolicy::default(),
        }
    }
}

/// Which failures are retried, how often and when.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Retry {
    /// How many attempts of a run may end by failure; the last one ends the run.
    pub max_attempts: u32,
    /// How long to wait before the next attempt.
    pub backoff: Backoff,
    /// Which categories are retried; `None` means all of them.
    pub categories: Option<BTreeSet<Category>>,
}

impl Default for Retry {
    fn default() -> Self {
        Retry { max_attempts: 3, backoff: Backoff::default(), categories: None }
    }
}

impl Retry {
    /// No second try.
    pub fn never() -> Retry {
        Retry { max_attempts: 1, ..Retry::default() }
    }
}

/// How the wait grows from one failed attempt to the next, in integer arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Backoff {
    /// How the whole wait grows.
    pub growth: Growth,
    /// The wait after the first failure.
    pub base: Millis,
    /// The longest wait.
    pub cap: Millis,
    /// Which part of the wait is random, in percent: 0 waits exactly, 100 waits anything down to 0.
    pub jitter_percent: u8,
}

words!(
    /// How a wait grows.
    Growth {
        /// Every wait is the base.
        Fixed = "fixed",
        /// Every wait is twice the one before.
        Exponential = "exponential",
    }
);

impl Default for Backoff {
    fn default() -> Self {
        Backoff {
            growth: Growth::Exponential,
            base: Millis::from_secs(1),
            cap: Millis::from_secs(60),
            jitter_percent: 20,
        }
    }
}

impl Backoff {
    /// No wait at all.
    pub fn none() -> Backoff {
        Backoff::fixed(Millis::ZERO)
    }

    /// The same wait every time, without jitter.
    pub fn fixed(wait: Millis) -> Backoff {
        Backoff { growth: Growth::Fixed, base: wait, cap: wait, jitter_percent: 0 }
    }

    /// The wait after the `failures`-th failure of a run; `jitter` is 16 random bits.
    ///
    /// ```
    /// use ff_core::{policy::{Backoff, Growth}, Millis};
    /// let backoff = Backoff {
    ///     growth: Growth::Exponential,
    ///     base: Millis::new(100),
    ///     cap: Millis::new(1_000),
    ///     jitter_percent: 50,
    /// };
    /// assert_eq!(backoff.wait(3, 0), Millis::new(400));
    /// assert_eq!(backoff.wait(3, u16::MAX), Millis::new(200));
    /// assert_eq!(backoff.wait(99, 0), Millis::new(1_000));
    /// ```
    pub fn wait(&self, failures: u32, jitter: u16) -> Millis {
        let doublings = match self.growth {
            Growth::Fixed => 0,
            Growth::Exponential => failures.saturating_sub(1).min(40),
        };
        // `base` is below 2^39 and at most 40 doublings are made, so this cannot overflow u128.
        let grown = u128::from(self.base.get()) << doublings;
        let whole = grown.min(u128::from(self.cap.get())) as u64;
        let random_part = whole * u64::from(self.jitter_percent) / 100;
        Millis::new(whole - random_part * u64::from(jitter) / u64::from(u16::MAX))
    }
}
