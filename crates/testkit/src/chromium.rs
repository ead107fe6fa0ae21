//! Where the browser is that tests open pages in: in a variable, on the PATH, or installed by the first
//! test that needs it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

/// The variable that names another browser.
const CHOSEN: &str = "FF_TEST_BROWSER";

/// What it is called, by those who package it.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The browser.
///
/// # Panics
///
/// When there is none and none can be installed; the message says how to get one.
pub fn chromium() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| find_or_install().unwrap_or_else(|why| panic!("{why}")))
}

/// The browser; a failure says how to get one.
pub fn find_or_install() -> Result<PathBuf, String> {
    if let Some(chosen) = env::var_os(CHOSEN) {
        return Ok(chosen.into());
    }
    if let Some(found) = on_path() {
        return Ok(found);
    }
    // Several test processes may want it at once.
    let lock = fs::File::create(env::temp_dir().join("ff-chromium.lock"));
    let locked = lock.and_then(|lock| lock.lock().map(|()| lock));
    let installed = locked.map_err(|why| why.to_string()).and_then(|_lock| match on_path() {
        Some(_) => Ok(()),
        None => install(),
    });
    let found = installed.and_then(|()| on_path().ok_or_else(|| "it is not on the PATH".into()));
    found.map_err(|why| {
        format!(
            "cannot install a browser: {why}; run `apt-get install chromium` as root, install Chromium \
             in another way so that one of {NAMES:?} is on the PATH, or name its executable in {CHOSEN}"
        )
    })
}

/// Installs the package of the system.
fn install() -> Result<(), String> {
    let mut command = Command::new("apt-get");
    command.args(["install", "-y", "--no-install-recommends", "chromium"]);
    let output = command.env("DEBIAN_FRONTEND", "noninteractive").output();
    let output = output.map_err(|why| format!("apt-get does not run: {why}"))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let text = String::from_utf8_lossy(&output.stderr);
            Err(text.lines().last().unwrap_or("apt-get failed").to_owned())
        }
    }
}

fn on_path() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let places = env::split_paths(&path).flat_map(|place| NAMES.map(|name| place.join(name)));
    places.into_iter().find(|place| place.is_file())
}
