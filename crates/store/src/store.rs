//! What a backend implements.

use std::collections::BTreeSet;

use async_trait::async_trait;
use bytes::Bytes;
use ff_core::control::Blocker;
use ff_core::machine::{Claim, Command, Reply, Wanted};
use ff_core::payload::BlobKey;
use ff_core::placement::{Attention, QueueEntry};
use ff_core::record::Attempt;
use ff_core::{
    Description, Execution, ExecutionId, Millis, Namespace, Resource, ResourceKey, ResourceKind,
    ResourceName, Time,
};

use crate::audit::Rows;
use crate::census::Census;
use crate::desk::Desks;
use crate::error::StoreError;
use crate::share::{EngineId, Share};
use crate::wakeups::Wakeups;

/// Of how many that wait the order is kept over all partitions.
pub const FIRST: usize = 64;

/// A store: runs commands through the machine and answers reads. It decides nothing.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Runs commands in order. Each is atomic and gets its own answer.
    async fn execute(&self, batch: Vec<Command>) -> Vec<Result<Reply, StoreError>>;

    /// The record of an execution, whatever its namespace.
    async fn record(&self, id: ExecutionId) -> Result<Option<Execution>, StoreError>;

    /// Bytes stored beside a record.
    async fn blob(&self, key: BlobKey) -> Result<Option<Bytes>, StoreError>;

    /// Attempts that ended before the newest one, from number `from` on, at most `limit`.
    async fn past_attempts(
        &self,
        id: ExecutionId,
        from: u32,
        limit: usize,
    ) -> Result<Vec<Attempt>, StoreError>;

    /// A stretch of a listing, newest first.
    async fn list(&self, scan: ListScan) -> Result<Vec<Execution>, StoreError>;

    /// Timers of `share` at or before the store's time, after `after`, at most `limit` of one
    /// partition and about as many in all: the earliest of each partition. Timers of resources come
    /// with the first page, at most `limit` of one partition.
    async fn due(
        &self,
        share: &Share,
        after: Option<(Time, ExecutionId)>,
        limit: usize,
    ) -> Result<DueTimers, StoreError>;

    /// A resource.
    async fn resource(&self, key: &ResourceKey) -> Result<Option<Resource>, StoreError>;

    /// Resources of a namespace as its home has them, in the order of their names.
    async fn resources(&self, scan: ResourceScan) -> Result<Vec<Resource>, StoreError>;

    /// Executions of a namespace that wait for a budget or a quota, the first ones first; of more
    /// than [`FIRST`], the first ones of each partition. There are none only if nobody waits.
    async fn blocked(
        &self,
        namespace: &Namespace,
        on: &Blocker,
        limit: usize,
    ) -> Result<Vec<ExecutionId>, StoreError>;

    /// More that must be admitted before a claim like this one gets it, from where one look does not
    /// reach: the first ones there, about `most`. It need not be all, and what a look finds may be
    /// among it.
    async fn wanted(&self, claim: &Claim, most: usize) -> Result<Vec<Wanted>, StoreError>;

    /// The budgets and quotas that executions of `share` wait for, at most `limit` of one partition.
    async fn blockers(
        &self,
        share: &Share,
        limit: usize,
    ) -> Result<BTreeSet<(Namespace, Blocker)>, StoreError>;

    /// How much waits, and for what.
    async fn census(&self) -> Result<Census, StoreError>;

    /// How many executions would be claimed before one that is in this place, among those that
    /// require the same.
    async fn ahead(&self, place: &QueueEntry, id: ExecutionId) -> Result<u64, StoreError>;

    /// Says that `engine` is alive, and answers all that are. Whoever has been silent for
    /// [`ENGINE_TTL`](crate::share::ENGINE_TTL) is not.
    async fn alive(&self, engine: EngineId) -> Result<Vec<EngineId>, StoreError>;

    /// Every row of the store as of one moment, records first, for audit and comparison.
    async fn rows(&self) -> Result<Rows, StoreError>;

    /// Puts right what a fault in the middle of a write has left, on proof alone: an error is not
    /// absence. It can be run at any time, beside anything, and any number of times. A store whose
    /// writes are transactions has nothing to repair.
    async fn repair(&self) -> Result<Repaired, StoreError>;

    /// What the store has done since it was opened, if it counts that.
    fn stats(&self) -> Option<Stats>;

    /// How many partitions the store has.
    fn partitions(&self) -> u16;

    /// Where this process hears of new work and timers.
    fn wakeups(&self) -> &Wakeups;

    /// Where this process asks budgets and quotas.
    fn desks(&self) -> &Desks;
}

/// What a store has done since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    /// Commands that were answered, refusals included.
    pub commands: u64,
    /// Commits that waited for the disk.
    pub syncs: u64,
}

/// What a repair found and put right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Index entries that were looked at.
    pub examined: u64,
    /// Entries of no record, which were removed.
    pub unwritten: u64,
    /// Entries that a record has and that were missing, which were put back.
    pub unplaced: u64,
    /// Entries, payloads and attempts that their record disowns, which were removed.
    pub leftover: u64,
}

impl Repaired {
    /// How much was put right.
    pub fn fixed(&self) -> u64 {
        self.unwritten + self.unplaced + self.leftover
    }
}

/// A stretch of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListScan {
    /// The tenant.
    pub namespace: Namespace,
    /// Which listing.
    pub which: Which,
    /// Only what comes after this place.
    pub after: Option<Position>,
    /// At most this many.
    pub limit: usize,
}

/// A stretch of the resources of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceScan {
    /// The tenant.
    pub namespace: Namespace,
    /// What sort of thing.
    pub kind: ResourceKind,
    /// Only what comes after this name.
    pub after: Option<ResourceName>,
    /// At most this many.
    pub limit: usize,
}

/// Which listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Every execution.
    All,
    /// What a person should look at.
    Attention(Attention),
}

/// A place in a listing. Listings go from the highest to the lowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// When the execution was created.
    pub created: Time,
    /// Its id, for executions created in the same millisecond; all zero stands before all of them.
    pub id: [u8; 16],
}

impl Position {
    /// The place of `record`.
    pub fn of(record: &Description) -> Position {
        Position { created: record.created, id: *record.id.as_bytes() }
    }
}

/// What time has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueTimers {
    /// The store's time.
    pub now: Time,
    /// Timers that are due, earliest first.
    pub due: Vec<(Time, ExecutionId)>,
    /// After which to go on; `None` if these are all. What comes after it may be among these.
    pub more: Option<(Time, ExecutionId)>,
    /// Resources whose timers are due.
    pub resources: Vec<ResourceKey>,
    /// The first timer that is not due yet.
    pub next: Option<Time>,
    /// How far the store's time is ahead of the system clock, because that was set back.
    pub offset: Millis,
}
