//! Tools that tests fetch once, and programs on the PATH.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// The folder for tools that tests fetch, in the target directory.
pub(crate) fn tools() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root.join(target).join("tools")
}

/// The program of this name on the PATH.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Runs a command to its end; a failure has what it printed to stderr.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|why| format!("{command:?}: {why}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{command:?} failed: {}", stderr.trim()))
    }
}
