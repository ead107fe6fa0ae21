//! `cargo xtask clean-clone`: the tests as a newcomer runs them, in a fresh clone of HEAD.
//!
//! Finds what a working copy hides: a file that is not committed, a stale lock file, a build
//! that depends on artefacts of an earlier one. Uncommitted changes are not in the clone.

use std::{fs, io, path::Path, process::Command, time::Instant};

use crate::{Result, command, report};

/// What the clone must not inherit: a shared build directory and the outer run's report.
const FORGOTTEN: &[&str] = &["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", report::DIR_VARIABLE];

/// Clones, tests, and removes the clone; a clone whose tests fail stays for inspection.
pub(crate) fn run(root: &Path) -> Result {
    let started = Instant::now();
    let head = command::capture(&mut command::git(root, &["rev-parse", "--short", "HEAD"]))?;
    let head = String::from_utf8_lossy(&head).trim().to_owned();
    let changes = command::capture(&mut command::git(root, &["status", "--porcelain"]))?;
    if !changes.is_empty() {
        eprintln!("clean-clone: uncommitted changes are not part of the clone");
    }

    let clone = root.join("target").join("clean-clone");
    remove(&clone)?;
    let source = root.to_string_lossy();
    let target = clone.to_string_lossy();
    let clone_head = ["clone", "--quiet", &source, &target];
    command::run(&mut command::git(root, &clone_head))?;
    command::run(forget(&mut command::cargo(&clone, &["xtask", "test"]))).map_err(|why| {
        format!("a clean clone of {head} fails: {why}; it stays in target/clean-clone")
    })?;
    remove(&clone)?;

    let minutes = started.elapsed().as_secs_f64() / 60.0;
    println!("a clean clone of {head} passes every step ({minutes:.1} min)");
    Ok(())
}

fn forget(command: &mut Command) -> &mut Command {
    for variable in FORGOTTEN {
        command.env_remove(variable);
    }
    command
}

fn remove(clone: &Path) -> Result {
    match fs::remove_dir_all(clone) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {error}", clone.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clone_does_not_share_a_build_directory() {
        let mut command = Command::new("cargo");
        command.env("CARGO_TARGET_DIR", "elsewhere");
        let forgotten = forget(&mut command)
            .get_envs()
            .any(|(name, value)| name == "CARGO_TARGET_DIR" && value.is_none());
        assert!(forgotten);
    }
}
