//! Comments, help and documentation use the words of CONTRIBUTING's word list.
//!
//! Each needle is spelled in two pieces so that this file passes its own rule.

use super::{Finding, source::Source};

/// A phrase to avoid, and what to write instead.
const PHRASES: &[(&str, &str)] = &[
    (concat!("let", " go"), "release"),
    (concat!("lets", " go"), "releases"),
    (concat!("said", " of"), "name the settings, the message or the report"),
    (concat!("given", " out"), "dispatched"),
    (concat!("who", " waits"), "waiting executions, or waiting claims"),
    (concat!("who", " waited"), "executions that waited"),
    (concat!("a", "new"), "again"),
    (concat!("so", " says"), "name who reports it"),
    (concat!("in one", " go"), "in one call, or at a time"),
    (concat!("in", " vain"), "without success, or say that it timed out"),
    (concat!("put", " off"), "delayed"),
    (concat!("passed", " over"), "skipped"),
    (concat!("unless", " said"), "by default"),
    (concat!("nothing", " is said"), "by default"),
    (concat!("side", " by side"), "concurrently"),
    (concat!("general", " way"), "slow path"),
    (concat!("cannot", " go on"), "cannot continue"),
    (concat!("hear", " of"), "learn of"),
    (concat!("hears", " of"), "learns of"),
    (concat!("heard", " of"), "learned of, or received"),
    (concat!("what", " sort"), "which kind"),
    (concat!("puts", " right"), "repairs"),
    (concat!("put", " right"), "repaired"),
];

pub(super) fn check(source: &Source) -> Vec<Finding> {
    let is_text = source.has_extension(&["md"]);
    if !is_text && !source.has_extension(&["rs", "lua"]) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (number, line) in source.lines() {
        let line = line.trim_start().to_lowercase();
        if !is_text && !line.starts_with("//") && !line.starts_with("--") {
            continue;
        }
        for (phrase, instead) in PHRASES.iter().filter(|(phrase, _)| has_phrase(&line, phrase)) {
            let message = format!("`{phrase}` is not a phrase of ours; write: {instead}");
            findings.push(Finding::new(number, message));
        }
    }
    findings
}

/// Whether `line` has `phrase` as whole words.
fn has_phrase(line: &str, phrase: &str) -> bool {
    line.match_indices(phrase).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + phrase.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phrase_is_caught_in_comments_and_documents() {
        for (phrase, _) in PHRASES {
            for (path, text) in [
                ("crates/core/src/id.rs", format!("fn x() {{}}\n    /// It is {phrase} now.\n")),
                (
                    "crates/backend-valkey/lua/fn/claim.lua",
                    format!("local x\n-- It is {phrase}.\n"),
                ),
                ("docs/guide.md", format!("# Guide\nIt is {phrase}.\n")),
            ] {
                let lines: Vec<_> =
                    check(&Source::new(path, text)).iter().map(|found| found.line).collect();
                assert_eq!(lines, [2], "{phrase} in {path}");
            }
        }
    }

    #[test]
    fn code_and_parts_of_longer_words_are_left_alone() {
        for text in [concat!("let", " go = 1;"), concat!("// let", " goods pass")] {
            assert_eq!(check(&Source::new("crates/core/src/id.rs", text)), [], "{text}");
        }
    }
}
