//! The store itself.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use ff_core::collection::{Element, ElementRange};
use ff_core::feed::Trim;
use ff_core::limits::Blocker;
use ff_core::machine::{ClaimRequest, Command, NeedsAdmission, Reply};
use ff_core::payload::BlobKey;
use ff_core::placement::QueueEntry;
use ff_core::{Execution, ExecutionId, Millis, Namespace, Resource, ResourceKey, Setting, Time};
use ff_store::audit::Rows;
use ff_store::backlog::Backlog;
use ff_store::events::{LogPage, LogScan, Positions};
use ff_store::partition_set::ENGINE_TTL;
use ff_store::steady::{Mark, Steady};
use ff_store::{
    BlockedClass, BlockedScan, Clock, ContinuationQueue, DueCursor, DueTimers, EngineId, ListScan,
    Listed, PartitionSet, Repaired, ResourceScan, SettlementQueue, Stats, Store, StoreError,
    Wakeups,
};

use crate::events::Late;
use crate::optimistic::{Dice, Faults};
use crate::tables::Tables;

/// A store in memory, of one partition by default.
pub struct MemoryStore {
    tables: Mutex<Tables>,
    partitions: u16,
    time: Steady,
    wakeups: Wakeups,
    settlements: SettlementQueue,
    continuations: ContinuationQueue,
    dice: Option<Dice>,
}

impl MemoryStore {
    /// A store in which one caller at a time loads, decides and writes.
    pub fn serial(clock: Arc<dyn Clock>) -> MemoryStore {
        MemoryStore {
            tables: Mutex::new(Tables { partitions: 1, ..Tables::default() }),
            partitions: 1,
            time: Steady::new(clock),
            wakeups: Wakeups::default(),
            settlements: SettlementQueue::default(),
            continuations: ContinuationQueue::default(),
            dice: None,
        }
    }

    /// A store in which others may write between a load and its commit.
    pub fn optimistic(clock: Arc<dyn Clock>, faults: Faults) -> MemoryStore {
        MemoryStore { dice: Some(Dice::new(faults)), ..MemoryStore::serial(clock) }
    }

    pub(crate) fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn dice(&self) -> Option<&Dice> {
        self.dice.as_ref()
    }

    /// The store's time.
    pub(crate) fn time(&self) -> Mark {
        self.time.read(Mark::default())
    }

    /// The same store, which must be empty, with this many partitions.
    #[must_use]
    pub fn with_partitions(mut self, partitions: u16) -> MemoryStore {
        let tables = self.tables.get_mut().unwrap_or_else(PoisonError::into_inner);
        *tables = Tables { partitions, late: tables.late.take(), ..Tables::default() };
        MemoryStore { partitions, ..self }
    }

