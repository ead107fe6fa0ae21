//! What a backend implements.

use async_trait::async_trait;
use bytes::Bytes;
use ff_core::collection::{Element, ElementRange};
use ff_core::continuation::Continuation;
use ff_core::feed::Trim;
use ff_core::limits::Blocker;
use ff_core::machine::{ClaimRequest, Command, NeedsAdmission, Reply};
use ff_core::payload::BlobKey;
use ff_core::placement::{AdmissionClass, Attention, QueueEntry, Score};
use ff_core::{
    Description, Execution, ExecutionId, Millis, Namespace, Resource, ResourceKey, ResourceKind,
    ResourceName, Setting, Time,
};

use crate::admission::queue::SettlementQueue;
use crate::audit::Rows;
use crate::backlog::Backlog;
use crate::continuations::ContinuationQueue;
use crate::error::StoreError;
use crate::events::{LogPage, LogScan, Positions};
use crate::partition_set::{EngineId, PartitionSet};
use crate::steady::Mark;
use crate::wakeups::Wakeups;

/// How many blocked executions of one class are in order over all partitions; of more, only those of
/// each partition are.
pub const ORDERED_WAITERS: usize = 64;

/// A store: runs commands through the machine and answers reads. It decides nothing.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Runs commands in order. Each is atomic and gets its own answer.
    async fn execute(&self, batch: Vec<Command>) -> Vec<Result<Reply, StoreError>>;

    /// The record of an execution, whatever its namespace.
    async fn record(&self, id: ExecutionId) -> Result<Option<Execution>, StoreError>;

    /// Bytes stored beside a record.
    async fn blob(&self, key: BlobKey) -> Result<Option<Bytes>, StoreError>;

    /// Elements beside a record, in the order of their numbers, up to
    /// [`RANGE_BYTES`](ff_core::bounds::RANGE_BYTES): fewer than asked for need not be the last. What their
    /// owner does not count is not among them.
    async fn elements(&self, range: ElementRange) -> Result<Vec<Element>, StoreError>;

    /// A range of a listing, newest first. One that is shorter than its limit is the last.
    async fn list(&self, scan: ListScan) -> Result<Vec<Listed>, StoreError>;

    /// Timers of `share` that are due by the store's time and come after `after`: of executions, of
    /// resources and of continuations at most `limit` per partition each and about as many in all, the
    /// earliest of each partition.
    async fn due(
        &self,
        share: &PartitionSet,
        after: Option<DueCursor>,
        limit: usize,
    ) -> Result<DueTimers, StoreError>;

    /// A resource.
    async fn resource(&self, key: &ResourceKey) -> Result<Option<Resource>, StoreError>;

    /// Resources of a namespace as stored at its home, in the order of their names.
    async fn resources(&self, scan: ResourceScan) -> Result<Vec<Resource>, StoreError>;

    /// Sets a setting of the store unless it has a value, and answers its value, which never changes
    /// from then on.
    async fn setting(&self, setting: Setting) -> Result<Bytes, StoreError>;

    /// The store's time.
    async fn now(&self) -> Result<Time, StoreError>;

    /// Executions that wait for a budget or a quota, by admission class. The answer is empty only if no
    /// execution waits in the first class of the scan or in a later one.
    async fn blocked(&self, scan: BlockedScan) -> Result<Vec<BlockedClass>, StoreError>;

    /// Further queue heads that need admission, from partitions that one claim does not read. About
    /// `most`; may be incomplete and may overlap with the claim's own candidates.
    async fn admission_candidates(
        &self,
        claim: &ClaimRequest,
        most: usize,
    ) -> Result<Vec<NeedsAdmission>, StoreError>;

    /// The budgets and quotas that executions of `share` wait for, in an order of the store's own,
    /// after `after`, at most `limit`.
    async fn blockers(
        &self,
        share: &PartitionSet,
        after: Option<&(Namespace, Blocker)>,
        limit: usize,
    ) -> Result<Vec<(Namespace, Blocker)>, StoreError>;

    /// Events after some places, in the order of each partition: nothing that is committed later comes
    /// before what is answered, in whatever order commits become visible. Places that are not in the
    /// log any more, or not yet, have expired.
    async fn events(&self, scan: LogScan) -> Result<LogPage, StoreError>;

    /// The last place of each partition: what is committed later comes after it.
    async fn event_heads(&self, namespace: &Namespace) -> Result<Positions, StoreError>;

    /// Removes the oldest events of a namespace, a bounded number. Tells whether there is more to
    /// remove.
    async fn trim_events(&self, namespace: &Namespace, trim: Trim) -> Result<bool, StoreError>;

    /// How much waits, and for what.
    async fn backlog(&self) -> Result<Backlog, StoreError>;

    /// How many executions that require the same capabilities would be claimed before the one in this
    /// place.
    async fn ahead(&self, place: &QueueEntry, id: ExecutionId) -> Result<u64, StoreError>;

    /// Records that `engine` is alive, and answers all live engines. One that has been silent for
    /// [`ENGINE_TTL`](crate::partition_set::ENGINE_TTL) is not live. An engine that has just started may be
    /// missing from the answer: two engines may act on one partition for a while.
    async fn engine_heartbeat(&self, engine: EngineId) -> Result<Vec<EngineId>, StoreError>;

    /// Records that `engine` has left. The others learn of it and take over its share at once.
    async fn leave(&self, engine: EngineId) -> Result<(), StoreError>;

    /// Every row of the store, for audit and comparison; a snapshot as long as nothing is written. See
    /// [`Rows`] for their order.
    async fn rows(&self) -> Result<Rows, StoreError>;

    /// Repairs what a fault in the middle of a write has left, and only what is proved wrong: an error is
    /// not absence. It can run at any time, next to anything else, and any number of times. A store whose
    /// writes are transactions has nothing to repair.
    async fn repair(&self) -> Result<Repaired, StoreError>;

    /// What the store has done since it was opened, if it counts that.
    fn stats(&self) -> Option<Stats>;

    /// How many partitions the store has.
    fn partitions(&self) -> u16;

    /// Where this process learns of new work and timers.
    fn wakeups(&self) -> &Wakeups;

    /// The settlements that this process has to make.
    fn settlements(&self) -> &SettlementQueue;

    /// The continuations that commits of this process have added, which it runs.
    fn continuations(&self) -> &ContinuationQueue;
}

