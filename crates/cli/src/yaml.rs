//! YAML as JSON: what a person writes in YAML is read as the JSON that the API takes.
//!
//! The JSON has every value on the line on which the YAML has it (no line break is part of a value), so that what is wrong further on is found where
//! the person wrote it. Aliases are written out; the whole is bounded.

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

/// How deep values may be nested, as in JSON.
const DEPTH: usize = 100;

/// The JSON of the one document of `yaml`, of at most `most` bytes.
pub(crate) fn to_json(yaml: &str, most: usize) -> Result<String, String> {
    let mut writer = Writer { most, ..Writer::default() };
    for event in Parser::new_from_str(yaml) {
        let (event, span) = event.map_err(|error| error.to_string())?;
        let line = span.start.line();
        writer.event(event, line).map_err(|why| format!("{why} at line {line}"))?;
        if writer.json.len() > most {
            return Err(format!("has more than {most} bytes when its aliases are written out"));
        }
    }
    match writer.documents {
        1 => Ok(writer.json),
        _ => Err("is empty".to_owned()),
    }
}

#[derive(Default)]
struct Writer {
    json: String,
    most: usize,
    /// How many lines are written.
    lines: usize,
    documents: usize,
    open: Vec<Level>,
    /// The text of what has an anchor, once it is whole, by the number of the anchor.
    anchored: std::collections::HashMap<usize, std::ops::Range<usize>>,
}

/// A sequence or a mapping that has not ended.
struct Level {
    is_mapping: bool,
    /// How many keys and values it has.
    count: usize,
    anchor: usize,
    begins: usize,
}

impl Writer {
    fn event(&mut self, event: Event<'_>, line: usize) -> Result<(), String> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err("a second document begins".to_owned());
                }
            }
            Event::Alias(anchor) => {
                let text = self.anchored.get(&anchor).cloned();
                let text = text.ok_or("an alias names what is not whole")?;
                if self.json.len() + text.len() > self.most {
                    return Err("an alias makes it too long".to_owned());
                }
                let text = self.json[text].replace('\n', " ");
                self.before(line, Some(&text))?;
                self.json.push_str(&text);
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = if self.wants_key() {
                    key(&text, style)?
                } else {
                    scalar(&text, style, tag.as_deref())?
                };
                let begins = self.before(line, None)?;
                self.json.push_str(&value);
                self.keep(anchor, begins);
            }
            Event::SequenceStart(anchor, tag) => self.open(false, anchor, tag.as_deref(), line)?,
            Event::MappingStart(anchor, tag) => self.open(true, anchor, tag.as_deref(), line)?,
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(level) = self.open.pop() {
                    self.json.push(if level.is_mapping { '}' } else { ']' });
                    self.keep(level.anchor, level.begins);
                }
            }
        }
        Ok(())
    }

    fn open(
        &mut self,
        is_mapping: bool,
        anchor: usize,
        tag: Option<&Tag>,
        line: usize,
    ) -> Result<(), String> {
        if let Some(tag) = tag {
            return Err(format!("the tag {}{} is not understood", tag.handle, tag.suffix));
        }
        if self.open.len() >= DEPTH {
            return Err(format!("is nested deeper than {DEPTH} levels"));
        }
        if self.wants_key() {
            return Err("a key is no text".to_owned());
        }
        let begins = self.before(line, None)?;
        self.json.push(if is_mapping { '{' } else { '[' });
        self.open.push(Level { is_mapping, count: 0, anchor, begins });
        Ok(())
    }

    /// Whether what comes is a key.
    fn wants_key(&self) -> bool {
        self.open.last().is_some_and(|level| level.is_mapping && level.count.is_multiple_of(2))
    }

    /// Writes what stands before a value or a key on `line`; answers where that begins.
    fn before(&mut self, line: usize, alias: Option<&str>) -> Result<usize, String> {
        if self.wants_key() && alias.is_some_and(|text| !text.starts_with('"')) {
            return Err("a key is no text".to_owned());
        }
        if let Some(level) = self.open.last_mut() {
            match (level.count, level.is_mapping && level.count % 2 == 1) {
                (0, _) => {}
                (_, true) => self.json.push(':'),
                (_, false) => self.json.push(','),
            }
            level.count += 1;
        }
        while self.lines + 1 < line {
            self.json.push('\n');
            self.lines += 1;
        }
        Ok(self.json.len())
    }

    fn keep(&mut self, anchor: usize, begins: usize) {
        if anchor > 0 {
            self.anchored.insert(anchor, begins..self.json.len());
        }
    }
}

fn quoted(text: &str) -> Result<String, String> {
    serde_json::to_string(text).map_err(|error| error.to_string())
}

fn key(text: &str, style: ScalarStyle) -> Result<String, String> {
    match style == ScalarStyle::Plain && text == "<<" {
        true => Err("merge keys (<<) are not supported; write the fields out".to_owned()),
        false => quoted(text),
    }
}

