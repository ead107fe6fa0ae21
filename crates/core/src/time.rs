//! Time as integer milliseconds.
//!
//! A [`Time`] is a point on the store's clock, a [`Millis`] a length. Both are bounded, so that no
//! sum overflows and no sort score passes 2^53.

use std::fmt;
use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

use crate::digest::Fields;
use crate::limits;
use crate::refusal::Refusal;

/// A point in time: milliseconds since the Unix epoch, by the store's clock.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(u64);

impl Time {
    /// The last representable moment: the end of the year 9999.
    pub const MAX: Time = Time(253_402_300_799_999);
    /// The Unix epoch.
    pub const EPOCH: Time = Time(0);

    /// The moment `ms` milliseconds after the epoch; later than [`Time::MAX`] means `MAX`.
    pub const fn from_ms(ms: u64) -> Time {
        if ms > Time::MAX.0 { Time::MAX } else { Time(ms) }
    }

    /// Milliseconds since the epoch.
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// How long it is from `earlier` to here; zero when `earlier` is later.
    pub const fn since(self, earlier: Time) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Millis> for Time {
    type Output = Time;

    fn add(self, span: Millis) -> Time {
        Time::from_ms(self.0.saturating_add(span.0))
    }
}

impl Sub<Millis> for Time {
    type Output = Time;

    fn sub(self, span: Millis) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A length of time in milliseconds.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Millis(u64);

impl Millis {
    /// No time at all.
    pub const ZERO: Millis = Millis(0);

    /// A length of `ms` milliseconds.
    pub const fn new(ms: u64) -> Millis {
        Millis(ms)
    }

    /// A length of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Millis {
        Millis(secs.saturating_mul(1_000))
    }

    /// A length of `hours` hours.
    pub const fn from_hours(hours: u64) -> Millis {
        Millis::from_secs(hours.saturating_mul(3_600))
    }

    /// A length of `days` days.
    pub const fn from_days(days: u64) -> Millis {
        Millis::from_hours(days.saturating_mul(24))
    }

    /// The number of milliseconds.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// `self`, when it lies in `least..=most`; otherwise a refusal that names `field`.
    pub fn within(self, field: &'static str, least: Millis, most: Millis) -> Result<Self, Refusal> {
        if self < least || self > most {
            return Err(Refusal::invalid(
                field,
                format!("is {} ms; give {} to {} ms", self.0, least.0, most.0),
            ));
        }
        Ok(self)
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0)
    }
}

/// When something is to happen, as a caller says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum When {
    /// As soon as possible.
    Now,
    /// This long after the store receives the command.
    After(Millis),
    /// At this moment by the store's clock; a moment in the past means [`When::Now`].
    At(Time),
}

impl When {
    /// The moment meant, or `None` when that is `now` or earlier.
    pub fn resolve(self, now: Time) -> Option<Time> {
        let at = match self {
            When::Now => now,
            When::After(span) => now + span,
            When::At(at) => at,
        };
        (at > now).then_some(at)
    }

    pub(crate) fn check(self, field: &'static str) -> Result<(), Refusal> {
        match self {
            When::Now => Ok(()),
            When::After(span) => span.within(field, Millis::ZERO, limits::DELAY).map(drop),
            When::At(at) if at == Time::MAX => {
                Err(Refusal::invalid(field, "is past the year 9999; give an earlier time"))
            }
            When::At(_) => Ok(()),
        }
    }

    pub(crate) fn fingerprint(self, fields: &mut Fields) {
        let (form, ms) = match self {
            When::Now => (0, 0),
            When::After(span) => (1, span.get()),
            When::At(at) => (2, at.as_ms()),
        };
        fields.number(form);
        fields.number(ms);
    }
}
