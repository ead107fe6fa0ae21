//! Stores that override a few methods of the store beneath.

use std::ops::Deref;

use async_trait::async_trait;
use bytes::Bytes;
use ff_core::collection::{Element, ElementRange};
use ff_core::feed::Trim;
use ff_core::limits::Blocker;
use ff_core::machine::{ClaimRequest, Command, NeedsAdmission, Reply};
use ff_core::payload::BlobKey;
use ff_core::placement::QueueEntry;
use ff_core::{Execution, ExecutionId, Namespace, Resource, ResourceKey, Setting, Time};
use ff_store::audit::Rows;
use ff_store::backlog::Backlog;
use ff_store::events::{LogPage, LogScan, Positions};
use ff_store::{
    BlockedClass, BlockedScan, ContinuationQueue, DueCursor, DueTimers, EngineId, ListScan, Listed,
    PartitionSet, Repaired, ResourceScan, SettlementQueue, Stats, Store, StoreError, Wakeups,
};

/// A store over another one, made of its overrides.
#[derive(Debug)]
pub struct Forwarding<T>(pub T);

impl<T> Deref for Forwarding<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Makes [`Forward`], whose methods are those of a store, and the store that is made of it.
macro_rules! forward {
    (
        $(async $call:ident($($name:ident: $kind:ty),*) -> $answer:ty;)+
        $(sync $read:ident() -> $value:ty;)+
    ) => {
        /// The overrides: every method that is not written here is that of the
        /// store beneath. See [`Store`] for what each does.
        #[async_trait]
        #[allow(missing_docs, reason = "the methods are those of a store")]
        pub trait Forward: Send + Sync + 'static {
            /// The store beneath.
            fn beneath(&self) -> &dyn Store;

            $(async fn $call(&self, $($name: $kind),*) -> $answer {
                self.beneath().$call($($name),*).await
            })+

            $(fn $read(&self) -> $value {
                self.beneath().$read()
            })+
        }

        #[async_trait]
        impl<T: Forward> Store for Forwarding<T> {
            $(async fn $call(&self, $($name: $kind),*) -> $answer {
                self.0.$call($($name),*).await
            })+

            $(fn $read(&self) -> $value {
                self.0.$read()
            })+
        }
    };
}

forward! {
    async execute(batch: Vec<Command>) -> Vec<Result<Reply, StoreError>>;
    async record(id: ExecutionId) -> Result<Option<Execution>, StoreError>;
    async blob(key: BlobKey) -> Result<Option<Bytes>, StoreError>;
    async elements(range: ElementRange) -> Result<Vec<Element>, StoreError>;
    async list(scan: ListScan) -> Result<Vec<Listed>, StoreError>;
    async due(
        share: &PartitionSet, after: Option<DueCursor>, limit: usize
    ) -> Result<DueTimers, StoreError>;
    async resource(key: &ResourceKey) -> Result<Option<Resource>, StoreError>;
    async resources(scan: ResourceScan) -> Result<Vec<Resource>, StoreError>;
    async setting(setting: Setting) -> Result<Bytes, StoreError>;
    async now() -> Result<Time, StoreError>;
    async blocked(scan: BlockedScan) -> Result<Vec<BlockedClass>, StoreError>;
    async admission_candidates(
        claim: &ClaimRequest, most: usize
    ) -> Result<Vec<NeedsAdmission>, StoreError>;
    async blockers(
        share: &PartitionSet, after: Option<&(Namespace, Blocker)>, limit: usize
    ) -> Result<Vec<(Namespace, Blocker)>, StoreError>;
    async events(scan: LogScan) -> Result<LogPage, StoreError>;
    async event_heads(namespace: &Namespace) -> Result<Positions, StoreError>;
    async trim_events(namespace: &Namespace, trim: Trim) -> Result<bool, StoreError>;
    async backlog() -> Result<Backlog, StoreError>;
    async ahead(place: &QueueEntry, id: ExecutionId) -> Result<u64, StoreError>;
    async engine_heartbeat(engine: EngineId) -> Result<Vec<EngineId>, StoreError>;
    async leave(engine: EngineId) -> Result<(), StoreError>;
    async rows() -> Result<Rows, StoreError>;
    async repair() -> Result<Repaired, StoreError>;
    sync stats() -> Option<Stats>;
    sync partitions() -> u16;
    sync wakeups() -> &Wakeups;
    sync settlements() -> &SettlementQueue;
    sync continuations() -> &ContinuationQueue;
}
