//! What the tests of this crate share: calls of a store.

use ff_backend_postgres::{Options, PostgresStore, backend};
use ff_core::machine::{Assignment, ClaimRequest, Complete, Submit, Target};
use ff_core::state::Worker;
use ff_core::{
    Capabilities, ExecutionId, Lane, Millis, Namespace, Partition, Payload, WorkerId,
    WorkerInstanceId,
};
use ff_store::roles::Engine;
use ff_store::{ClientBackend, Store, WorkerBackend, mint};

use crate::fixture::{Borrowed, TableClock, fresh, options};

/// An empty schema, its clock, and stores on it.
pub(crate) struct Place {
    schema: Borrowed,
    pub(crate) clock: TableClock,
}

impl Place {
    pub(crate) async fn new() -> Place {
        let (schema, clock) = fresh().await;
        Place { schema, clock }
    }

    pub(crate) fn schema(&self) -> String {
        self.schema.schema()
    }

    pub(crate) fn options(&self) -> Options {
        options(&self.schema())
    }

    pub(crate) async fn open(&self) -> Engine<PostgresStore> {
        backend(&self.options()).await.unwrap()
    }

    /// Runs a statement past the store, in its schema.
    pub(crate) async fn sql(&self, sql: &str) -> u64 {
        let client = crate::fixture::sql().await;
        client.batch_execute(&format!("SET search_path TO {}", self.schema())).await.unwrap();
        client.execute(sql, &[]).await.unwrap()
    }
}

pub(crate) fn new_id() -> ExecutionId {
    mint::execution_id(Partition::ONLY)
}

pub(crate) fn target(execution: ExecutionId) -> Target {
    Target { namespace: Namespace::default(), execution }
}

/// A claim of up to `max` executions that require nothing.
pub(crate) fn claim(max: u16) -> ClaimRequest {
    ClaimRequest {
        namespace: Namespace::default(),
        lane: Lane::default(),
        worker: Worker {
            id: WorkerId::new("tester").unwrap(),
            instance: WorkerInstanceId::new("tester-1").unwrap(),
        },
        capabilities: Capabilities::NONE,
        request: mint::request_id(),
        max,
        retry: false,
    }
}

pub(crate) fn complete(assignment: &Assignment) -> Complete {
    Complete { hold: assignment.hold(), result: Payload::bytes("done") }
}

pub(crate) async fn submit(backend: &Engine<PostgresStore>) -> ExecutionId {
    let answers = backend.submit(vec![Submit::new(new_id())]).await.unwrap();
    answers.into_iter().next().unwrap().unwrap().execution
}

pub(crate) async fn take(backend: &Engine<PostgresStore>, max: u16) -> Vec<Assignment> {
    backend.claim(claim(max), Millis::ZERO).await.unwrap().assignments
}

/// The violations that an audit of everything stored finds.
pub(crate) async fn violations(store: &impl Store) -> Vec<String> {
    let report = ff_store::audit::audit(store.rows().await.unwrap()).await.unwrap();
    report.violations.into_iter().map(|v| format!("{}: {v}", v.rule.as_str())).collect()
}
