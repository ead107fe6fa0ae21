//! What the tests of this crate share.

use std::path::PathBuf;

use ff_backend_sqlite::{Durability, Options, SqliteStore, backend};
use ff_core::machine::{Assignment, ClaimRequest, Command, Complete, Reply, Submit, Target};
use ff_core::state::Worker;
use ff_core::{
    Capabilities, ExecutionId, Lane, Millis, Namespace, Partition, Payload, WorkerId,
    WorkerInstanceId,
};
use ff_store::roles::Engine;
use ff_store::{ClientBackend, Store, WorkerBackend, mint};
use tempfile::TempDir;

/// A temporary directory, and a store's file in it.
pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Place {
        Place { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.path("ff.db")
    }

    /// A file next to the store's.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// No test here cuts power, so nothing waits for the disk.
    pub(crate) fn options(&self) -> Options {
        Options::file(self.file()).durability(Durability::Off)
    }

    pub(crate) fn open(&self) -> Engine<SqliteStore> {
        backend(self.options()).unwrap()
    }

    /// A connection past the store: for planted damage, and to read what is stored.
    pub(crate) fn sql(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.file()).unwrap()
    }
}

pub(crate) fn new_id() -> ExecutionId {
    mint::execution_id(Partition::ONLY)
}

pub(crate) fn target(execution: ExecutionId) -> Target {
    Target { namespace: Namespace::default(), execution }
}

pub(crate) fn worker() -> Worker {
    Worker {
        id: WorkerId::new("tester").unwrap(),
        instance: WorkerInstanceId::new("tester-1").unwrap(),
    }
}

/// A claim of up to `max` executions that require nothing.
pub(crate) fn claim(max: u16) -> ClaimRequest {
    ClaimRequest {
        namespace: Namespace::default(),
        lane: Lane::default(),
        worker: worker(),
        capabilities: Capabilities::NONE,
        request: mint::request_id(),
        max,
        retry: false,
    }
}

pub(crate) fn complete(assignment: &Assignment) -> Complete {
    Complete { hold: assignment.hold(), result: Payload::bytes("done") }
}

pub(crate) fn command(action: impl Into<ff_core::machine::Action>) -> Command {
    mint::command(action)
}

pub(crate) async fn submit(backend: &Engine<SqliteStore>, submit: Submit) -> ExecutionId {
    let answers = backend.submit(vec![submit]).await.unwrap();
    answers.into_iter().next().unwrap().unwrap().execution
}

pub(crate) async fn take(backend: &Engine<SqliteStore>, max: u16) -> Vec<Assignment> {
    backend.claim(claim(max), Millis::ZERO).await.unwrap().assignments
}

/// Runs commands as one call; every one must be accepted.
pub(crate) async fn accepted(backend: &Engine<SqliteStore>, commands: Vec<Command>) -> Vec<Reply> {
    backend.store().execute(commands).await.into_iter().map(|answer| answer.unwrap()).collect()
}

/// The violations that an audit of everything stored finds.
pub(crate) async fn violations(store: &impl Store) -> Vec<String> {
    let report = ff_store::audit::audit(store.rows().await.unwrap()).await.unwrap();
    report.violations.into_iter().map(|v| format!("{}: {v}", v.rule.as_str())).collect()
}
