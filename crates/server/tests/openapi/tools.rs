//! Where the tools in Python are: named by `FF_SCHEMATHESIS`, or installed below the target
//! directory by the first test that needs them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The tools that are installed, and their versions.
const REQUIREMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/openapi/requirements.txt");

static SCHEMATHESIS: LazyLock<PathBuf> =
    LazyLock::new(|| match std::env::var_os("FF_SCHEMATHESIS") {
        Some(path) => path.into(),
        None => installed(),
    });

/// The schemathesis executable.
pub(crate) fn schemathesis() -> &'static Path {
    &SCHEMATHESIS
}

/// The Python that the tools are installed for.
pub(crate) fn python() -> PathBuf {
    schemathesis().with_file_name("python3")
}

/// A file below the target directory.
pub(crate) fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()))
}

/// Installs the tools, unless these very versions are there.
fn installed() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../tools/schemathesis");
    let done = directory.join("requirements.txt");
    let wanted = std::fs::read(REQUIREMENTS).unwrap();
    if std::fs::read(&done).ok().as_ref() != Some(&wanted) {
        run(Command::new("python3").args(["-m", "venv"]).arg(&directory));
        let pip = directory.join("bin/pip");
        run(Command::new(pip).args(["install", "--quiet", "--requirement", REQUIREMENTS]));
        std::fs::write(done, wanted).unwrap();
    }
    directory.join("bin/schemathesis")
}

fn run(command: &mut Command) {
    let how = "install Python 3.10 or newer with its venv module (Debian: apt install \
               python3-venv), or set FF_SCHEMATHESIS to a schemathesis executable";
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; {how}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed; {how}\n{said}");
}
