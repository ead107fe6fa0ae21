//! `cargo xtask codegen`: reference pages, and types of a client, that the `ff` binary writes about itself.
//!
//! A page is exactly what `ff docs TOPIC` prints, so it cannot disagree with the code that
//! answers. `--check` compares instead of writing.

use std::{fs, io, path::Path};

use crate::{Result, command};

struct Page {
    path: &'static str,
    topic: &'static str,
}

const PAGES: &[Page] = &[
    Page { path: "docs/reference/states.md", topic: "states" },
    Page { path: "docs/reference/keys.md", topic: "keys" },
    Page { path: "docs/reference/errors.md", topic: "errors" },
    Page { path: "docs/reference/cli.md", topic: "cli" },
    Page { path: "docs/reference/limits.md", topic: "limits" },
    Page { path: "docs/reference/metrics.md", topic: "metrics" },
    Page { path: "docs/reference/access.md", topic: "access" },
    Page { path: "clients/typescript/src/api.ts", topic: "typescript" },
];

/// Writes every page that differs from what `ff` prints.
pub(crate) fn write(root: &Path) -> Result {
    for page in PAGES {
        let printed = page.print(root)?;
        let path = root.join(page.path);
        if is_fresh(&path, &printed)? {
            continue;
        }
        path.parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(&path, &printed))
            .map_err(|error| format!("cannot write {}: {error}", page.path))?;
        println!("wrote {}", page.path);
    }
    Ok(())
}

/// Fails when a page is missing or differs from what `ff` prints, naming every such page.
pub(crate) fn check(root: &Path) -> Result {
    let mut stale = Vec::new();
    for page in PAGES {
        if !is_fresh(&root.join(page.path), &page.print(root)?)? {
            stale.push(page.path);
        }
    }
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!("stale: {}; refresh with `cargo xtask codegen`", stale.join(", ")))
}

impl Page {
    /// What `ff docs TOPIC` prints. Printing nothing is a failure, never an empty page.
    fn print(&self, root: &Path) -> Result<Vec<u8>> {
        let run_ff = ["run", "--quiet", "--package", "ff-cli", "--bin", "ff"];
        let docs = ["--locked", "--", "docs", self.topic];
        let args = [run_ff.as_slice(), docs.as_slice()].concat();
        let printed = command::capture(&mut command::cargo(root, &args))?;
        if printed.is_empty() {
            return Err(format!("`ff docs {}` printed nothing", self.topic));
        }
        Ok(printed)
    }
}

/// A missing file is stale; a file that cannot be read is a failure.
fn is_fresh(path: &Path, printed: &[u8]) -> Result<bool> {
    match fs::read(path) {
        Ok(stored) => Ok(stored == printed),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn this_file() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/codegen.rs")
    }

    #[test]
    fn a_page_is_fresh_only_when_every_byte_agrees() {
        let source = include_bytes!("codegen.rs");
        assert_eq!(is_fresh(&this_file(), source), Ok(true));
        assert_eq!(is_fresh(&this_file(), &source[1..]), Ok(false));
    }

    #[test]
    fn a_missing_page_is_stale() {
        let missing = this_file().with_file_name("no_such_page.md");
        assert_eq!(is_fresh(&missing, b""), Ok(false));
    }

    #[test]
    fn a_page_that_cannot_be_read_is_a_failure() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(is_fresh(directory, b"").is_err());
    }
}
