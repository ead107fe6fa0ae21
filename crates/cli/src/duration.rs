//! Durations as people type them: a whole number and a unit.

use ff_core::Millis;

const UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

const HELP: &str = "give a whole number and a unit (ms, s, m, h, d), for example 5s";

/// Reads `text`; the message of a refusal is completed by the name of the flag.
pub(crate) fn parse(text: &str) -> Result<Millis, String> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    if text.starts_with('-') {
        return Err(format!("'{text}' is negative; {HELP}"));
    }
    let scale = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
    let (Some(scale), false) = (scale, number.is_empty()) else {
        return Err(format!("'{text}' is not a duration; {HELP}"));
    };
    let ms = number.parse::<u64>().ok().and_then(|number| number.checked_mul(scale));
    ms.map(Millis::new).ok_or_else(|| format!("'{text}' is too long a time; {HELP}"))
}

/// About how long `span` is, for people.
pub(crate) fn rough(span: Millis) -> String {
    span.rounded().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_a_unit_are_a_duration() {
        for (text, ms) in [
            ("0s", 0),
            ("500ms", 500),
            ("5s", 5_000),
            ("2m", 120_000),
            ("1h", 3_600_000),
            ("7d", 604_800_000),
            ("90s", 90_000),
        ] {
            assert_eq!(parse(text), Ok(Millis::new(ms)), "{text}");
        }
    }

    #[test]
    fn an_invalid_duration_is_refused_with_an_example() {
        for bad in [
            "",
            "s",
            "5",
            "-5s",
            "5 s",
            " 5s",
            "5s ",
            "1.5s",
            "5S",
            "5sec",
            "+5s",
            "NaN",
            "1e3s",
            "5s3",
            "٣s",
            "99999999999999999999s",
            "18446744073709551615d",
            "-",
            "\0",
        ] {
            let why = parse(bad).unwrap_err();
            assert!(why.contains("5s"), "{bad:?}: {why}");
        }
    }
}
