//! Any program is a worker: the examples that are not Rust, as their readers run them. The Rust
//! worker has its test in its own package.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ff_testkit::proxy::Proxy;

use crate::fixture::{Ff, Process, Server, wait_for};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").canonicalize().unwrap()
}

/// Starts an example that finds the server by its URL.
fn start(command: &mut Command, server: &Server) -> Process {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Process::start(quiet.env("FF_URL", &server.url))
}

/// Submits, waits, and gives the result.
fn run(ff: &Ff, args: &[&str]) -> String {
    let done = ff.run(&[&["submit", "--wait", "--timeout", "30s"], args].concat());
    assert_eq!(done.code, Some(0), "{args:?}: {}", done.stderr);
    String::from_utf8(done.stdout).unwrap()
}

/// Submits work that must fail, and gives the reason.
fn run_failing(ff: &Ff, args: &[&str]) -> String {
    let done = ff.run(&[&["submit", "--wait", "--timeout", "30s", "--json"], args].concat());
    assert_eq!(done.code, Some(1), "{args:?}: {}", done.stderr);
    let view: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(view["state"], "failed", "{view}");
    view["reason"].as_str().unwrap().to_owned()
}

#[test]
fn the_python_worker_counts_words() {
    let python = Command::new("python3").arg("--version").output();
    assert!(python.is_ok(), "this test needs python3 on the PATH: {python:?}");
    let store = Ff::new().with_token("0123456789abcdef0123456789abcdef");
    let server = store.serve();
    let script = examples().join("any-program/worker.py");
    let mut command = Command::new("python3");
    command.arg(script).arg("python").env("FF_TOKEN", "0123456789abcdef0123456789abcdef");
    let _worker = start(&mut command, &server);
    let counted = run(&server.ff(), &["--lane", "python", "--input", "\"so many words\""]);
    let counted: serde_json::Value = serde_json::from_str(&counted).unwrap();
    assert_eq!(counted, serde_json::json!({"words": 3, "characters": 13}));
    let reason =
        run_failing(&server.ff(), &["--lane", "python", "--kind", "count", "--input", "[1]"]);
    assert_eq!(reason, "count takes a text, not list");
}

#[test]
fn the_python_worker_does_one_task_on_request() {
    let store = Ff::new();
    let server = store.serve();
    let ff = server.ff();
    let ids = ["1", "2"].map(|_| ff.submit(&["--lane", "python", "--input", "\"a b\""]));
    let mut command = Command::new("python3");
    command.arg(examples().join("any-program/worker.py")).args(["python", "--once"]);
    assert!(start(&mut command, &server).ended().success());
    assert_eq!(ff.show(&ids[0])["state"], "completed");
    assert_eq!(ff.show(&ids[1])["state"], "waiting");
    store.check();
}

#[test]
fn the_python_worker_keeps_a_step_and_waits_for_a_person() {
    let store = Ff::new();
    let server = store.serve();
    let ff = server.ff();
    let id = ff.submit(&["--lane", "python", "--kind", "review", "--input", "\"so many words\""]);
    let once = || {
        let mut command = Command::new("python3");
        command.arg(examples().join("any-program/worker.py")).args(["python", "--once"]);
        assert!(start(&mut command, &server).ended().success());
    };
    once();
    let asked = ff.json(&["ls", "--state", "suspended", "--reason", "approval"]);
    assert_eq!(asked["executions"][0]["id"], id.as_str(), "{asked}");
    ff.ok(&["reject", &id]);
    once();
    let result: serde_json::Value = serde_json::from_slice(&ff.ok(&["result", &id])).unwrap();
    let said =
        serde_json::json!({"words": 3, "characters": 13, "decision": "reject", "by": "local"});
    assert_eq!(result, said);
    let steps = ff.json(&["steps", &id])["steps"].clone();
    let kept: Vec<_> = steps.as_array().unwrap().iter().map(|step| &step["step"]).collect();
    assert_eq!(kept, ["count", "decision"]);
    store.check();
}

#[test]
fn the_python_worker_registers_and_leaves() {
    let store = Ff::new();
    let server = store.serve();
    let ff = server.ff();
    let workers = || ff.json(&["workers"])["workers"].clone();
    let mut command = Command::new("python3");
    command.arg(examples().join("any-program/worker.py")).args(["python", "--once"]);
    let mut worker = start(&mut command, &server);
    let seen = wait_for("the worker to register", || workers().get(0).cloned());
    assert_eq!(seen["lanes"], serde_json::json!(["python"]), "{seen}");
    run(&ff, &["--lane", "python", "--input", "\"a b\""]);
    assert!(worker.ended().success());
    assert_eq!(workers(), serde_json::json!([]));
}

#[test]
fn the_python_worker_finds_the_lease_of_a_lost_answer() {
    let store = Ff::new();
    let server = store.serve();
    let ff = server.ff();
    let id = ff.submit(&["--lane", "python", "--input", "\"a b\""]);
    let proxy = Proxy::to(server.url.rsplit_once(':').unwrap().1.parse().unwrap());
    proxy.cut_once("/claim");
    let mut command = Command::new("python3");
    command.arg(examples().join("any-program/worker.py")).args(["python", "--once"]);
    command.env("FF_URL", format!("http://127.0.0.1:{}", proxy.port()));
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(Process::start(quiet).ended().success());
    assert_eq!(proxy.cuts(), 1);
    assert_eq!(ff.show(&id)["state"], "completed");
    assert_eq!(ff.attempts(&id).len(), 1, "the lease of the lost answer was found again");
}

#[test]
fn the_shell_worker_shouts() {
    let server = Ff::new().serve();
    let script = examples().join("any-program/shout.sh");
    let ff = server.ff();
    let _worker = ff.worker(&["--lane", "shell", "--exec", script.to_str().unwrap()]);
    assert_eq!(run(&ff, &["--lane", "shell", "--input", "\"quietly\""]), "\"QUIETLY\"");
}
