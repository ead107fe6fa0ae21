//! A store whose announcements reach nobody.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use ff_core::control::Blocker;
use ff_core::machine::{ClaimRequest, Command, NeedsAdmission, Reply};
use ff_core::payload::BlobKey;
use ff_core::placement::QueueEntry;
use ff_core::record::Attempt;
use ff_core::{Execution, ExecutionId, Namespace, Resource, ResourceKey, Time};
use ff_store::audit::Rows;
use ff_store::census::Census;
use ff_store::roles::Backend;
use ff_store::{
    BlockedClass, BlockedScan, DueTimers, EngineId, ListScan, Listed, Repaired, ResourceScan,
    SettlementQueue, Share, Stats, Store, StoreError, Wakeups,
};

use super::Ground;

/// The store beneath, whose announcements those who wait here never hear.
pub struct Deaf {
    store: Arc<dyn Store>,
    wakeups: Wakeups,
    looks: AtomicUsize,
}

impl Ground {
    /// The subject as workers see it when every announcement is lost.
    pub(crate) fn deaf(&self) -> Backend<Deaf> {
        Backend::new(Deaf::new(self.store().clone()))
    }
}

impl Deaf {
    /// `store`, with nobody to hear it.
    pub fn new(store: Arc<dyn Store>) -> Deaf {
        Deaf { store, wakeups: Wakeups::default(), looks: AtomicUsize::new(0) }
    }

    /// Returns when those who wait have looked at least this often, and seen nothing.
    pub(crate) async fn until_looked(&self, times: usize) {
        while self.looks.load(Ordering::SeqCst) < times {
            tokio::task::yield_now().await;
        }
    }
}

#[async_trait]
impl Store for Deaf {
    async fn execute(&self, batch: Vec<Command>) -> Vec<Result<Reply, StoreError>> {
        let answers = self.store.execute(batch).await;
        self.looks.fetch_add(1, Ordering::SeqCst);
        answers
    }

    async fn record(&self, id: ExecutionId) -> Result<Option<Execution>, StoreError> {
        self.store.record(id).await
    }

    async fn blob(&self, key: BlobKey) -> Result<Option<Bytes>, StoreError> {
        self.store.blob(key).await
    }

    async fn past_attempts(
        &self,
        id: ExecutionId,
        from: u32,
        limit: usize,
    ) -> Result<Vec<Attempt>, StoreError> {
        self.store.past_attempts(id, from, limit).await
    }

    async fn list(&self, scan: ListScan) -> Result<Vec<Listed>, StoreError> {
        self.store.list(scan).await
    }

    async fn due(
        &self,
        share: &Share,
        after: Option<(Time, ExecutionId)>,
        limit: usize,
    ) -> Result<DueTimers, StoreError> {
        self.store.due(share, after, limit).await
    }

    async fn resource(&self, key: &ResourceKey) -> Result<Option<Resource>, StoreError> {
        self.store.resource(key).await
    }

    async fn resources(&self, scan: ResourceScan) -> Result<Vec<Resource>, StoreError> {
        self.store.resources(scan).await
    }

    async fn now(&self) -> Result<Time, StoreError> {
        self.store.now().await
    }

    async fn blocked(&self, scan: BlockedScan) -> Result<Vec<BlockedClass>, StoreError> {
        self.store.blocked(scan).await
    }

    async fn admission_candidates(
        &self,
        claim: &ClaimRequest,
        most: usize,
    ) -> Result<Vec<NeedsAdmission>, StoreError> {
        self.store.admission_candidates(claim, most).await
    }

    async fn blockers(
        &self,
        share: &Share,
        after: Option<&(Namespace, Blocker)>,
        limit: usize,
    ) -> Result<Vec<(Namespace, Blocker)>, StoreError> {
        self.store.blockers(share, after, limit).await
    }

    async fn census(&self) -> Result<Census, StoreError> {
        self.store.census().await
    }

    async fn ahead(&self, place: &QueueEntry, id: ExecutionId) -> Result<u64, StoreError> {
        self.store.ahead(place, id).await
    }

    async fn alive(&self, engine: EngineId) -> Result<Vec<EngineId>, StoreError> {
        self.store.alive(engine).await
    }

    async fn leave(&self, engine: EngineId) -> Result<(), StoreError> {
        self.store.leave(engine).await
    }

    async fn rows(&self) -> Result<Rows, StoreError> {
        self.store.rows().await
    }

    async fn repair(&self) -> Result<Repaired, StoreError> {
        self.store.repair().await
    }

    fn partitions(&self) -> u16 {
        self.store.partitions()
    }

    fn wakeups(&self) -> &Wakeups {
        &self.wakeups
    }

    fn settlements(&self) -> &SettlementQueue {
        self.store.settlements()
    }

    fn stats(&self) -> Option<Stats> {
        self.store.stats()
    }
}
