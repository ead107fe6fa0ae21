//! Time as integer milliseconds.
//!
//! A [`Time`] is a point on the store's clock, a [`Millis`] a length. Both are bounded, so that no
//! sum overflows and no sort score passes 2^53.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bounds;
use crate::digest::Fields;
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
            return Err(Refusal::invalid(field, format!("is {self}; give {least} to {most}")));
        }
        Ok(self)
    }

    /// About this long, for a length that was measured: tenths of a second below ten seconds, then
    /// the two largest units.
    pub const fn rounded(self) -> Millis {
        let step = match self.0 {
            0..1_000 => 1,
            1_000..10_000 => 100,
            10_000..3_600_000 => 1_000,
            3_600_000..86_400_000 => 60_000,
            _ => 3_600_000,
        };
        Millis(self.0.saturating_add(step / 2) / step * step)
    }
}

impl From<Duration> for Millis {
    fn from(span: Duration) -> Millis {
        Millis(span.as_millis().try_into().unwrap_or(u64::MAX))
    }
}

/// The one way to write a length of time for people, exact to the millisecond: `250ms`, `9.6s`,
/// `10s`, `1m 30s`, `1h 5m`, `7d`.
impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u64); 5] =
            [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
        match self.0 {
            0 => return f.pad("0s"),
            ms @ 1_000..60_000 if ms % 1_000 > 0 => {
                let fraction = format!("{:03}", ms % 1_000);
                return f.pad(&format!("{}.{}s", ms / 1_000, fraction.trim_end_matches('0')));
            }
            _ => {}
        }
        let (mut rest, mut parts) = (self.0, Vec::new());
        for (unit, scale) in UNITS {
            if rest >= scale {
                parts.push(format!("{}{unit}", rest / scale));
                rest %= scale;
            }
        }
        f.pad(&parts.join(" "))
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
    /// The moment, or `None` when that is `now` or earlier.
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
            When::After(span) => span.within(field, Millis::ZERO, bounds::DELAY).map(drop),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_written_exactly_in_the_units_it_has() {
        for (ms, text) in [
            (0, "0s"),
            (1, "1ms"),
            (999, "999ms"),
            (1_000, "1s"),
            (1_500, "1.5s"),
            (9_605, "9.605s"),
            (59_990, "59.99s"),
            (90_000, "1m 30s"),
            (60_001, "1m 1ms"),
            (3_900_000, "1h 5m"),
            (86_400_001, "1d 1ms"),
            (604_800_000, "7d"),
        ] {
            assert_eq!(Millis::new(ms).to_string(), text);
        }
    }

    #[test]
    fn a_measured_length_is_rounded_to_two_figures_or_units() {
        for (ms, text) in [
            (0, "0s"),
            (437, "437ms"),
            (1_249, "1.2s"),
            (9_960, "10s"),
            (59_499, "59s"),
            (59_500, "1m"),
            (61_400, "1m 1s"),
            (3_929_000, "1h 5m"),
            (90_000_000, "1d 1h"),
        ] {
            assert_eq!(Millis::new(ms).rounded().to_string(), text);
        }
        assert!(Millis::new(u64::MAX).rounded() > Millis::from_days(1_000_000));
    }
}