/// A range of the executions that wait for one budget or quota.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedScan {
    /// The tenant.
    pub namespace: Namespace,
    /// What they wait for.
    pub on: Blocker,
    /// The first class.
    pub from: AdmissionClass,
    /// How many classes at most, in order.
    pub classes: usize,
    /// How many executions of each class at most.
    pub each: usize,
}

/// Executions of one admission class that wait for one budget or quota.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedClass {
    /// The class.
    pub class: AdmissionClass,
    /// The first of them, best first, at least one.
    pub first: Vec<(Score, ExecutionId)>,
}

/// What a store has done since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    /// Commands that were answered, refusals included.
    pub commands: u64,
    /// Commits that waited for the disk.
    pub syncs: u64,
}

/// What a repair found and repaired.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Index entries that were read.
    pub examined: u64,
    /// Entries without a record, which were removed.
    pub unwritten: u64,
    /// Missing entries of a record, which were written again.
    pub unplaced: u64,
    /// Entries, payloads and attempts that do not belong to their record, which were removed.
    pub leftover: u64,
    /// Budgets and quotas that counted more than their tickets hold, which were recounted.
    pub uncounted: u64,
}

impl Repaired {
    /// How much was repaired.
    pub fn fixed(&self) -> u64 {
        self.unwritten + self.unplaced + self.leftover + self.uncounted
    }
}

/// A range of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListScan {
    /// The tenant.
    pub namespace: Namespace,
    /// Which listing.
    pub which: ListIndex,
    /// Where the range begins: after this place.
    pub after: Option<Position>,
    /// At most this many.
    pub limit: usize,
}

/// A range of the resources of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceScan {
    /// The tenant.
    pub namespace: Namespace,
    /// Which kind.
    pub kind: ResourceKind,
    /// Where the range begins: after this name.
    pub after: Option<ResourceName>,
    /// At most this many.
    pub limit: usize,
}

/// Which listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListIndex {
    /// Every execution.
    All,
    /// Executions that need a person's attention.
    Attention(Attention),
}

/// One place of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listed {
    /// The execution.
    Record(Box<Execution>),
    /// An execution that cannot be read.
    Unreadable(Position),
    /// An execution that was removed after its place was read.
    Removed(Position),
}

impl Listed {
    /// The place.
    pub fn position(&self) -> Position {
        match self {
            Listed::Record(record) => Position::of(record),
            Listed::Unreadable(position) | Listed::Removed(position) => *position,
        }
    }
}

/// A place in a listing. Listings run from the highest to the lowest.
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

/// How far the due timers were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DueCursor {
    /// The last execution, with the moment of its timer; `None` is before the first.
    pub execution: Option<(Time, ExecutionId)>,
    /// The last resource, with the moment of its timer; `None` is before the first.
    pub resource: Option<(Time, ResourceKey)>,
    /// The last continuation, with the moment it is due; `None` is before the first.
    pub continuation: Option<(Time, Continuation)>,
}

/// The timers that are due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueTimers {
    /// The store's time.
    pub now: Time,
    /// Timers that are due, earliest first.
    pub due: Vec<(Time, ExecutionId)>,
    /// Where to continue; `None` if these are all. The next answer may repeat some of these.
    pub more: Option<DueCursor>,
    /// Resources whose timers are due.
    pub resources: Vec<ResourceKey>,
    /// Continuations that are due.
    pub continuations: Vec<Continuation>,
    /// The first timer that is not due yet.
    pub next: Option<Time>,
    /// How far the store's time is ahead of a system clock that was set back.
    pub offset: Millis,
}

impl DueTimers {
    /// Nothing, at `time`.
    pub fn none(time: Mark) -> DueTimers {
        DueTimers {
            now: time.now,
            due: Vec::new(),
            more: None,
            resources: Vec::new(),
            continuations: Vec::new(),
            next: None,
            offset: time.offset(),
        }
    }
}
