//! Every library crate says at its top what it is for.

use super::{Finding, source::Source};

pub(super) fn check(source: &Source) -> Vec<Finding> {
    let is_lib = source.path.starts_with("crates/") && source.path.ends_with("/src/lib.rs");
    if !is_lib || source.lines().any(|(_, line)| is_crate_doc(line)) {
        return Vec::new();
    }
    let message = "the crate has no `//!` docs; say in a sentence what it is for";
    vec![Finding::new(1, message)]
}

/// Inner docs in the first column can only be the crate's: those of a module are indented.
fn is_crate_doc(line: &str) -> bool {
    line.strip_prefix("//!").is_some_and(|sentence| !sentence.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "crates/core/src/lib.rs";

    #[test]
    fn a_crate_without_docs_is_caught() {
        for text in ["", "mod id;\n", "// Ids.\nmod id;\n", "//!\nmod id;\n"] {
            assert_eq!(check(&Source::new(PATH, text))[0].line, 1, "{text:?}");
        }
    }

    #[test]
    fn docs_of_an_inline_module_are_not_the_crates() {
        let source = Source::new(PATH, "mod id {\n    //! Ids.\n}\n");
        assert_eq!(check(&source).len(), 1);
    }

    #[test]
    fn a_crate_with_docs_is_fine() {
        let source = Source::new(PATH, "#![allow(dead_code)]\n//! Ids.\nmod id;\n");
        assert_eq!(check(&source), []);
    }

    #[test]
    fn other_files_are_not_crates() {
        assert_eq!(check(&Source::new("crates/core/src/id.rs", "")), []);
    }
}
