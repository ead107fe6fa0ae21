//! Clients that other tools generate from the document: they compile without warnings, and a
//! program that uses nothing else submits, claims, keeps, completes and reads an execution.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ff_server::{Config, Token};
use ff_testkit::javascript::javascript;
use ff_testkit::report;
use tokio::process::Command;

use super::tools;
use crate::fixture::raw::ask;
use crate::fixture::{Fixture, TOKEN, config};

/// The program in Python, and how its types are checked.
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/openapi/clients");
/// No step takes longer.
const LIMIT: Duration = Duration::from_secs(120);

/// A server that requires the token, and the document it serves in a new directory.
async fn server(directory: &Path) -> (Fixture, PathBuf) {
    let token = Some(Token::new(TOKEN).unwrap());
    let server = Fixture::with(Config { token, ..config() }).await;
    let request = format!(
        "GET /openapi.json HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\r\n"
    );
    let document = ask(server.address, request).await;
    assert_eq!(document.status, 200);
    std::fs::create_dir_all(directory).unwrap();
    let file = directory.join("openapi.json");
    std::fs::write(&file, document.body).unwrap();
    (server, file)
}

/// Runs a command in a directory. It must succeed; the answer is its output.
async fn run<A: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = A>,
    directory: &Path,
) -> String {
    let mut command = Command::new(&program);
    // A generator expects its formatter in its directory.
    let tools = Path::new(program.as_ref()).parent().filter(|place| place.is_absolute());
    let tools = tools.map(Path::to_owned);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(tools.into_iter().chain(std::env::split_paths(&path)));
    command.args(arguments).current_dir(directory).env("PATH", path.unwrap()).kill_on_drop(true);
    let output = tokio::time::timeout(LIMIT, command.output()).await.expect("it takes too long");
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    assert!(output.status.success(), "{command:?}: {printed}");
    printed
}

/// The program ran to its end.
fn assert_completed(printed: &str) {
    assert!(printed.starts_with("completed ") && printed.lines().count() == 1, "{printed}");
    report::count("generated clients", 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_generated_python_client_completes_an_execution() {
    let python = tokio::task::spawn_blocking(tools::python).await.unwrap();
    let directory = tools::scratch("python-client");
    let (server, document) = server(&directory).await;
    let generator = tools::tool("openapi-python-client");
    let generate = ["generate", "--meta", "none", "--fail-on-warning"];
    let generate = generate.into_iter().chain(["--output-path", "flowfabric_client", "--path"]);
    let generate = generate.map(OsStr::new).chain([document.as_ref()]);
    let printed = run(generator, generate, &directory).await;
    // It omits, with a warning, what it cannot generate.
    assert_eq!(printed.trim(), "Generating flowfabric_client");
    for name in ["program.py", "mypy.ini"] {
        std::fs::copy(Path::new(PYTHON).join(name), directory.join(name)).unwrap();
    }
    run(&python, ["-m", "mypy", "program.py", "flowfabric_client"], &directory).await;
    let url = format!("http://{}", server.address);
    assert_completed(&run(&python, ["program.py", &url, TOKEN], &directory).await);
    std::fs::remove_dir_all(directory).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_generated_typescript_client_completes_an_execution() {
    let tools = tokio::task::spawn_blocking(javascript).await.unwrap();
    // Node.js finds what a program imports in the directories above it.
    let directory = tools.directory.join(std::process::id().to_string());
    let (server, document) = server(&directory).await;
    for name in ["program.ts", "tsconfig.json"] {
        std::fs::copy(Path::new(tools::TYPESCRIPT).join(name), directory.join(name)).unwrap();
    }
    let module = |path: &str| tools.module(path).into_os_string();
    let generate = [
        module("openapi-typescript/bin/cli.js"),
        document.into_os_string(),
        "--output".into(),
        "api.d.ts".into(),
    ];
    run(&tools.node, generate, &directory).await;
    run(&tools.node, [module("typescript/bin/tsc")], &directory).await;
    let url = format!("http://{}", server.address);
    assert_completed(&run(&tools.node, ["program.js", &url, TOKEN], &directory).await);
    std::fs::remove_dir_all(directory).unwrap();
}
