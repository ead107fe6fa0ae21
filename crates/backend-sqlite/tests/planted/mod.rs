//! A store with an execution in every state, made through the public surface, and the ways past it.

use std::path::PathBuf;

use ff_backend_sqlite::{Durability, Options, SqliteStore, backend};
use ff_core::budget::{BudgetLimits, DimensionLimits, OnBreach};
use ff_core::limits::{Amounts, ExecutionLimits};
use ff_core::machine::{Assignment, ClaimRequest, Complete, Fail, Replay, Submit, Target};
use ff_core::policy::Backoff;
use ff_core::quota::QuotaLimits;
use ff_core::record::Attempt;
use ff_core::resource::Body;
use ff_core::state::{Failure, Worker};
use ff_core::{
    Capabilities, Category, Dimension, Execution, ExecutionId, IdempotencyKey, Lane, Millis,
    Namespace, Partition, Payload, Resource, ResourceKind, ResourceName, When, WorkerId,
    WorkerInstanceId,
};
use ff_store::audit::{Rule, audit};
use ff_store::roles::{Engine, Registering};
use ff_store::{ClientBackend, LimitsBackend, MaintenanceBackend, WorkerBackend, mint};
use rusqlite::{Connection, Params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;

/// A store to plant in.
pub(crate) struct Garden {
    directory: TempDir,
    /// Waits in its queue.
    pub(crate) queued: ExecutionId,
    /// Waits for its time.
    pub(crate) delayed: ExecutionId,
    /// Is held.
    pub(crate) active: ExecutionId,
    /// Has a result and an idempotency key.
    pub(crate) completed: ExecutionId,
    /// Has failed at its second attempt.
    pub(crate) failed: ExecutionId,
    /// Waits for its second run; the first has a result.
    pub(crate) replayed: ExecutionId,
}

/// An id that no execution has.
pub(crate) fn stranger() -> ExecutionId {
    mint::execution_id(Partition::ONLY)
}

impl Garden {
    /// A sound store. One of its executions waits for a worker with a capability.
    pub(crate) async fn grow() -> Garden {
        let directory = tempfile::tempdir().unwrap();
        let store = open(file(&directory));
        let classed = Submit { requires: Capabilities::new(["gpu"]).unwrap(), ..work("classed") };
        submit(&store, classed).await;
        let queued = submit(&store, work("queued")).await;
        let later = When::After(Millis::from_hours(1));
        let delayed = submit(&store, Submit { start: later, ..work("delayed") }).await;
        let active = submit(&store, work("active")).await;
        take(&store, "active").await;
        let key = Some(IdempotencyKey::new("order-1").unwrap());
        let completed = submit(&store, Submit { key, ..work("completed") }).await;
        complete(&store, "completed").await;
        let mut tried = work("failed");
        tried.policy.backoff = Backoff::none().into();
        let failed = submit(&store, tried).await;
        fail(&store, "failed", true).await;
        fail(&store, "failed", false).await;
        let replayed = submit(&store, work("replayed")).await;
        complete(&store, "replayed").await;
        let target = Target { namespace: Namespace::default(), execution: replayed };
        assert_eq!(store.replay(Replay { target, run: 0 }).await.unwrap(), 1);
        let instance = WorkerInstanceId::new("gardener-1").unwrap();
        let worker = Registering {
            namespace: Namespace::default(),
            worker: Worker { id: WorkerId::new("gardener").unwrap(), instance },
            session: mint::request_id(),
            lanes: vec![Lane::default()],
            capabilities: Capabilities::NONE,
            ttl: Millis::from_hours(1),
        };
        store.register(worker).await.unwrap();
        limit(&store).await;
        Garden { directory, queued, delayed, active, completed, failed, replayed }
    }

    /// Every broken rule that the audit names, once for each violation.
    pub(crate) async fn broken_rules(&self) -> Vec<Rule> {
        let report = audit(open(file(&self.directory)).rows().await.unwrap()).await.unwrap();
        assert_eq!(report.further, 0);
        eprintln!("{:?}", report.violations);
        report.violations.into_iter().map(|violation| violation.rule).collect()
    }

    /// Runs a statement past the store; it must change exactly one row.
    pub(crate) fn execute(&self, sql: &str, parameters: impl Params) {
        assert_eq!(self.sql().execute(sql, parameters).unwrap(), 1, "{sql}");
    }

    /// Removes the one row that `table` has for an execution.
    pub(crate) fn delete(&self, table: &str, id: ExecutionId) {
        self.execute(&format!("DELETE FROM {table} WHERE id = ?1"), [id.as_bytes()]);
    }

    /// Changes a record in place.
    pub(crate) fn alter(&self, id: ExecutionId, change: impl FnOnce(&mut Execution)) {
        let mut record: Execution = self.read("SELECT record FROM execution WHERE id = ?1", id);
        change(&mut record);
        let sql = "UPDATE execution SET record = ?2 WHERE id = ?1";
        self.execute(sql, (id.as_bytes(), encode(&record)));
    }

    /// Changes the one resource of a kind in place.
    pub(crate) fn alter_resource(&self, kind: ResourceKind, change: impl FnOnce(&mut Body)) {
        let sql = "SELECT resource FROM resource WHERE kind = ?1";
        let read = self.sql().query_row(sql, [kind.as_str()], |row| row.get::<_, Vec<u8>>(0));
        let mut resource: Resource = decode(&read.unwrap());
        change(&mut resource.body);
        let sql = "UPDATE resource SET resource = ?2 WHERE kind = ?1";
        self.execute(sql, (kind.as_str(), encode(&resource)));
    }

    /// The attempt stored beside a record.
    pub(crate) fn past_attempt(&self, id: ExecutionId) -> Attempt {
        self.read("SELECT attempt FROM attempt WHERE id = ?1", id)
    }

    /// Stores an attempt beside a record, in place of one with its number.
    pub(crate) fn insert_attempt(&self, id: ExecutionId, attempt: &Attempt) {
        let sql = "INSERT OR REPLACE INTO attempt (id, number, attempt) VALUES (?1, ?2, ?3)";
        self.execute(sql, (id.as_bytes(), attempt.number, encode(attempt)));
    }

    fn read<T: DeserializeOwned>(&self, sql: &str, id: ExecutionId) -> T {
        let read = self.sql().query_row(sql, [id.as_bytes()], |row| row.get::<_, Vec<u8>>(0));
        decode(&read.unwrap())
    }

    fn sql(&self) -> Connection {
        Connection::open(file(&self.directory)).unwrap()
    }
}

/// The format that records and attempts are written in: its number, then MessagePack.
const FORMAT: u8 = 1;

fn encode(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = vec![FORMAT];
    rmp_serde::encode::write(&mut bytes, value).unwrap();
    bytes
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> T {
    assert_eq!(bytes[0], FORMAT);
    rmp_serde::from_slice(&bytes[1..]).unwrap()
}

fn file(directory: &TempDir) -> PathBuf {
    directory.path().join("ff.db")
}

fn open(file: PathBuf) -> Engine<SqliteStore> {
    backend(Options::file(file).durability(Durability::Off)).unwrap()
}

/// Work of a lane of its own, with an input.
fn work(lane: &str) -> Submit {
    let input = Payload::json("[1, 2]");
    Submit { lane: Lane::new(lane).unwrap(), input, ..Submit::new(stranger()) }
}

/// What work under limits is expected to use.
pub(crate) fn estimate() -> Amounts {
    Amounts::from([(Dimension::new("cents").unwrap(), 5)])
}

/// A budget and a quota, and work that holds something of both.
async fn limit(store: &Engine<SqliteStore>) {
    let (money, api) = (ResourceName::new("money").unwrap(), ResourceName::new("api").unwrap());
    let hard = DimensionLimits { soft: None, hard: Some(100) };
    let dimensions = estimate().into_keys().map(|dimension| (dimension, hard));
    let (period, on_breach) = (None, OnBreach::Block);
    let limits = BudgetLimits { dimensions: dimensions.collect(), period, on_breach };
    store.put_budget(&Namespace::default(), &money, limits).await.unwrap();
    let (max_requests, max_active) = (None, Some(2));
    let (window, jitter) = (Millis::from_secs(1), Millis::ZERO);
    let limits = QuotaLimits { max_requests, window, max_active, jitter };
    store.put_quota(&Namespace::default(), &api, limits).await.unwrap();
    let limits =
        ExecutionLimits { budgets: [money].into(), quotas: [api].into(), estimate: estimate() };
    submit(store, Submit { limits, ..work("limited") }).await;
    take(store, "limited").await;
}

async fn submit(store: &Engine<SqliteStore>, submit: Submit) -> ExecutionId {
    store.submit(vec![submit]).await.unwrap().remove(0).unwrap().execution
}

async fn take(store: &Engine<SqliteStore>, lane: &str) -> Assignment {
    let claim = ClaimRequest {
        namespace: Namespace::default(),
        lane: Lane::new(lane).unwrap(),
        worker: Worker {
            id: WorkerId::new("gardener").unwrap(),
            instance: WorkerInstanceId::new("gardener-1").unwrap(),
        },
        capabilities: Capabilities::NONE,
        request: mint::request_id(),
        max: 1,
        retry: false,
    };
    store.claim(claim, Millis::ZERO).await.unwrap().assignments.remove(0)
}

async fn complete(store: &Engine<SqliteStore>, lane: &str) {
    let hold = take(store, lane).await.hold();
    let complete = Complete { hold, result: Payload::json("\"done\"") };
    store.complete(vec![complete]).await.unwrap().remove(0).unwrap();
}

async fn fail(store: &Engine<SqliteStore>, lane: &str, retryable: bool) {
    let hold = take(store, lane).await.hold();
    let failure = Failure { category: Category::error(), retryable, message: "no".into() };
    store.fail(Fail { hold, failure }).await.unwrap();
}
