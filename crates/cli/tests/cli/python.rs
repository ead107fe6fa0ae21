//! The Python client: its own suite, against servers of this `ff`, and its types.
//!
//! The type checker is fetched once, into the folder of tools below the target directory, and again when
//! the file of its version changes.

use std::path::{Path, PathBuf};
use std::process::Command;

use ff_testkit::report;

use crate::fixture::finish;

/// What the type checker reads.
const CHECKED: &[&str] = &["flowfabric", "tests", "build_wheel.py", "../../examples/python"];

fn client() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/python").canonicalize().unwrap()
}

/// A command that must succeed; gives all that it printed.
fn run(command: &mut Command) -> String {
    let done = finish(command, b"");
    let printed = format!("{}{}", String::from_utf8_lossy(&done.stdout), done.stderr);
    assert_eq!(done.code, Some(0), "{command:?}: {printed}");
    printed
}

/// The folder that has the type checker.
fn type_checker() -> PathBuf {
    let wanted = std::fs::read(client().join("tests/requirements.txt")).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../tools/python-client");
    let done = folder.join("installed.txt");
    if std::fs::read(&done).ok().as_ref() != Some(&wanted) {
        let install = ["-m", "pip", "install", "--quiet", "--upgrade", "--target"];
        let mut pip = Command::new("python3");
        pip.args(install).arg(&folder).arg("--requirement").arg("tests/requirements.txt");
        run(pip.current_dir(client()));
        std::fs::write(&done, wanted).unwrap();
    }
    folder
}

#[test]
#[allow(clippy::print_stdout, reason = "`--nocapture` shows how many tests ran")]
fn the_suite_of_the_python_client_passes() {
    let mut suite = Command::new("python3");
    suite.args(["-W", "error", "-m", "unittest", "discover", "-t", ".", "-s", "tests"]);
    suite.env("FF_BINARY", env!("CARGO_BIN_EXE_ff")).env("PYTHONDONTWRITEBYTECODE", "1");
    for name in ["FF_URL", "FF_TOKEN", "FF_NAMESPACE", "FF_CA", "PYTHONPATH"] {
        suite.env_remove(name);
    }
    let printed = run(suite.current_dir(client()));
    let ran = printed.lines().find_map(|line| line.strip_prefix("Ran ")?.split(' ').next());
    let ran = ran.and_then(|ran| ran.parse().ok()).unwrap_or_else(|| panic!("{printed}"));
    assert!(ran > 0, "the suite ran no test: {printed}");
    println!("the suite of the Python client ran {ran} tests");
    report::count("tests of the Python client", ran);
}

#[test]
fn the_python_client_and_its_examples_have_strict_types() {
    let folder = type_checker();
    for version in ["3.10", "3.13"] {
        let mut mypy = Command::new("python3");
        mypy.args(["-m", "mypy", "--strict", "--python-version", version]).args(CHECKED);
        let cache = folder.join(format!("cache-{version}"));
        mypy.env("PYTHONPATH", &folder).env("MYPY_CACHE_DIR", cache);
        let printed = run(mypy.current_dir(client()));
        assert!(printed.starts_with("Success: no issues found in "), "{printed}");
    }
}
