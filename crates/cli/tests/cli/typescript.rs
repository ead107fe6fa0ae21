//! The TypeScript client: compiled with strict types, with its tests and examples, and its own suite
//! against servers of this `ff`.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use ff_testkit::javascript::javascript;
use ff_testkit::report;

use crate::fixture::finish;

/// A copy of the client, built: its source has no output next to it.
static BUILT: LazyLock<PathBuf> = LazyLock::new(build);

/// A folder as `node_modules` of a program that has installed the client and the compiler.
pub(crate) fn packages() -> PathBuf {
    BUILT.join("installed")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn build() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("typescript-client");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    let client = root().join("clients/typescript");
    for name in ["src", "tests"] {
        copy(&client.join(name), &folder.join(name));
    }
    for name in ["package.json", "tsconfig.json"] {
        std::fs::copy(client.join(name), folder.join(name)).unwrap();
    }
    copy(&root().join("examples/typescript"), &folder.join("tests/examples"));
    let tools = javascript();
    symlink(tools.module(""), folder.join("node_modules")).unwrap();
    for project in [".", "tests"] {
        let mut compiler = Command::new(&tools.node);
        compiler.arg(tools.module("typescript/bin/tsc")).args(["--project", project]);
        run(compiler.current_dir(&folder));
    }
    let installed = folder.join("installed");
    std::fs::create_dir_all(installed.join(".bin")).unwrap();
    symlink(&folder, installed.join("flowfabric")).unwrap();
    for name in ["typescript", "@types", "undici-types"] {
        symlink(tools.module(name), installed.join(name)).unwrap();
    }
    symlink(tools.module("typescript/bin/tsc"), installed.join(".bin/tsc")).unwrap();
    folder
}

/// Copies the TypeScript of a folder, with the folders in it.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        let kind = path.extension().and_then(|extension| extension.to_str());
        match kind {
            _ if path.is_dir() && !path.ends_with("node_modules") && !path.ends_with("out") => {
                copy(&path, &target);
            }
            Some("ts") => drop(std::fs::copy(&path, &target).unwrap()),
            Some("json") if path.ends_with("tests/tsconfig.json") => {
                std::fs::copy(&path, &target).unwrap();
            }
            _ => {}
        }
    }
}

/// A command that must succeed; gives all that it printed.
fn run(command: &mut Command) -> String {
    let done = finish(command, b"");
    let printed = format!("{}{}", String::from_utf8_lossy(&done.stdout), done.stderr);
    assert_eq!(done.code, Some(0), "{command:?}: {printed}");
    printed
}

#[test]
#[allow(clippy::print_stdout, reason = "`--nocapture` shows how many tests ran")]
fn the_suite_of_the_typescript_client_passes() {
    let tests = BUILT.join("dist-tests");
    let files = std::fs::read_dir(&tests).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|file| file.to_string_lossy().ends_with(".test.js"));
    let mut suite = Command::new(&javascript().node);
    suite.args(["--test", "--test-reporter=tap"]).args(files).current_dir(&tests);
    suite.env("FF_BINARY", env!("CARGO_BIN_EXE_ff"));
    for name in ["FF_URL", "FF_TOKEN", "FF_NAMESPACE", "FF_CA", "NODE_OPTIONS"] {
        suite.env_remove(name);
    }
    let printed = run(&mut suite);
    let count = |what: &str| -> u64 {
        let line = printed.lines().find_map(|line| line.strip_prefix(what));
        line.and_then(|count| count.trim().parse().ok()).unwrap_or_else(|| panic!("{printed}"))
    };
    let ran = count("# tests ");
    assert!(ran > 0 && count("# pass ") == ran, "not every test ran: {printed}");
    println!("the suite of the TypeScript client ran {ran} tests");
    report::count("tests of the TypeScript client", ran);
}
