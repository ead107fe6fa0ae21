//! Times on the wire: RFC 3339 in UTC with milliseconds, and nothing else.

use std::fmt;
use std::str::FromStr;

use ff_core::{Refusal, Time};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A time as clients write it.
///
/// ```
/// use ff_api::Timestamp;
/// let at: Timestamp = "2026-03-01T13:00:00.25+01:00".parse().unwrap();
/// assert_eq!(at.to_string(), "2026-03-01T12:00:00.250Z");
/// ```
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schema(
    value_type = String,
    format = DateTime,
    description = "A time: RFC 3339, with any offset in a request, in UTC with milliseconds in an answer."
)]
pub struct Timestamp(pub Time);

impl From<Time> for Timestamp {
    fn from(time: Time) -> Timestamp {
        Timestamp(time)
    }
}

impl From<Timestamp> for String {
    fn from(timestamp: Timestamp) -> String {
        timestamp.to_string()
    }
}

impl TryFrom<String> for Timestamp {
    type Error = Refusal;

    fn try_from(text: String) -> Result<Timestamp, Refusal> {
        text.parse()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = i64::try_from(self.0.as_ms()).unwrap_or(i64::MAX);
        // The calendar's last day is cut short by the offsets it must allow for.
        let moment = jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::MAX);
        write!(f, "{moment:.3}")
    }
}

impl FromStr for Timestamp {
    type Err = Refusal;

    /// Reads RFC 3339 with any offset; parts of a millisecond are dropped, and a time before 1970
    /// counts as 1970: both are past.
    fn from_str(text: &str) -> Result<Timestamp, Refusal> {
        let moment: jiff::Timestamp = text.parse().map_err(|_| {
            Refusal::invalid("time", "is not RFC 3339; give for example 2026-03-01T12:00:00Z")
        })?;
        let ms = u64::try_from(moment.as_millisecond()).unwrap_or(0);
        Ok(Timestamp(Time::from_ms(ms)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_in_utc_with_milliseconds() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1, "1970-01-01T00:00:00.001Z"),
            (1_700_000_000_000, "2023-11-14T22:13:20.000Z"),
            (1_700_000_000_120, "2023-11-14T22:13:20.120Z"),
        ] {
            let timestamp = Timestamp(Time::from_ms(ms));
            assert_eq!(timestamp.to_string(), text);
            assert_eq!(text.parse(), Ok(timestamp));
        }
    }

    #[test]
    fn the_last_moments_can_be_written_and_read() {
        for time in [Time::MAX, Time::from_ms(Time::MAX.as_ms() - 1)] {
            let text = Timestamp(time).to_string();
            assert!(text.starts_with("9999-12-30T"), "{text}");
            assert!(text.parse::<Timestamp>().is_ok());
        }
    }

    #[test]
    fn a_moment_before_1970_is_past() {
        assert_eq!("1969-07-20T20:17:00Z".parse(), Ok(Timestamp(Time::EPOCH)));
    }

    #[test]
    fn an_invalid_time_is_refused_with_an_example() {
        for bad in ["", "now", "5s", "1700000000", "2026-03-01", "2026-03-01T12:00:00", "\0"] {
            let refusal = bad.parse::<Timestamp>().unwrap_err();
            assert!(refusal.to_string().contains("2026-03-01T12:00:00Z"), "{bad:?}: {refusal}");
        }
    }

    #[test]
    fn json_holds_the_text() {
        let timestamp = Timestamp(Time::from_ms(1));
        let json = serde_json::to_string(&timestamp).unwrap();
        assert_eq!(json, "\"1970-01-01T00:00:00.001Z\"");
        assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), timestamp);
        assert!(serde_json::from_str::<Timestamp>("1").is_err());
    }
}
