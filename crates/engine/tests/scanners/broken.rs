//! A store that cannot read some resources, or one row.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use ff_backend_memory::MemoryStore;
use ff_core::limits::Blocker;
use ff_core::machine::{Action, ClaimRequest, Command, NeedsAdmission, Reply};
use ff_core::payload::BlobKey;
use ff_core::placement::QueueEntry;
use ff_core::record::Attempt;
use ff_core::{Execution, ExecutionId, Namespace, Resource, ResourceKey, Time};
use ff_store::audit::{Row, Rows};
use ff_store::backlog::Backlog;
use ff_store::{
    BlockedClass, BlockedScan, DueCursor, DueTimers, EngineId, ListScan, Listed, PartitionSet,
    Repaired, ResourceScan, SettlementQueue, Stats, Store, StoreError, Wakeups,
};

/// The store beneath, of which the resources whose names begin so cannot be read while it fails.
pub(crate) struct Broken {
    store: MemoryStore,
    name: &'static str,
    fails: AtomicBool,
    /// How often its rows are still read with one that is unreadable.
    spoilt: AtomicUsize,
}

impl Broken {
    pub(crate) fn new(store: MemoryStore, name: &'static str) -> Broken {
        Broken { store, name, fails: AtomicBool::new(false), spoilt: AtomicUsize::new(0) }
    }

    /// The next reads of all rows meet one that is unreadable, so many times.
    pub(crate) fn spoil(&self, times: usize) {
        self.spoilt.store(times, Ordering::SeqCst);
    }

    pub(crate) fn fail(&self, fails: bool) {
        self.fails.store(fails, Ordering::SeqCst);
    }

    fn is_broken(&self, key: &ResourceKey) -> bool {
        self.fails.load(Ordering::SeqCst) && key.name.as_str().starts_with(self.name)
    }
}

/// Passes calls to the store beneath.
macro_rules! pass {
    ({ $($call:ident($($name:ident: $kind:ty),*) -> $answer:ty;)+ } $($rest:tt)*) => {
        #[async_trait]
        impl Store for Broken {
            $(async fn $call(&self, $($name: $kind),*) -> $answer {
                self.store.$call($($name),*).await
            })+
            $($rest)*
        }
    };
}

pass!({
    record(id: ExecutionId) -> Result<Option<Execution>, StoreError>;
    blob(key: BlobKey) -> Result<Option<bytes::Bytes>, StoreError>;
    past_attempts(id: ExecutionId, from: u32, limit: usize) -> Result<Vec<Attempt>, StoreError>;
    list(scan: ListScan) -> Result<Vec<Listed>, StoreError>;
    due(
        share: &PartitionSet, after: Option<DueCursor>, limit: usize
    ) -> Result<DueTimers, StoreError>;
    resources(scan: ResourceScan) -> Result<Vec<Resource>, StoreError>;
    now() -> Result<Time, StoreError>;
    blocked(scan: BlockedScan) -> Result<Vec<BlockedClass>, StoreError>;
    admission_candidates(
        claim: &ClaimRequest, most: usize
    ) -> Result<Vec<NeedsAdmission>, StoreError>;
    blockers(
        share: &PartitionSet, after: Option<&(Namespace, Blocker)>, limit: usize
    ) -> Result<Vec<(Namespace, Blocker)>, StoreError>;
    backlog() -> Result<Backlog, StoreError>;
    ahead(place: &QueueEntry, id: ExecutionId) -> Result<u64, StoreError>;
    engine_heartbeat(engine: EngineId) -> Result<Vec<EngineId>, StoreError>;
    leave(engine: EngineId) -> Result<(), StoreError>;
    repair() -> Result<Repaired, StoreError>;
}

async fn rows(&self) -> Result<Rows, StoreError> {
    let left = self.spoilt.load(Ordering::SeqCst);
    self.spoilt.store(left.saturating_sub(1), Ordering::SeqCst);
    let mut rows = self.store.rows().await?;
    let (sender, stream) = Rows::channel();
    let bad = Row::Unreadable { place: self.name.into(), why: "it is broken".into() };
    tokio::spawn(async move {
        if left > 0 {
            sender.send(Ok(bad)).await.unwrap();
        }
        while let Some(row) = rows.next().await {
            if sender.send(row).await.is_err() {
                return;
            }
        }
    });
    Ok(stream)
}

async fn execute(&self, batch: Vec<Command>) -> Vec<Result<Reply, StoreError>> {
    let mut answers = Vec::new();
    for command in batch {
        let stuck = matches!(&command.action, Action::TickResource(tick) if self.is_broken(&tick.key));
        match stuck {
            true => answers.push(Err(StoreError::Unavailable("a test says so".into()))),
            false => answers.extend(self.store.execute(vec![command]).await),
        }
    }
    answers
}

async fn resource(&self, key: &ResourceKey) -> Result<Option<Resource>, StoreError> {
    if self.is_broken(key) {
        return Err(StoreError::Unavailable("a test says so".into()));
    }
    self.store.resource(key).await
}

fn stats(&self) -> Option<Stats> {
    self.store.stats()
}

fn partitions(&self) -> u16 {
    self.store.partitions()
}

fn wakeups(&self) -> &Wakeups {
    self.store.wakeups()
}

fn settlements(&self) -> &SettlementQueue {
    self.store.settlements()
});
