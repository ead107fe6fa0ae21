//! Times, amounts and payloads as people read them.

use askama::filters::Safe;
use ff_api::Timestamp;
use ff_core::{ExecutionId, Millis, Payload, PublicState, Time};

use crate::html::Markup;

/// How much of a payload a page shows.
const PREVIEW_BYTES: usize = 16 << 10;

/// How far `at` is from `now`, with the exact time on hover. A script keeps it current.
pub(super) fn moment(at: Time, now: Time) -> Markup {
    let text = Timestamp(at).to_string();
    let (title, away) = (text.replace('T', " ").replace('Z', " UTC"), relative(at, now));
    Safe(format!("<time class=\"rel\" datetime=\"{text}\" title=\"{title}\">{away}</time>"))
}

/// `3s ago`, `in 1h 5m`, `now`.
fn relative(at: Time, now: Time) -> String {
    match (seconds(at.since(now)), seconds(now.since(at))) {
        (Millis::ZERO, Millis::ZERO) => "now".to_owned(),
        (Millis::ZERO, behind) => format!("{behind} ago"),
        (ahead, _) => format!("in {ahead}"),
    }
}

fn seconds(span: Millis) -> Millis {
    Millis::from_secs(span.get().saturating_add(500) / 1_000).rounded()
}

/// About this long: `250ms`, `9.6s`, `1m 30s`.
pub(super) fn span(span: Millis) -> String {
    span.rounded().to_string()
}

/// `1234567` as `1,234,567`.
pub(super) fn count(amount: u64) -> String {
    let digits = amount.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A word of the engine for people: `rate_limited` as `rate limited`.
pub(super) fn words(word: &str) -> String {
    word.replace('_', " ")
}

/// A state, with the class that gives it its colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Badge {
    pub(super) class: &'static str,
    pub(super) text: String,
}

impl From<PublicState> for Badge {
    fn from(state: PublicState) -> Badge {
        let class = match state {
            PublicState::Completed => "good",
            PublicState::Failed | PublicState::Expired => "bad",
            PublicState::Active => "live",
            PublicState::Suspended => "ask",
            PublicState::RateLimited | PublicState::Delayed => "warn",
            PublicState::Waiting
            | PublicState::WaitingChildren
            | PublicState::Resumable
            | PublicState::Cancelled
            | PublicState::Skipped => "calm",
        };
        Badge { class, text: words(state.as_str()) }
    }
}

/// The last characters of an id, which differ also among ids of the same moment.
pub(super) fn short(id: ExecutionId) -> String {
    let text = id.to_string();
    text.get(text.len().saturating_sub(8)..).unwrap_or(&text).to_owned()
}

/// The beginning of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Preview {
    /// Its media type.
    pub(super) media: String,
    /// Its length.
    pub(super) size: String,
    /// Its beginning as text; bytes that are no text are shown in hexadecimal.
    pub(super) text: String,
    /// Whether there is more.
    pub(super) cut: bool,
}

impl Preview {
    pub(super) fn of(payload: &Payload) -> Preview {
        let bytes = &payload.bytes;
        let cut = bytes.len() > PREVIEW_BYTES;
        let shown = &bytes[..bytes.len().min(PREVIEW_BYTES)];
        let text = match std::str::from_utf8(shown) {
            Ok(text) => pretty(text, cut),
            // The cut may go through a character.
            Err(error) if cut && error.error_len().is_none() => {
                String::from_utf8_lossy(&shown[..error.valid_up_to()]).into_owned()
            }
            Err(_) => hexadecimal(&shown[..shown.len().min(1 << 10)]),
        };
        let media = payload.content_type.as_str().to_owned();
        Preview { media, size: bytes_of(bytes.len()), text, cut }
    }
}

impl Preview {
    /// The beginning of a payload in one line.
    pub(super) fn beginning(payload: &Payload) -> String {
        let shown = &payload.bytes[..payload.bytes.len().min(512)];
        match std::str::from_utf8(shown) {
            Ok(text) => text.to_owned(),
            Err(error) if error.valid_up_to() > 0 => {
                String::from_utf8_lossy(&shown[..error.valid_up_to()]).into_owned()
            }
            Err(_) => bytes_of(payload.bytes.len()),
        }
    }
}

