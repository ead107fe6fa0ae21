//! The counts of a test run: histories, accepted commands, facts.
//!
//! A test appends lines `name value` to any file in the directory that `FF_REPORT_DIR` names.
//! Values of one name add up over all files. A line that does not parse fails the run: a count
//! that cannot be read is not a count of zero.

use std::{collections::BTreeMap, fs, io, path::Path, path::PathBuf};

use crate::Result;

/// The environment variable that tells tests where to leave their counts.
pub(crate) const DIR_VARIABLE: &str = "FF_REPORT_DIR";

/// Totals by name.
pub(crate) type Counts = BTreeMap<String, u64>;

/// Empties the report directory under `target/` and returns its absolute path.
pub(crate) fn prepare(root: &Path) -> Result<PathBuf> {
    let dir = root.join("target").join("ff-report");
    let emptied = match fs::remove_dir_all(&dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir_all(&dir).and_then(|()| dir.canonicalize()),
    };
    emptied.map_err(|error| format!("cannot empty {}: {error}", dir.display()))
}

/// Adds up every report in the directory.
pub(crate) fn read(dir: &Path) -> Result<Counts> {
    let cannot_read = |error: io::Error| format!("cannot read {}: {error}", dir.display());
    let mut counts = Counts::new();
    for entry in fs::read_dir(dir).map_err(cannot_read)? {
        let path = entry.map_err(cannot_read)?.path();
        let text = fs::read_to_string(&path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        add(&mut counts, &text).map_err(|why| format!("{}:{why}", path.display()))?;
    }
    Ok(counts)
}

/// The value is the last word of a line; the name is everything before it.
fn add(counts: &mut Counts, text: &str) -> Result {
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let parsed = line
            .rsplit_once(char::is_whitespace)
            .and_then(|(name, value)| Some((name.trim_end(), value.parse::<u64>().ok()?)));
        let Some((name, value)) = parsed else {
            return Err(format!("{}: expected `name value`, found `{line}`", index + 1));
        };
        *counts.entry(name.to_owned()).or_default() += value;
    }
    Ok(())
}

/// The counts as a table, or a sentence when no test left any.
pub(crate) fn counts_table(counts: &Counts) -> String {
    if counts.is_empty() {
        return "no test reported a count\n".to_owned();
    }
    let rows: Vec<_> =
        counts.iter().map(|(name, total)| (name.clone(), total.to_string())).collect();
    table(&rows)
}

/// Two aligned columns: names to the left, values to the right.
pub(crate) fn table(rows: &[(String, String)]) -> String {
    let names = rows.iter().map(|(name, _)| name.chars().count()).max();
    let values = rows.iter().map(|(_, value)| value.chars().count()).max();
    let (names, values) = (names.unwrap_or(0), values.unwrap_or(0));
    rows.iter().map(|(name, value)| format!("{name:<names$}  {value:>values$}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_one_name_add_up_over_texts() {
        let mut counts = Counts::new();
        add(&mut counts, "facts 120\nhistories 2000\n").unwrap();
        add(&mut counts, "facts 3\n\nplanted bugs 10\n").unwrap();
        let expected = [("facts", 123), ("histories", 2000), ("planted bugs", 10)];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(counts, Counts::from(expected));
    }

    #[test]
    fn a_line_without_a_number_is_refused_with_its_position() {
        let failure = add(&mut Counts::new(), "facts 1\nfacts many\n").unwrap_err();
        assert_eq!(failure, "2: expected `name value`, found `facts many`");
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [("facts", "7"), ("histories", "2000")];
        let rows = rows.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(table(&rows), "facts         7\nhistories  2000\n");
    }
}
