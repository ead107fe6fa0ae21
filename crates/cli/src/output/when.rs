//! Times as people read them.

use ff_api::Timestamp;
use ff_core::{Millis, Time};

/// How far `at` is from `now`: `3s ago`, `in 1h 5m`, `now`.
pub(crate) fn relative(at: Timestamp, now: Time) -> String {
    let Timestamp(at) = at;
    match (seconds(at.since(now)), seconds(now.since(at))) {
        (Millis::ZERO, Millis::ZERO) => "now".to_owned(),
        (Millis::ZERO, behind) => format!("{behind} ago"),
        (ahead, _) => format!("in {ahead}"),
    }
}

/// How long it is until `at`: `in 5m`, or `now` when it is past.
pub(crate) fn ahead(at: Timestamp, now: Time) -> String {
    relative(Timestamp(at.0.max(now)), now)
}

/// The time and how far it is.
pub(crate) fn full(at: Timestamp, now: Time) -> String {
    format!("{at} ({})", relative(at, now))
}

/// How long it is from `at` to `now`, without the word `ago`: `3s`, `1h 5m`.
pub(crate) fn age(at: Timestamp, now: Time) -> String {
    seconds(now.since(at.0)).to_string()
}

/// About this long; readers have no use for fractions of a second.
fn seconds(span: Millis) -> Millis {
    Millis::from_secs(span.get().saturating_add(500) / 1_000).rounded()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_have_whole_seconds_and_at_most_two_units() {
        let now = Time::from_ms(1_000_000_000_000);
        let at = |ms: i64| Timestamp(Time::from_ms(now.as_ms().saturating_add_signed(ms)));
        for (ms, text) in [
            (0, "now"),
            (-499, "now"),
            (-3_200, "3s ago"),
            (119_000, "in 1m 59s"),
            (119_999, "in 2m"),
            (-7_140_000, "1h 59m ago"),
            (7_199_999, "in 2h"),
            (604_799_999, "in 7d"),
        ] {
            assert_eq!(relative(at(ms), now), text);
        }
        assert_eq!(age(at(-65_000), now), "1m 5s");
    }
}
