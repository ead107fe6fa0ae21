//! Which Rust blocks are compiled and run elsewhere: a crate includes their page as its
//! documentation, and its doctests run them.

use std::path::Path;

use super::page::{Block, Page};

/// The program that the tests of `flowfabric` run.
const PROGRAM: &str = "crates/flowfabric/tests/flowfabric/readme_program.rs";

/// Whether a test compiles the block, and runs it unless it is `no_run`; if not, why.
pub(super) fn covers(root: &Path, page: &Page, block: &Block) -> Result<(), String> {
    if block.has("ignore") || block.has("compile_fail") {
        return Err("no doctest compiles a block with this fence".to_owned());
    }
    let include = format!("#[doc = include_str!(\"../../../{}\")]", page.name);
    let is_included = crate_roots(root).any(|text| text.contains(&include));
    let has_program = || std::fs::read_to_string(root.join(PROGRAM)).unwrap() == block.text;
    match is_included || has_program() {
        true => Ok(()),
        false => Err(format!("no crate has `{include}`, so that its doctests run this")),
    }
}

fn crate_roots(root: &Path) -> impl Iterator<Item = String> {
    let crates = std::fs::read_dir(root.join("crates")).unwrap();
    crates.filter_map(|folder| std::fs::read_to_string(folder.ok()?.path().join("src/lib.rs")).ok())
}
