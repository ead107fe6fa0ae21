//! Whether a command printed what its page says.
//!
//! `...` stands for anything within a line, and alone on a line for any lines. A time and an id match
//! any other, and so do runs of spaces: a page shows those of the day it was written.

use serde_json::Value;

/// The pattern that matches anything.
const ANYTHING: &str = "...";

/// Whether a line of `output` contains `text`.
pub(super) fn contains(output: &str, text: &str) -> bool {
    let pattern = format!("{ANYTHING}{}{ANYTHING}", plain(text));
    output.lines().any(|line| fits(&plain(line), &pattern))
}

/// Whether the lines of `block` are in `output`, consecutively.
pub(super) fn shows(output: &str, block: &str) -> bool {
    let output: Vec<_> = output.lines().map(plain).collect();
    let block: Vec<_> = block.lines().map(plain).collect();
    (0..=output.len()).any(|start| lines_fit(&output[start..], &block))
}

fn lines_fit(output: &[String], block: &[String]) -> bool {
    match block.split_first() {
        None => true,
        Some((first, rest)) if first == ANYTHING => {
            (0..=output.len()).any(|start| lines_fit(&output[start..], rest))
        }
        Some((first, rest)) => {
            output.first().is_some_and(|line| fits(line, first)) && lines_fit(&output[1..], rest)
        }
    }
}

/// Whether a line of `output`, or all of it, is JSON with everything that `block` has.
pub(super) fn shows_json(output: &str, block: &Value) -> bool {
    let mut printed =
        output.lines().chain([output]).filter_map(|text| serde_json::from_str(text).ok());
    printed.any(|value: Value| has(&value, block))
}

fn has(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::Object(value), Value::Object(wanted)) => wanted
            .iter()
            .all(|(key, wanted)| value.get(key).is_some_and(|value| has(value, wanted))),
        (Value::Array(value), Value::Array(wanted)) => {
            value.len() == wanted.len() && value.iter().zip(wanted).all(|(a, b)| has(a, b))
        }
        (Value::String(value), Value::String(wanted)) => fits(&plain(value), &plain(wanted)),
        _ => value == wanted,
    }
}

/// Whether `line` is `pattern`, in which `...` stands for anything.
fn fits(line: &str, pattern: &str) -> bool {
    let Some((before, after)) = pattern.split_once(ANYTHING) else { return line == pattern };
    let Some(rest) = line.strip_prefix(before) else { return false };
    let starts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    starts.into_iter().any(|at| fits(&rest[at..], after))
}

/// A line with single spaces, and with a word for every time and id.
fn plain(line: &str) -> String {
    let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-:.".contains(c);
    let mut text = String::new();
    let mut rest = words.as_str();
    while !rest.is_empty() {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, more) = rest.split_at(end);
        text.push_str(match word {
            _ if has_shape(word, "0000-00-00T00:00:00") => "<time>",
            _ if has_shape(word, "ffffffff-ffff-ffff-ffff-ffffffffffff") => "<id>",
            _ => word,
        });
        let separators = more.find(is_part).unwrap_or(more.len());
        text.push_str(&more[..separators]);
        rest = &more[separators..];
    }
    text
}

/// Whether a word begins with this shape: 0 for a digit, f for a hexadecimal one.
fn has_shape(word: &str, shape: &str) -> bool {
    let fits = |(c, wanted): (char, char)| match wanted {
        '0' => c.is_ascii_digit(),
        'f' => c.is_ascii_hexdigit(),
        _ => c == wanted,
    };
    word.len() >= shape.len() && word.chars().zip(shape.chars()).all(fits)
}

#[test]
fn a_line_is_found_anywhere() {
    let output = "waiting\n\"hello, world\"\nnext: ff show 01a1e95f-d5e4-7548-8000-0392e1f51d6c\n";
    assert!(contains(output, "\"hello, world\""));
    assert!(contains(output, "next: ... 01a1e95f-0000-7548-8000-0392e1f51d6c"));
    assert!(contains(output, "wai...ing"));
    assert!(!contains(output, "hello,  moon"));
    assert!(!contains(output, "waiting ... world"), "one line");
}

#[test]
fn lines_are_consecutive() {
    let output = "A  B\n1  x\n2  y\nsince 2026-11-17T05:52:36.159Z (in 24h)\n";
    assert!(shows(output, "1 x\n2 y\n"));
    assert!(shows(output, "A    B\n...\nsince 2025-01-01T00:00:00Z (in ...)\n"));
    assert!(!shows(output, "A B\n2 y\n"));
    assert!(!shows(output, "2 y\n1 x\n"));
    assert!(!shows(output, "since 2026-11-17T05:52:36.159Z (in 23h)\n"));
    assert!(!shows(output, "1 x\n2 y\n3 z\n"));
}

#[test]
fn json_has_what_the_page_has() {
    let output = "[1]\n{\"a\": {\"b\": 2, \"at\": \"2026-11-17T05:52:36.159Z\"}, \"c\": [3]}\n";
    let shown = |block: &str| shows_json(output, &serde_json::from_str(block).unwrap());
    assert!(shown("{\"a\": {\"at\": \"2020-01-01T00:00:00Z\"}}") && shown("{\"c\": [3]}"));
    assert!(!shown("{\"a\": {\"b\": 3}}") && !shown("{\"c\": []}") && !shown("{\"d\": null}"));
}
