//! Runs the built `ff` on a store in a directory of its own.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// How long anything may take before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a look at what a test waits for may be old.
const LOOK: Duration = Duration::from_millis(20);

/// A store of its own and the program that works on it.
pub(crate) struct Ff {
    dir: TempDir,
}

/// What a command answered.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Ff {
    pub(crate) fn new() -> Ff {
        Ff { dir: TempDir::new().unwrap() }
    }

    /// A file beside the store.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn store(&self) -> String {
        format!("sqlite:{}", self.path("ff.db").display())
    }

    /// The command with its store, not yet run.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = bare(args);
        command.arg("--store").arg(self.store()).current_dir(self.dir.path());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Done {
        finish(&mut self.command(args), b"")
    }

    /// Runs with `input` on stdin.
    pub(crate) fn run_with_stdin(&self, args: &[&str], input: &[u8]) -> Done {
        finish(&mut self.command(args), input)
    }

    /// Runs what must succeed, and gives its stdout.
    pub(crate) fn ok(&self, args: &[&str]) -> Vec<u8> {
        let done = self.run(args);
        assert_eq!(done.code, Some(0), "ff {args:?}: {}", done.stderr);
        done.stdout
    }

    /// Runs what must succeed with `--json`, and gives its one object.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let stdout = self.ok(&[args, &["--json"]].concat());
        serde_json::from_slice(&stdout).unwrap()
    }

    /// Submits and gives the id.
    pub(crate) fn submit(&self, args: &[&str]) -> String {
        let stdout = self.ok(&[&["submit"], args].concat());
        String::from_utf8(stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn show(&self, id: &str) -> Value {
        self.json(&["show", id])
    }

    pub(crate) fn attempts(&self, id: &str) -> Vec<Value> {
        self.json(&["attempts", id])["attempts"].as_array().unwrap().clone()
    }

    /// Waits until the execution is in `state`.
    pub(crate) fn wait_for_state(&self, id: &str, state: &str) -> Value {
        wait_for(&format!("{id} to be {state}"), || {
            let view = self.show(id);
            (view["state"] == state).then_some(view)
        })
    }

    /// Runs a worker on everything that is claimable, and gives its report.
    pub(crate) fn work(&self, exec: &str) -> Value {
        self.json(&["worker", "--until-idle", "--exec", exec])
    }

    /// Starts a worker.
    pub(crate) fn worker(&self, args: &[&str]) -> Worker {
        let log = self.path(&format!("worker-{}.log", std::process::id()));
        let log = File::options().create(true).append(true).open(log).unwrap();
        let mut command = self.command(&[&["worker"], args].concat());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        Worker(child.unwrap())
    }

    /// The store must be sound.
    pub(crate) fn check(&self) {
        let report = self.json(&["check"]);
        assert_eq!(report["violations"], serde_json::json!([]), "{report}");
    }
}

/// The command without a store.
pub(crate) fn bare(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ff"));
    command.args(args).env_remove("FF_STORE").env_remove("FF_LOG");
    command
}

/// Runs a command to its end.
pub(crate) fn finish(command: &mut Command, input: &[u8]) -> Done {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Inputs are larger than a pipe, and a command that refuses does not read them.
    let input = input.to_vec();
    let feeding = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeding.join().unwrap();
    Done {
        code: output.status.code(),
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A worker process; it ends with the test.
pub(crate) struct Worker(Child);

impl Worker {
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// Waits for the process to end.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        wait_for("a worker to end", || self.0.try_wait().unwrap())
    }
}

impl Drop for Worker {
    /// Two signals end a worker at once, and its programs with it; killed, it would leave them.
    fn drop(&mut self) {
        if self.0.try_wait().unwrap().is_some() {
            return;
        }
        for signal in [Signal::TERM, Signal::INT, Signal::CONT] {
            self.signal(signal);
        }
        if !std::thread::panicking() {
            self.ended();
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Looks again and again until there is something to see.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let give_up = Instant::now() + PATIENCE;
    let (_silent, pause) = mpsc::channel::<()>();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < give_up, "waited in vain for {what}");
        let _ = pause.recv_timeout(LOOK);
    }
}

/// Waits until the file has `lines` lines.
pub(crate) fn wait_for_lines(path: &Path, lines: usize) {
    wait_for(&format!("{lines} lines in {}", path.display()), || {
        (line_count(path) >= lines).then_some(())
    });
}

pub(crate) fn line_count(path: &Path) -> usize {
    std::fs::read_to_string(path).unwrap_or_default().lines().count()
}
