//! A store with an execution in every state, work under limits, and writes past the store.

use ff_backend_sqlite::SqliteStore;
use ff_conformance::EveryState;
use ff_core::budget::{BudgetLimits, DimensionLimits, OnBreach};
use ff_core::limits::{Amounts, ExecutionLimits};
use ff_core::machine::{ClaimRequest, Submit};
use ff_core::quota::QuotaLimits;
use ff_core::record::Attempt;
use ff_core::resource::Body;
use ff_core::{
    Dimension, Execution, ExecutionId, Lane, Millis, Namespace, Resource, ResourceKind,
    ResourceName,
};
use ff_store::audit::{Rule, audit};
use ff_store::roles::Engine;
use ff_store::{LimitsBackend, MaintenanceBackend, WorkerBackend};
use rusqlite::Params;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::fixture::{Place, claim, new_id, submit};

/// A store to plant violations in.
pub(crate) struct Planted {
    place: Place,
    all: EveryState,
}

impl std::ops::Deref for Planted {
    type Target = EveryState;

    fn deref(&self) -> &EveryState {
        &self.all
    }
}

impl Planted {
    /// A sound store.
    pub(crate) async fn new() -> Planted {
        let place = Place::new();
        let store = place.open();
        let all = EveryState::make(&store).await;
        limit(&store).await;
        Planted { place, all }
    }

    /// Every broken rule that the audit names, once for each violation.
    pub(crate) async fn broken_rules(&self) -> Vec<Rule> {
        let report = audit(self.place.open().rows().await.unwrap()).await.unwrap();
        assert_eq!(report.further, 0);
        eprintln!("{:?}", report.violations);
        report.violations.into_iter().map(|violation| violation.rule).collect()
    }

    /// Runs a statement past the store; it must change exactly one row.
    pub(crate) fn execute(&self, sql: &str, parameters: impl Params) {
        assert_eq!(self.place.sql().execute(sql, parameters).unwrap(), 1, "{sql}");
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
        let read = self.place.sql().query_row(sql, [kind.as_str()], |row| row.get::<_, Vec<u8>>(0));
        let mut resource: Resource = decode(&read.unwrap());
        change(&mut resource.body);
        let sql = "UPDATE resource SET resource = ?2 WHERE kind = ?1";
        self.execute(sql, (kind.as_str(), encode(&resource)));
    }

    /// The attempt stored next to a record.
    pub(crate) fn past_attempt(&self, id: ExecutionId) -> Attempt {
        self.read("SELECT bytes FROM element WHERE owner = ?1", id)
    }

    /// Stores an attempt next to a record, in place of one with its number.
    pub(crate) fn insert_attempt(&self, id: ExecutionId, attempt: &Attempt) {
        let sql = "INSERT OR REPLACE INTO element (owner, collection, number, bytes) \
                   VALUES (?1, 0, ?2, ?3)";
        self.execute(sql, (id.as_bytes(), attempt.number, encode(attempt)));
    }

    fn read<T: DeserializeOwned>(&self, sql: &str, id: ExecutionId) -> T {
        let read = self.place.sql().query_row(sql, [id.as_bytes()], |row| row.get::<_, Vec<u8>>(0));
        decode(&read.unwrap())
    }
}

/// The format that records and attempts are written in: its number, then MessagePack.
const FORMAT: u8 = 5;

fn encode(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = vec![FORMAT];
    rmp_serde::encode::write(&mut bytes, value).unwrap();
    bytes
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> T {
    assert_eq!(bytes[0], FORMAT);
    rmp_serde::from_slice(&bytes[1..]).unwrap()
}

/// The estimate of work under limits.
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
    let lane = Lane::new("limited").unwrap();
    submit(store, Submit { limits, lane: lane.clone(), ..Submit::new(new_id()) }).await;
    let claimed = store.claim(ClaimRequest { lane, ..claim(1) }, Millis::ZERO).await.unwrap();
    assert_eq!(claimed.assignments.len(), 1);
}