/// JSON that is whole, indented; other text as it is.
fn pretty(text: &str, cut: bool) -> String {
    let value = match cut {
        true => None,
        false => serde_json::from_str::<&serde_json::value::RawValue>(text).ok(),
    };
    match value.map(|raw| raw.get()).filter(|raw| raw.starts_with(['{', '['])) {
        Some(raw) => indented(raw),
        None => text.to_owned(),
    }
}

/// JSON with a line for each member. It is not decoded: numbers and keys stay as they were written.
fn indented(json: &str) -> String {
    let mut text = String::with_capacity(json.len() * 2);
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    let mut characters = json.chars().peekable();
    let line = |text: &mut String, depth: usize| {
        text.push('\n');
        // What is nested deeper is not moved further.
        text.extend(std::iter::repeat_n("  ", depth.min(16)));
    };
    while let Some(character) = characters.next() {
        if quoted {
            text.push(character);
            (quoted, escaped) = match (character, escaped) {
                (_, true) => (true, false),
                ('\\', false) => (true, true),
                ('"', false) => (false, false),
                _ => (true, false),
            };
            continue;
        }
        match character {
            ' ' | '\n' | '\t' | '\r' => {}
            '"' => {
                quoted = true;
                text.push('"');
            }
            '{' | '[' => {
                text.push(character);
                depth += 1;
                while characters.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                match characters.peek() {
                    Some('}' | ']') => {}
                    _ => line(&mut text, depth),
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                if !text.ends_with(['{', '[']) {
                    line(&mut text, depth);
                }
                text.push(character);
            }
            ',' => {
                text.push(',');
                line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            other => text.push(other),
        }
    }
    text
}

fn hexadecimal(bytes: &[u8]) -> String {
    let lines = bytes.chunks(16).map(|line| {
        let bytes: Vec<_> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        bytes.join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// `1.5 KiB`.
pub(super) fn bytes_of(length: usize) -> String {
    match length {
        0..1_024 => format!("{length} B"),
        1_024..1_048_576 => format!("{:.1} KiB", length as f64 / 1_024.0),
        _ => format!("{:.1} MiB", length as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_says_how_far_it_is_and_when_exactly() {
        let at = Time::from_ms(1_700_000_000_000);
        let html = moment(at, at + Millis::from_secs(65)).0;
        assert!(html.contains(">1m 5s ago<") && html.contains("2023-11-14 22:13:20.000 UTC"));
    }

    #[test]
    fn json_is_shown_member_by_member_and_not_changed() {
        let shown = |text: &str| Preview::of(&Payload::json(text.to_owned())).text;
        assert_eq!(
            shown(r#"{"a": [1.50, {}], "b{": "x,\"}"}"#),
            "{\n  \"a\": [\n    1.50,\n    {}\n  ],\n  \"b{\": \"x,\\\"}\"\n}"
        );
        assert_eq!(shown("\"plain\""), "\"plain\"");
        assert_eq!(shown("{not json"), "{not json");
        assert_eq!(shown("[ ]"), "[]");
        let deep = format!("{}{}", "[".repeat(120), "]".repeat(120));
        assert!(shown(&deep).len() < 20_000);
    }

    #[test]
    fn a_long_or_binary_payload_is_cut() {
        let long = Preview::of(&Payload::bytes("ü".repeat(1 << 19)));
        assert!(long.cut && long.text.len() <= PREVIEW_BYTES && long.size == "1.0 MiB");
        let odd = Preview::of(&Payload::bytes(format!("x{}", "ü".repeat(1 << 19))));
        assert!(odd.cut && odd.text.starts_with("xü") && !odd.text.contains('\u{fffd}'));
        let binary = Preview::of(&Payload::bytes(vec![0xff; 1 << 20]));
        assert!(binary.text.starts_with("ff ff") && binary.text.len() < 4_096);
        assert_eq!(Preview::of(&Payload::bytes("")).size, "0 B");
    }
}
