//! `cargo xtask tidy`: the rules of the codebase that no compiler checks.
//!
//! A rule is a pure function from one file to its findings; [`RULES`] is the whole list. Rules
//! see every file git tracks and every new file it does not ignore.

mod arrows;
mod commands;
mod crate_docs;
mod length;
mod machine_path;
mod manifest;
mod phrases;
mod sleep;
mod source;
mod unfinished;

use std::path::Path;

use crate::Result;
use source::Source;

/// One broken rule at one line, counted from 1.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    line: usize,
    message: String,
}

type Rule = fn(&Source) -> Vec<Finding>;

const RULES: &[Rule] = &[
    arrows::check,
    commands::check,
    crate_docs::check,
    length::check,
    machine_path::check,
    phrases::check,
    sleep::check,
    unfinished::check,
];

/// Prints every finding as `path:line: message` and fails when there is one.
pub(crate) fn run(root: &Path) -> Result {
    let sources = source::walk(root)?;
    let mut found = 0;
    for source in &sources {
        for finding in RULES.iter().flat_map(|rule| rule(source)) {
            println!("{}:{}: {}", source.path, finding.line, finding.message);
            found += 1;
        }
    }
    match found {
        0 => Ok(()),
        1 => Err("tidy found 1 problem".to_owned()),
        _ => Err(format!("tidy found {found} problems")),
    }
}

impl Finding {
    fn new(line: usize, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { line, message }
    }
}
