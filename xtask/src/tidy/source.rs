//! The files that rules see.

use std::{collections::BTreeSet, fs, io, path::Path};

use crate::{Result, command};

/// One text file. The path is relative to the workspace root, with forward slashes.
pub(super) struct Source {
    pub(super) path: String,
    pub(super) text: String,
}

impl Source {
    #[cfg(test)]
    pub(super) fn new(path: &str, text: impl Into<String>) -> Self {
        let (path, text) = (path.to_owned(), text.into());
        Self { path, text }
    }

    /// The lines with their numbers, counted from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(n, line)| (n + 1, line))
    }

    /// Whether the file's name ends in one of these extensions.
    pub(super) fn has_extension(&self, extensions: &[&str]) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|found| extensions.iter().any(|extension| found == *extension))
    }
}

/// Every text file that git tracks, or would track if it were added.
pub(super) fn walk(root: &Path) -> Result<Vec<Source>> {
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = command::capture(&mut command::git(root, &list))?;
    let listed = String::from_utf8(listed)
        .map_err(|_| "git lists a file whose name is not UTF-8; rename it".to_owned())?;
    // A file with a merge conflict is listed once per side.
    let paths: BTreeSet<&str> = listed.split_terminator('\0').collect();
    let mut sources = Vec::new();
    for path in paths {
        if let Some(text) = read(&root.join(path))? {
            let path = path.to_owned();
            sources.push(Source { path, text });
        }
    }
    Ok(sources)
}

/// The file's text; nothing when it is binary, a link or a directory, or deleted but not yet
/// staged as such. Any other error is a failure, so a file is never skipped by accident.
fn read(path: &Path) -> Result<Option<String>> {
    let read = || -> io::Result<Option<String>> {
        if !fs::symlink_metadata(path)?.is_file() {
            return Ok(None);
        }
        let bytes = fs::read(path)?;
        let is_text = !bytes.contains(&0);
        Ok(is_text.then(|| String::from_utf8_lossy(&bytes).into_owned()))
    };
    match read() {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with its own repository, removed at the end of the test.
    struct Repository(std::path::PathBuf);

    impl Repository {
        fn new(name: &str) -> Self {
            let unique = format!("xtask-{name}-{}", std::process::id());
            let dir = std::env::temp_dir().join(unique);
            fs::create_dir_all(&dir).unwrap();
            command::run(&mut command::git(&dir, &["init", "--quiet"])).unwrap();
            Self(dir)
        }

        fn write(&self, path: &str, bytes: &[u8]) {
            fs::write(self.0.join(path), bytes).unwrap();
        }

        fn paths(&self) -> Vec<String> {
            let sources = walk(&self.0).unwrap();
            sources.into_iter().map(|source| source.path).collect()
        }
    }

    impl Drop for Repository {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn new_files_are_walked_and_ignored_ones_are_not() {
        let repository = Repository::new("ignored");
        repository.write(".gitignore", b"*.log\n");
        repository.write("new.rs", b"fn main() {}\n");
        repository.write("noise.log", b"noise\n");
        assert_eq!(repository.paths(), [".gitignore", "new.rs"]);
    }

    #[test]
    fn binary_and_deleted_files_are_passed_over() {
        let repository = Repository::new("deleted");
        repository.write("picture.png", &[1, 0, 2]);
        repository.write("gone.md", b"# gone\n");
        let add = ["add", "--all"];
        command::run(&mut command::git(&repository.0, &add)).unwrap();
        fs::remove_file(repository.0.join("gone.md")).unwrap();
        assert!(repository.paths().is_empty());
    }

    #[test]
    fn lines_count_from_one() {
        let source = Source::new("a.rs", "x\ny\n");
        assert_eq!(source.lines().collect::<Vec<_>>(), [(1, "x"), (2, "y")]);
    }
}
