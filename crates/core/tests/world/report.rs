//! Counts for the test report: lines `name value` in the directory that `FF_REPORT_DIR` names.

use std::fs::OpenOptions;
use std::io::Write;

/// Appends counts to `core-<test>.txt`, if a report is wanted.
pub(crate) fn counts(test: &str, counts: &[(&str, u64)]) {
    let lines: String = counts.iter().map(|(name, value)| format!("{name} {value}\n")).collect();
    eprint!("{lines}");
    let Some(dir) = std::env::var_os("FF_REPORT_DIR") else {
        return;
    };
    let path = std::path::Path::new(&dir).join(format!("core-{test}.txt"));
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(lines.as_bytes()).unwrap();
}
