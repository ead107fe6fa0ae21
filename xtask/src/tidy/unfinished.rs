//! No file admits that it is unfinished, and no test is switched off.
//!
//! The needles are spelled in two pieces so that this file passes its own rule.

use super::{Finding, source::Source};

const EXTENSIONS: &[&str] = &["rs", "lua", "sql", "md"];

/// Markers that count only as whole words.
const WORDS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];

/// Code that counts anywhere.
const CODE: &[&str] =
    &[concat!("todo", "!("), concat!("unimplemented", "!("), concat!("#[", "ignore")];

pub(super) fn check(source: &Source) -> Vec<Finding> {
    if !source.has_extension(EXTENSIONS) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (number, line) in source.lines() {
        let words = WORDS.iter().filter(|word| has_word(line, word));
        let code = CODE.iter().filter(|code| line.contains(**code));
        for needle in words.chain(code) {
            let message = format!("`{needle}` marks unfinished work; finish it or leave it out");
            findings.push(Finding::new(number, message));
        }
    }
    findings
}

fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_needle_is_caught_at_its_line() {
        for needle in WORDS.iter().chain(CODE) {
            let source = Source::new("crates/core/src/id.rs", format!("fine\n  {needle}: later\n"));
            let lines: Vec<_> = check(&source).iter().map(|found| found.line).collect();
            assert_eq!(lines, [2], "{needle}");
        }
    }

    #[test]
    fn part_of_a_longer_word_is_not_a_marker() {
        for text in [concat!("TO", "DOS"), concat!("mktemp ff.X", "XXXXX")] {
            assert_eq!(check(&Source::new("docs/guide.md", text)), [], "{text}");
        }
    }

    #[test]
    fn other_kinds_of_file_are_not_read() {
        let source = Source::new("Cargo.lock", WORDS[0]);
        assert_eq!(check(&source), []);
    }
}
