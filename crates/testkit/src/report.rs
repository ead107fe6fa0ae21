//! Counts that `cargo xtask test` prints at the end of a run.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

/// Adds `value` to the count of `name`. Without a report directory it does nothing.
pub fn count(name: &str, value: u64) {
    let Some(directory) = std::env::var_os("FF_REPORT_DIR") else { return };
    let file = PathBuf::from(directory).join(format!("{}.txt", std::process::id()));
    let line = format!("{name} {value}\n");
    // One write call per line: tests of one process append to the same file at the same time.
    let written = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&file)
        .and_then(|mut open| open.write_all(line.as_bytes()));
    if let Err(error) = written {
        panic!("the report directory is given but {} cannot be written: {error}", file.display());
    }
}
