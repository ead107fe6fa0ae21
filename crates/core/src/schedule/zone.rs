//! Time zones by their IANA names, and what the clocks of a zone mean.
//!
//! The data comes with the program, so every process of a release reads a calendar in the same way, on a
//! machine without zone data too. What the clocks show is mapped to moments so that it never runs back: a
//! time that is repeated is its first occurrence, one that is skipped is the moment at which clocks go on.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};
use serde::{Deserialize, Serialize};

use crate::bounds::NAME_BYTES;
use crate::refusal::Refusal;
use crate::time::Time;

/// The zone data of this release.
static ZONES: OnceLock<TimeZoneDatabase> = OnceLock::new();

/// A time zone.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "Arc<str>", into = "Arc<str>")]
pub struct Zone {
    name: Arc<str>,
    zone: TimeZone,
}

impl Zone {
    /// The zone of this name, such as `Europe/Berlin`.
    pub fn new(name: impl Into<Arc<str>>) -> Result<Zone, Refusal> {
        let name = name.into();
        Refusal::cap("zone", name.len(), NAME_BYTES, "bytes")?;
        let found = ZONES.get_or_init(TimeZoneDatabase::bundled).get(&name);
        let found = found.ok().filter(|found| !found.is_unknown());
        let zone = found.ok_or_else(|| {
            let why = "is not a time zone; give an IANA name such as Europe/Berlin, or UTC";
            Refusal::invalid("zone", why)
        })?;
        let name = zone.iana_name().map_or(name, Into::into);
        Ok(Zone { name, zone })
    }

    /// Coordinated universal time.
    pub fn utc() -> Zone {
        Zone { name: "UTC".into(), zone: TimeZone::UTC }
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// What clocks show at a moment, to the second.
    pub(super) fn shown(&self, at: Time) -> Option<DateTime> {
        Some(self.zone.to_datetime(moment(at)?))
    }

    /// The moment of what clocks show. It never runs back while what they show goes on.
    pub(super) fn moment(&self, shown: DateTime) -> Option<Time> {
        let found = match self.zone.to_ambiguous_timestamp(shown).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(shown).ok()?,
            AmbiguousOffset::Fold { before, .. } => before.to_timestamp(shown).ok()?,
            AmbiguousOffset::Gap { after, .. } => {
                let before_it = after.to_timestamp(shown).ok()?;
                let mut changes = self.zone.following(before_it);
                changes.find(|change| change.offset() == after)?.timestamp()
            }
        };
        Some(Time::from_ms(u64::try_from(found.as_millisecond()).ok()?))
    }

    /// If clocks show at `at` what they have shown before: the first that they have not.
    pub(super) fn end_of_repeat(&self, at: Time) -> Option<DateTime> {
        let now = moment(at)?;
        let shown = self.zone.to_datetime(now);
        let offset = self.zone.to_ambiguous_timestamp(shown).offset();
        let AmbiguousOffset::Fold { before, after } = offset else { return None };
        if self.zone.to_offset(now) != after {
            return None;
        }
        let later = now.checked_add(jiff::SignedDuration::from_secs(1)).ok()?;
        let change = self.zone.preceding(later).find(|change| change.offset() == after)?;
        Some(Offset::to_datetime(before, change.timestamp()))
    }

    /// A moment as its clocks show it, with their offset.
    pub fn show(&self, at: Time) -> String {
        match moment(at) {
            Some(at) => at.display_with_offset(self.zone.to_offset(at)).to_string(),
            None => at.to_string(),
        }
    }
}

/// A moment, to the second.
fn moment(at: Time) -> Option<Timestamp> {
    Timestamp::from_second(i64::try_from(at.as_ms() / 1_000).ok()?).ok()
}

/// A moment as it is written everywhere: RFC 3339 in UTC with milliseconds.
pub(crate) fn in_utc(at: Time) -> String {
    let ms = i64::try_from(at.as_ms()).unwrap_or(i64::MAX);
    let moment = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX);
    format!("{moment:.3}")
}

/// Reads what [`in_utc`] writes.
pub(crate) fn from_utc(text: &str) -> Option<Time> {
    let moment: Timestamp = text.parse().ok()?;
    Some(Time::from_ms(u64::try_from(moment.as_millisecond()).ok()?))
}

impl Default for Zone {
    fn default() -> Zone {
        Zone::utc()
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Zone) -> bool {
        self.name == other.name
    }
}

impl Eq for Zone {}

impl TryFrom<Arc<str>> for Zone {
    type Error = Refusal;

    fn try_from(name: Arc<str>) -> Result<Zone, Refusal> {
        Zone::new(name)
    }
}

impl From<Zone> for Arc<str> {
    fn from(zone: Zone) -> Arc<str> {
        zone.name
    }
}

impl FromStr for Zone {
    type Err = Refusal;

    fn from_str(name: &str) -> Result<Zone, Refusal> {
        Zone::new(name)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_zone_has_one_spelling_and_an_unknown_one_is_refused() {
        assert_eq!(Zone::new("europe/berlin").unwrap().as_str(), "Europe/Berlin");
        assert_eq!(Zone::new("UTC").unwrap(), Zone::utc());
        for bad in ["", "Europe/Atlantis", "+02:00", "../UTC", "Etc/Unknown", &"x".repeat(65)] {
            assert_eq!(Zone::new(bad).unwrap_err().field(), Some("zone"), "{bad:?}");
        }
    }

    #[test]
    fn what_is_skipped_is_the_end_of_the_gap_and_what_is_repeated_the_first_time() {
        let berlin = Zone::new("Europe/Berlin").unwrap();
        let at = |text: &str| berlin.moment(text.parse().unwrap()).map(in_utc).unwrap();
        assert_eq!(at("2026-03-29T01:59:59"), "2026-03-29T00:59:59.000Z");
        for skipped in ["2026-03-29T02:00:00", "2026-03-29T02:30:00", "2026-03-29T03:00:00"] {
            assert_eq!(at(skipped), "2026-03-29T01:00:00.000Z");
        }
        assert_eq!(at("2026-10-25T02:30:00"), "2026-10-25T00:30:00.000Z");
        assert_eq!(at("2026-10-25T03:00:00"), "2026-10-25T02:00:00.000Z");
        let second = from_utc("2026-10-25T01:30:00Z").unwrap();
        assert_eq!(berlin.end_of_repeat(second).unwrap().to_string(), "2026-10-25T03:00:00");
        for not in ["2026-10-25T00:30:00Z", "2026-10-25T02:00:00Z", "2026-06-01T00:00:00Z"] {
            assert_eq!(berlin.end_of_repeat(from_utc(not).unwrap()), None, "{not}");
        }
        assert_eq!(berlin.show(second), "2026-10-25T02:30:00+01:00");
    }
}
