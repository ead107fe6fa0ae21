//! No file names a directory of the machine it was written on.

use super::{Finding, source::Source};

/// Top-level directories that only a particular machine has.
const DIRECTORIES: &[&str] = &["work/", "root/", "home/"];

pub(super) fn check(source: &Source) -> Vec<Finding> {
    source
        .lines()
        .filter_map(|(number, line)| {
            let path = machine_path(line)?;
            let message = format!("`{path}` is a path of one machine; use a relative one");
            Some(Finding::new(number, message))
        })
        .collect()
}

/// The start of the first machine path in the line.
fn machine_path(line: &str) -> Option<String> {
    line.match_indices('/').find_map(|(at, slash)| {
        let directory =
            DIRECTORIES.iter().find(|directory| line[at + 1..].starts_with(**directory))?;
        starts_a_path(&line[..at]).then(|| format!("{slash}{directory}"))
    })
}

/// Whether a slash after this text begins an absolute path rather than continuing a relative
/// one. After `//` it does: a URL such as `sqlite:///x` holds the absolute path `/x`.
fn starts_a_path(before: &str) -> bool {
    let continues = |c: char| c.is_alphanumeric() || "_-.~/*)}".contains(c);
    before.ends_with("//") || !before.ends_with(continues)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absolute_path_is_caught_at_its_line() {
        for directory in DIRECTORIES {
            for opening in ["", "see ", "\"", "(", "sqlite:", "sqlite://"] {
                let text = format!("fine\n{opening}/{directory}project\n");
                let found = check(&Source::new("docs/guide.md", text));
                let lines: Vec<_> = found.iter().map(|found| found.line).collect();
                assert_eq!(lines, [2], "{opening} {directory}");
            }
        }
    }

    #[test]
    fn every_kind_of_file_is_read() {
        let text = format!("path = \"/{}ff\"", DIRECTORIES[0]);
        assert_eq!(check(&Source::new("Cargo.toml", text)).len(), 1);
    }

    #[test]
    fn a_relative_path_through_such_a_directory_is_fine() {
        for opening in ["docs", ".", "..", "~", "{dir}", "$(pwd)", "https:/"] {
            let text = format!("{opening}/{}project", DIRECTORIES[2]);
            assert_eq!(check(&Source::new("docs/guide.md", &*text)), [], "{text}");
        }
    }
}
