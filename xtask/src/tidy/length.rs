//! A Rust file is one idea, and one idea fits in 500 lines.

use super::{Finding, source::Source};

const MAX_LINES: usize = 500;

pub(super) fn check(source: &Source) -> Vec<Finding> {
    let lines = source.lines().count();
    if !source.has_extension(&["rs"]) || lines <= MAX_LINES {
        return Vec::new();
    }
    let message = format!("{lines} lines, more than {MAX_LINES}; split the file by idea");
    vec![Finding::new(MAX_LINES + 1, message)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_too_many_is_caught() {
        let source = Source::new("crates/core/src/id.rs", "x\n".repeat(MAX_LINES + 1));
        assert_eq!(check(&source)[0].line, MAX_LINES + 1);
    }

    #[test]
    fn a_full_file_is_fine() {
        let source = Source::new("crates/core/src/id.rs", "x\n".repeat(MAX_LINES));
        assert_eq!(check(&source), []);
    }

    #[test]
    fn only_rust_files_are_measured() {
        let source = Source::new("Cargo.lock", "x\n".repeat(MAX_LINES + 1));
        assert_eq!(check(&source), []);
    }
}
