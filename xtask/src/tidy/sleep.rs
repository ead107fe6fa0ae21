//! No test sleeps: it advances the clock or waits on a signal.

use super::{Finding, source::Source};

/// The modules whose `sleep` waits for real or runtime time.
const MODULES: &[&str] = &["thread::", "time::"];

pub(super) fn check(source: &Source) -> Vec<Finding> {
    if !source.has_extension(&["rs"]) || !is_test_code(&source.path) {
        return Vec::new();
    }
    source
        .lines()
        .filter(|(_, line)| MODULES.iter().any(|module| names_sleep(line, module)))
        .map(|(number, _)| {
            Finding::new(number, "a test sleeps; advance the clock or wait on a signal")
        })
        .collect()
}

/// Integration tests of any crate, and all of the conformance suite.
fn is_test_code(path: &str) -> bool {
    let segments: Vec<&str> = path.split('/').collect();
    matches!(segments.as_slice(), ["crates", "conformance", ..] | ["crates", _, "tests", ..])
}

/// Whether the line names the module's `sleep`, by path or in a braced import.
fn names_sleep(line: &str, module: &str) -> bool {
    line.split(module).skip(1).any(|rest| match rest.strip_prefix('{') {
        Some(imports) => imports
            .split('}')
            .next()
            .is_some_and(|names| names.split(',').any(|name| name.trim().starts_with("sleep"))),
        None => rest.starts_with("sleep"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLEEPS: &[&str] = &[
        "std::thread::sleep(pause);",
        "tokio::time::sleep(pause).await;",
        "use tokio::time::sleep;",
        "use std::{thread, time::Duration}; thread::sleep(pause);",
        "use tokio::time::{Duration, sleep};",
        "tokio::time::sleep_until(then).await;",
    ];

    #[test]
    fn a_sleeping_test_is_caught_at_its_line() {
        for path in ["crates/cli/tests/worker.rs", "crates/conformance/src/lease.rs"] {
            for sleep in SLEEPS {
                let found = check(&Source::new(path, format!("fine\n{sleep}\n")));
                let lines: Vec<_> = found.iter().map(|found| found.line).collect();
                assert_eq!(lines, [2], "{path} {sleep}");
            }
        }
    }

    #[test]
    fn a_service_may_sleep() {
        assert_eq!(check(&Source::new("crates/engine/src/scan.rs", SLEEPS[1])), []);
    }

    #[test]
    fn a_manual_clock_may_be_advanced() {
        let source = Source::new("crates/cli/tests/worker.rs", "clock.sleep(pause);");
        assert_eq!(check(&source), []);
    }
}
