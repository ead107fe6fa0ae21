//! Parse errors for clients, without repeating the request.

/// Most characters of a request that its refusal repeats.
const REPEATED: usize = 64;
/// Of these, how many may say where in the body the mistake is.
const PLACE: usize = 48;

/// The place `path` of a mistake and what is wrong there, as `place: what`, both cut short.
pub(crate) fn at(path: &str, parse_error: &str) -> (String, String) {
    let place = shortened(path, PLACE);
    let left = REPEATED - place.chars().count().min(PLACE);
    let detail = format!("{place}: {}", of(parse_error, left));
    (place, detail)
}

/// What is wrong, where no place is known.
pub(crate) fn anywhere(parse_error: &str) -> String {
    of(parse_error, REPEATED)
}

/// An error of serde, such as "unknown field `x`, expected `y`", with the part that it repeats
/// of the request cut to `most` characters.
fn of(parse_error: &str, most: usize) -> String {
    let end = parse_error.rfind(", expected").unwrap_or(parse_error.len());
    let (message, expected) = parse_error.split_at(end);
    let start = message.find(['`', '"']).map_or(message.len(), |quote| quote + 1);
    let (what, repeated) = message.split_at(start);
    format!("{what}{}{expected}", shortened(repeated, most))
}

/// At most `most` printable characters of `text`.
fn shortened(text: &str, most: usize) -> String {
    let printable = |c: char| if c.is_control() { '?' } else { c };
    let mut short: String = text.chars().take(most).map(printable).collect();
    if text.chars().nth(most).is_some() {
        short.pop();
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_message_is_kept_whole() {
        for text in [
            "unknown field `lanes`, expected `lane` or `kind` at line 1 column 8",
            "invalid type: string \"7\", expected u16 at line 1 column 15",
            "EOF while parsing a value at line 1 column 9",
            "lane has a character outside a-z",
        ] {
            assert_eq!(anywhere(text), text);
        }
        let (place, detail) = at("policy.backoff", "missing field `x`");
        assert_eq!((&*place, &*detail), ("policy.backoff", "policy.backoff: missing field `x`"));
    }

    #[test]
    fn the_repeated_part_of_a_request_is_short_and_printable() {
        let long = "`,\"\n\0Z, expected".repeat(100);
        let texts = [
            format!("unknown field `{long}`, expected `lane` at line 1 column 8"),
            format!("invalid value: string {long:?}, expected a time at line 1 column 8"),
        ];
        for text in texts {
            let short = anywhere(&text);
            assert!(short.chars().count() < 140 && !short.contains(char::is_control), "{short}");
            let (place, detail) = at(&long, &text);
            assert_eq!(place.chars().count(), PLACE);
            assert!(detail.matches('Z').count() <= 64 / 16 + 1, "{detail}");
        }
    }
}
