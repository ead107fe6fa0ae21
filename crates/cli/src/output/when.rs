//! Times as people read them.

use ff_api::Timestamp;
use ff_core::Time;

/// How far `at` is from `now`: `3s ago`, `in 5m`, `now`.
pub(crate) fn relative(at: Timestamp, now: Time) -> String {
    let Timestamp(at) = at;
    match (span(at.since(now).get()), span(now.since(at).get())) {
        (Some(ahead), _) => format!("in {ahead}"),
        (_, Some(behind)) => format!("{behind} ago"),
        (None, None) => "now".to_owned(),
    }
}

/// How long it is until `at`: `in 5m`, or `now` when it is past.
pub(crate) fn ahead(at: Timestamp, now: Time) -> String {
    relative(Timestamp(at.0.max(now)), now)
}

/// The moment and how far it is.
pub(crate) fn full(at: Timestamp, now: Time) -> String {
    format!("{at} ({})", relative(at, now))
}

/// A length rounded to one unit; nothing when it is shorter than half a second.
fn span(ms: u64) -> Option<String> {
    const UNITS: [(&str, u64, u64); 4] =
        [("s", 1_000, 120), ("m", 60_000, 120), ("h", 3_600_000, 48), ("d", 86_400_000, u64::MAX)];
    let mut rounded =
        UNITS.iter().map(|(unit, scale, most)| (unit, ms.saturating_add(scale / 2) / scale, most));
    let (unit, count, _) = rounded.find(|(_, count, most)| count < most)?;
    (count > 0).then(|| format!("{count}{unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_is_told_in_one_unit() {
        let now = Time::from_ms(1_000_000_000_000);
        let at = |ms: i64| Timestamp(Time::from_ms(now.as_ms().saturating_add_signed(ms)));
        for (ms, text) in [
            (0, "now"),
            (-499, "now"),
            (-3_000, "3s ago"),
            (119_000, "in 119s"),
            (119_999, "in 2m"),
            (-7_140_000, "119m ago"),
            (7_199_000, "in 2h"),
            (604_799_000, "in 7d"),
        ] {
            assert_eq!(relative(at(ms), now), text);
        }
    }
}
