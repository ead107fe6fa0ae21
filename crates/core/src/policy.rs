//! What an execution asks of the engine: retries, timeouts, leases, retention.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::digest::Fields;
use crate::limits;
use crate::name::Category;
use crate::refusal::Refusal;
use crate::time::Millis;

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

/// How a wait grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Growth {
    /// Every wait is the base.
    Fixed,
    /// Every wait is twice the one before.
    Exponential,
}

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

impl Policy {
    /// Checks every bound; a refusal names the field.
    pub fn check(&self, has_key: bool) -> Result<(), Refusal> {
        let retry = &self.retry;
        if retry.max_attempts == 0 || retry.max_attempts > limits::ATTEMPTS {
            let why = format!("is {}; give 1 to {}", retry.max_attempts, limits::ATTEMPTS);
            return Err(Refusal::invalid("max_attempts", why));
        }
        retry.backoff.base.within("backoff.base", Millis::ZERO, limits::DELAY)?;
        retry.backoff.cap.within("backoff.cap", Millis::ZERO, limits::DELAY)?;
        if retry.backoff.jitter_percent > 100 {
            return Err(Refusal::invalid("backoff.jitter_percent", "is over 100; give 0 to 100"));
        }
        if let Some(categories) = &retry.categories {
            Refusal::cap("retry.categories", categories.len(), limits::CATEGORIES, "categories")?;
        }
        for (field, span) in
            [("attempt_timeout", self.attempt_timeout), ("deadline", self.deadline)]
        {
            if let Some(span) = span {
                span.within(field, limits::SPAN_MIN, limits::DELAY)?;
            }
        }
        self.lease_ttl.within("lease_ttl", limits::LEASE_TTL_MIN, limits::LEASE_TTL_MAX)?;
        if self.max_reclaims > limits::RECLAIMS {
            let why = format!("is {}; give 0 to {}", self.max_reclaims, limits::RECLAIMS);
            return Err(Refusal::invalid("max_reclaims", why));
        }
        let least = if has_key { limits::DEDUP_WINDOW } else { limits::RETENTION_MIN };
        self.retention.within("retention", least, limits::RETENTION_MAX)?;
        Ok(())
    }

    pub(crate) fn fingerprint(&self, fields: &mut Fields) {
        let backoff = &self.retry.backoff;
        fields.number(self.retry.max_attempts.into());
        fields.number(backoff.growth as u64);
        fields.number(backoff.base.get());
        fields.number(backoff.cap.get());
        fields.number(backoff.jitter_percent.into());
        fields.maybe(self.retry.categories.as_ref().map(|set| set.len() as u64));
        for category in self.retry.categories.iter().flatten() {
            fields.text(category.as_str());
        }
        fields.maybe(self.attempt_timeout.map(Millis::get));
        fields.maybe(self.deadline.map(Millis::get));
        fields.number(self.lease_ttl.get());
        fields.number(self.max_reclaims.into());
        fields.number(self.retention.get());
    }
}
