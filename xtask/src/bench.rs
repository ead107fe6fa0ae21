//! `cargo xtask bench`: every benchmark on new stores, and the page of results.
//!
//! The example `report` of ff-bench does the work, because it can start servers; this builds it
//! and `ff`, both as they are released.

use std::path::Path;

use crate::{Result, command};

const PAGE: &str = "docs/reports/bench.md";

/// Measures and writes the page; with `--quick`, prints a short run instead.
pub(crate) fn run(root: &Path, options: &[&str]) -> Result {
    let build = ["build", "--release", "--locked", "--package", "ff-cli", "--bin", "ff"];
    command::run(&mut command::cargo(root, &build))?;
    let report = ["run", "--release", "--quiet", "--locked", "--package", "ff-bench"];
    let mut measure = command::cargo(root, &report);
    measure.args(["--example", "report", "--"]).arg(release(root)).arg(PAGE).args(options);
    command::run(&mut measure)
}

/// Where cargo puts `ff`.
fn release(root: &Path) -> std::path::PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root.join(target).join("release").join(format!("ff{}", std::env::consts::EXE_SUFFIX))
}
