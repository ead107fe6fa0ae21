//! A new store in a temporary directory, and the program that serves it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use ff_testkit::valkey::{Config, Server};
use serde_json::Value;
use tempfile::TempDir;

use crate::serving::Serving;

/// A new store, and a directory for everything else. The logs of the servers are
/// printed when a harness fails.
#[derive(Debug)]
pub struct Place {
    name: &'static str,
    program: PathBuf,
    directory: TempDir,
    store: String,
    valkey: Option<Server>,
    served: AtomicUsize,
}

impl Place {
    /// A SQLite store; `program` is the built `ff`.
    pub fn sqlite(program: &str) -> Place {
        let directory = TempDir::new().unwrap();
        let store = format!("sqlite:{}", directory.path().join("ff.db").display());
        Place::new("sqlite", program, directory, store, None)
    }

    /// A Valkey server of its own; `program` is the built `ff`.
    pub fn valkey(program: &str) -> Place {
        let server = Server::start(Config::default().with("appendfsync", "no"));
        let (directory, store) = (TempDir::new().unwrap(), server.url());
        Place::new("valkey", program, directory, store, Some(server))
    }

    fn new(
        name: &'static str,
        program: &str,
        directory: TempDir,
        store: String,
        valkey: Option<Server>,
    ) -> Place {
        let (program, served) = (program.into(), AtomicUsize::new(0));
        Place { name, program, directory, store, valkey, served }
    }

    /// What kind of store it is.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// The name of a count, such as `edge_disconnect_cuts_sqlite`.
    pub(crate) fn counted(&self, what: &str) -> String {
        format!("edge_{what}_{}", self.name)
    }

    /// The server of a store on Valkey.
    pub(crate) fn server(&self) -> Option<&Server> {
        self.valkey.as_ref()
    }

    /// The file of a store on SQLite.
    pub(crate) fn file(&self) -> PathBuf {
        self.directory.path().join("ff.db")
    }

    /// Serves the store.
    pub(crate) fn serve(&self) -> Serving {
        let number = self.served.fetch_add(1, Ordering::SeqCst);
        let log = self.directory.path().join(format!("server-{number}.log"));
        Serving::start(&self.program, &self.store, log)
    }

    /// The report of `ff check` on the store.
    pub(crate) fn check(&self) -> Value {
        self.ff(&["check"])
    }

    /// The JSON that a command prints; it may exit with an error.
    pub(crate) fn ff(&self, words: &[&str]) -> Value {
        let mut command = bare(&self.program);
        command.args(words).args(["--json", "--store", &self.store]);
        let output = command.current_dir(self.directory.path()).output().unwrap();
        let talk = String::from_utf8_lossy(&output.stderr);
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("ff {words:?} answers no JSON ({error}): {talk}"))
    }

    /// The store must be sound.
    pub(crate) fn assert_sound(&self) {
        let report = self.check();
        assert_eq!(report["violations"], Value::Array(Vec::new()), "{}: {report}", self.name);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for number in 0..self.served.load(Ordering::SeqCst) {
                let log = self.directory.path().join(format!("server-{number}.log"));
                eprintln!("log of server {number} on {}:\n{}", self.name, end_of(&log));
            }
        }
    }
}

/// The last lines of a log.
fn end_of(log: &Path) -> String {
    const LINES: usize = 15;
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

/// The program without the environment of the user.
pub(crate) fn bare(program: &Path) -> Command {
    let mut command = Command::new(program);
    for name in ["FF_STORE", "FF_URL", "FF_TOKEN", "FF_LOG", "FF_NAMESPACE", "RUST_LOG"] {
        command.env_remove(name);
    }
    command
}
