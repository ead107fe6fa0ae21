//! Where the tools in Python are: installed below the target directory by the first test that needs
//! them, and again when the file of their versions changes. Nothing is fetched otherwise.
//! `FF_SCHEMATHESIS` names an environment of Python that has them instead.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use tokio::process::Command;

/// The tools in Python, and their versions.
const REQUIREMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/openapi/requirements.txt");
/// The program in TypeScript.
pub(crate) const TYPESCRIPT: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/openapi/clients/typescript");
/// No step of an installation takes longer.
const LIMIT: Duration = Duration::from_secs(300);

const GET_PYTHON: &str = "install Python 3.11 or newer with its venv module (Debian: apt install \
                          python3-venv), or set FF_SCHEMATHESIS to a schemathesis executable that \
                          has mypy, openapi-python-client and openapi-spec-validator next to it; \
                          the first run needs the package index of pip";

static SCHEMATHESIS: LazyLock<PathBuf> =
    LazyLock::new(|| match std::env::var_os("FF_SCHEMATHESIS") {
        Some(path) => path.into(),
        None => in_python(),
    });

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