/// A value by the core schema of YAML 1.2.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<String, String> {
    match tag {
        Some(tag) if tag.is_yaml_core_schema() && tag.suffix == "str" => return quoted(text),
        Some(tag) => return Err(format!("the tag {}{} is not understood", tag.handle, tag.suffix)),
        None if style != ScalarStyle::Plain => return quoted(text),
        None => {}
    }
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => "null".to_owned(),
        "true" | "True" | "TRUE" => "true".to_owned(),
        "false" | "False" | "FALSE" => "false".to_owned(),
        _ => match number(text)? {
            Some(number) => number,
            None => quoted(text)?,
        },
    })
}

/// A number as JSON writes it.
fn number(text: &str) -> Result<Option<String>, String> {
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'-') => ("-", &text[1..]),
        Some(b'+') => ("", &text[1..]),
        _ => ("", text),
    };
    if matches!(digits, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN") {
        return Err(format!("{text} is no number of JSON"));
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(rest) = text.strip_prefix(prefix) {
            return Ok(u64::from_str_radix(rest, radix).ok().map(|value| value.to_string()));
        }
    }
    let is_number = digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && digits.contains(|one: char| one.is_ascii_digit())
        && digits.bytes().all(|one| one.is_ascii_digit() || b".eE+-".contains(&one));
    if !is_number {
        return Ok(None);
    }
    if digits.bytes().all(|one| one.is_ascii_digit()) {
        let rest = digits.trim_start_matches('0');
        return Ok(Some(format!("{sign}{}", if rest.is_empty() { "0" } else { rest })));
    }
    let exact = format!("{sign}{digits}");
    if serde_json::from_str::<serde::de::IgnoredAny>(&exact).is_ok() {
        return Ok(Some(exact));
    }
    let value = digits.parse::<f64>().ok().filter(|value| value.is_finite());
    Ok(value.map(|value| format!("{sign}{value:?}")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(yaml: &str) -> Value {
        let text = to_json(yaml, 1 << 20).unwrap_or_else(|why| panic!("{yaml}: {why}"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{yaml}: {text}: {error}"))
    }

    #[test]
    fn a_graph_is_read_as_it_is_meant() {
        let yaml = "# nightly\nlane: reports\nnodes:\n  - name: a\n    input: {n: 1, say: 'no'}\n\
                    \x20 - name: b\n    after: [a]\n    policy: &once\n      max_attempts: 1\n\
                    \x20 - {name: c, after: [a, b], policy: *once}\n";
        let meant = json!({"lane": "reports", "nodes": [
            {"name": "a", "input": {"n": 1, "say": "no"}},
            {"name": "b", "after": ["a"], "policy": {"max_attempts": 1}},
            {"name": "c", "after": ["a", "b"], "policy": {"max_attempts": 1}},
        ]});
        assert_eq!(read(yaml), meant);
    }

    #[test]
    fn values_are_those_of_yaml_1_2() {
        let yaml = "[1, +7, -0012, 0x1F, 0o17, 1.5, .5, 1., -1e3, 12e03, true, False, ~, null, , yes, no, 1.2.3, \
                    2026-03-01, '5', \"6\", !!str 7, 1_000, 12345678901234567890]"
            .replace(", ,", ", ~,");
        let meant = json!([
            1,
            7,
            -12,
            31,
            15,
            1.5,
            0.5,
            1.0,
            -1e3,
            12e3,
            true,
            false,
            null,
            null,
            null,
            "yes",
            "no",
            "1.2.3",
            "2026-03-01",
            "5",
            "6",
            "7",
            "1_000",
            12345678901234567890u64
        ]);
        assert_eq!(read(&yaml), meant);
        assert_eq!(
            read("a: |\n  two\n  lines\nb: >\n  one\n  line\n1: x\n"),
            json!({"a": "two\nlines\n", "b": "one line\n", "1": "x"})
        );
    }

    #[test]
    fn a_value_is_on_the_line_on_which_it_was_written() {
        let json = to_json("a: 1\n\n\nb:\n  - 2\n  - x\n", 1 << 10).unwrap();
        let line = |what: &str| json.lines().position(|line| line.contains(what)).unwrap() + 1;
        assert_eq!([line("\"b\""), line("2"), line("\"x\"")], [4, 5, 6], "{json}");
    }

    #[test]
    fn what_is_no_json_or_too_much_is_refused() {
        for (yaml, says) in [
            ("", "is empty"),
            ("a: 1\n---\nb: 2\n", "second document"),
            ("a: [1", "line"),
            ("a: .nan", ".nan is no number of JSON at line 1"),
            ("x: *y\n", "unknown anchor"),
            ("x: &y {a: 1}\nz:\n  <<: *y\n", "merge keys"),
            ("? [a]\n: 1\n", "a key is no text"),
            ("a: !secret x", "is not understood"),
            ("a: &a [*a]", "not whole"),
        ] {
            let why = to_json(yaml, 1 << 20).unwrap_err();
            assert!(why.contains(says), "{yaml:?}: {why}");
        }
        let deep = "[".repeat(10_000);
        assert!(to_json(&deep, 1 << 20).is_err());
        // Ten to the ninth, if it were written out.
        let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..9 {
            let of = vec![format!("*a{}", n - 1); 10].join(", ");
            laughs.push_str(&format!("a{n}: &a{n} [{of}]\n"));
        }
        let why = to_json(&laughs, 1 << 20).unwrap_err();
        assert!(why.contains("too long"), "{why}");
    }
}