    /// The same store, whose events are visible only after up to `reads` reads, and not in the order in
    /// which they were committed.
    #[must_use]
    pub fn with_late_visibility(mut self, seed: u64, reads: u64) -> MemoryStore {
        let tables = self.tables.get_mut().unwrap_or_else(PoisonError::into_inner);
        tables.late = Some(Late::new(seed, reads));
        self
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn execute(&self, batch: Vec<Command>) -> Vec<Result<Reply, StoreError>> {
        match self.dice {
            None => self.execute_serially(&batch),
            Some(_) => self.execute_optimistically(batch).await,
        }
    }

    async fn record(&self, id: ExecutionId) -> Result<Option<Execution>, StoreError> {
        Ok(self.tables().records.get(&id).cloned())
    }

    async fn blob(&self, key: BlobKey) -> Result<Option<Bytes>, StoreError> {
        Ok(self.tables().blobs.get(&key).cloned())
    }

    async fn elements(&self, range: ElementRange) -> Result<Vec<Element>, StoreError> {
        Ok(self.tables().elements(&range))
    }

    async fn list(&self, scan: ListScan) -> Result<Vec<Listed>, StoreError> {
        Ok(self.tables().listed(&scan))
    }

    async fn due(
        &self,
        share: &PartitionSet,
        after: Option<DueCursor>,
        limit: usize,
    ) -> Result<DueTimers, StoreError> {
        let tables = self.tables();
        Ok(tables.due(share, self.time(), after.unwrap_or_default(), limit))
    }

    async fn resource(&self, key: &ResourceKey) -> Result<Option<Resource>, StoreError> {
        Ok(self.tables().resources.get(key).cloned())
    }

    async fn resources(&self, scan: ResourceScan) -> Result<Vec<Resource>, StoreError> {
        Ok(self.tables().scanned(&scan))
    }

    async fn setting(&self, setting: Setting) -> Result<Bytes, StoreError> {
        let mut tables = self.tables();
        let value = || setting.value().clone();
        Ok(tables.settings.entry(setting.name().clone()).or_insert_with(value).clone())
    }

    async fn now(&self) -> Result<Time, StoreError> {
        Ok(self.time().now)
    }

    async fn blocked(&self, scan: BlockedScan) -> Result<Vec<BlockedClass>, StoreError> {
        Ok(self.tables().blocked(&scan))
    }

    async fn admission_candidates(
        &self,
        claim: &ClaimRequest,
        most: usize,
    ) -> Result<Vec<NeedsAdmission>, StoreError> {
        Ok(self.tables().admission_candidates(claim, most))
    }

    async fn blockers(
        &self,
        share: &PartitionSet,
        after: Option<&(Namespace, Blocker)>,
        limit: usize,
    ) -> Result<Vec<(Namespace, Blocker)>, StoreError> {
        Ok(self.tables().blockers(share, after, limit))
    }

    async fn events(&self, scan: LogScan) -> Result<LogPage, StoreError> {
        Ok(self.tables().events(scan))
    }

    async fn event_heads(&self, namespace: &Namespace) -> Result<Positions, StoreError> {
        Ok(self.tables().event_heads(namespace))
    }

    async fn trim_events(&self, namespace: &Namespace, trim: Trim) -> Result<bool, StoreError> {
        Ok(self.tables().trim_events(namespace, trim))
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        let tables = self.tables();
        Ok(tables.backlog(self.time().now))
    }

    async fn ahead(&self, place: &QueueEntry, id: ExecutionId) -> Result<u64, StoreError> {
        Ok(self.tables().ahead(place, id))
    }

    async fn engine_heartbeat(&self, engine: EngineId) -> Result<Vec<EngineId>, StoreError> {
        let (now, ttl) = (self.time().now, Millis::new(ENGINE_TTL.as_millis() as u64));
        let mut tables = self.tables();
        tables.engines.insert(engine, now);
        tables.engines.retain(|_, last_seen| now.since(*last_seen) <= ttl);
        Ok(tables.engines.keys().copied().collect())
    }

    async fn leave(&self, engine: EngineId) -> Result<(), StoreError> {
        self.tables().engines.remove(&engine);
        self.wakeups.announce_engines();
        Ok(())
    }

    async fn rows(&self) -> Result<Rows, StoreError> {
        let rows = self.tables().rows();
        let (sender, stream) = Rows::channel();
        tokio::spawn(async move {
            for row in rows {
                if sender.send(Ok(row)).await.is_err() {
                    return;
                }
            }
        });
        Ok(stream)
    }

    async fn repair(&self) -> Result<Repaired, StoreError> {
        Ok(Repaired::default())
    }

    fn stats(&self) -> Option<Stats> {
        None
    }

    fn partitions(&self) -> u16 {
        self.partitions
    }

    fn wakeups(&self) -> &Wakeups {
        &self.wakeups
    }

    fn settlements(&self) -> &SettlementQueue {
        &self.settlements
    }

    fn continuations(&self) -> &ContinuationQueue {
        &self.continuations
    }
}
