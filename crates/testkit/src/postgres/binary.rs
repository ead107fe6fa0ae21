//! Where the server's programs are: in a variable, on the PATH, where Debian installs them, or else below
//! the target directory, fetched there by the first test that needs them.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use crate::tools::{on_path, run, tools};

/// The Python package that carries a Postgres server.
const PACKAGE: &str = "pgserver";
const VERSION: &str = "0.1.4";

/// The programs that a test needs.
const PROGRAMS: [&str; 2] = ["postgres", "initdb"];

/// The variable that names the folder of another release's programs.
const CHOSEN: &str = "FF_TEST_POSTGRES";

/// Where Debian's packages install each release.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The folder of the programs.
///
/// # Panics
///
/// When there is none and none can be fetched; the message says how to get one.
pub fn programs() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| find_or_fetch().unwrap_or_else(|why| panic!("{why}")))
}

/// The folder of the programs; a failure says how to get them.
pub fn find_or_fetch() -> Result<PathBuf, String> {
    if let Some(chosen) = env::var_os(CHOSEN) {
        return Ok(chosen.into());
    }
    let installed = on_path(PROGRAMS[0]).and_then(|file| Some(file.parent()?.to_owned()));
    if let Some(found) = installed.filter(|folder| is_whole(folder)).or_else(of_debian) {
        return Ok(found);
    }
    let home = tools().join(PACKAGE).join(VERSION);
    let inside = home.join("pgserver/pginstall/bin");
    if is_whole(&inside) {
        return Ok(inside);
    }
    fetch(&home).and_then(|()| whole(inside)).map_err(|why| {
        format!(
            "there is no Postgres server and none can be fetched: {why}; install one \
             (`apt-get install postgresql`), make `python3 -m pip install {PACKAGE}=={VERSION}` work \
             here, or name a folder with postgres and initdb in {CHOSEN}"
        )
    })
}

/// The newest release that Debian's packages have installed.
fn of_debian() -> Option<PathBuf> {
    let releases = fs::read_dir(DEBIAN).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let numbered = releases.filter_map(|path| {
        let number: u32 = path.file_name()?.to_str()?.parse().ok()?;
        Some((number, path.join("bin")))
    });
    numbered.filter(|(_, bin)| is_whole(bin)).max().map(|(_, bin)| bin)
}

fn is_whole(folder: &Path) -> bool {
    PROGRAMS.iter().all(|program| folder.join(program).is_file())
}

fn whole(folder: PathBuf) -> Result<PathBuf, String> {
    match is_whole(&folder) {
        true => Ok(folder),
        false => Err(format!("{PACKAGE} {VERSION} has no server for this machine")),
    }
}

/// Installs the package at `home`, unless another process just did.
fn fetch(home: &Path) -> Result<(), String> {
    let parent = home.parent().ok_or("the tools folder has no parent")?;
    let context = |what: &str, why: std::io::Error| format!("{what} {}: {why}", parent.display());
    fs::create_dir_all(parent).map_err(|why| context("cannot make", why))?;
    let lock = fs::File::create(parent.join("lock")).map_err(|why| context("cannot lock", why))?;
    lock.lock().map_err(|why| context("cannot lock", why))?;
    if home.exists() {
        return Ok(());
    }
    // The holder of the lock owns this folder, and what a killed process left in it.
    let partial = parent.join("partial");
    let _ = fs::remove_dir_all(&partial);
    run(Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"])
        .arg(&partial)
        .arg(format!("{PACKAGE}=={VERSION}")))?;
    fs::rename(&partial, home).map_err(|why| context("cannot rename in", why))
}
