//! The seam between the machine and its stores.
//!
//! A backend implements [`Store`]: run a batch of commands, read records, name what is due. It does
//! so over one of two shared drivers, [`serial`] or [`optimistic`], and decides nothing itself. The
//! rest of the system sees the role traits [`ClientBackend`], [`WorkerBackend`] and
//! [`MaintenanceBackend`], which every store gets from here.

mod admission;
pub mod after_commit;
pub mod audit;
pub mod backlog;
mod claimers;
pub mod clock;
pub mod codec;
pub mod continuations;
pub mod ends;
pub mod error;
pub mod events;
pub mod failure;
mod flow_audit;
pub mod journal;
mod lanes;
pub mod listing;
mod lock;
pub mod metrics;
pub mod mint;
pub mod named_token;
pub mod optimistic;
pub mod outage;
pub mod partition_set;
mod process;
pub mod retry;
pub mod ring;
pub mod roles;
mod rows;
pub mod schedules;
pub mod serial;
mod spread;
pub mod steady;
pub mod stops;
pub mod store;
pub mod tails;
mod violation;
mod waiting;
pub mod wakeups;
mod warnings;
pub mod webhooks;

/// What one process does and keeps at most, for the reference page.
pub const BOUNDS: &[(&str, usize)] = &[
    ("groups of blocked executions that one release looks at", admission::release::CLASSES),
    ("records of a group that one release reads", admission::release::HEADS),
    ("blocked executions that one call releases", admission::release::SLICE),
    ("rounds in which one claim asks for admission", admission::claim::ROUNDS),
    ("settlements of one command", ff_core::bounds::BATCH),
    ("continuations that one process has to run; the engine runs more", continuations::QUEUED),
    ("continuations that one process runs in one call", continuations::TOGETHER),
    ("calls that run continuations at once", continuations::RUNNERS),
    ("executions whose end is waited for with hints", ends::EXECUTIONS),
    ("viewers of streams", tails::VIEWERS),
    ("frames of one stream that its viewers share", tails::WINDOW),
    ("bytes of them, about", tails::WINDOW_BYTES),
    ("namespaces whose events one process follows", events::tail::NAMESPACES),
    ("latest events of a namespace that one process keeps", events::tail::KEPT),
    ("calls of one process that wait for events", events::tail::WAITING),
    ("events that one call examines", events::SCANNED),
    ("turns of webhooks that wait in one process", webhooks::turns::WAITING),
    ("workers known by their claims, and claims of theirs", claimers::MOST),
    ("namespaces of which one count tells what no worker can run", roles::ROUTED_NAMESPACES),
    ("refusals that the answer to a bulk operation names", roles::REFUSALS),
    ("lanes, and dimensions, with a label of their own in metrics", metrics::NAMES),
    ("pairs of a lane and a kind with a label of their own in metrics", metrics::KINDS),
];

pub use admission::audit::recount;
pub use admission::queue::SettlementQueue;
pub use after_commit::AfterCommit;
pub use clock::{Clock, SystemClock};
pub use continuations::ContinuationQueue;
pub use error::{ErrorKind, StoreError};
pub use failure::Failure;
pub use partition_set::{EngineId, PartitionSet};
pub use roles::{
    BulkBackend, ClientAndWorker, ClientBackend, DeliveryBackend, EmitBackend, EngineBackend,
    EventsBackend, FlowBackend, KeysBackend, LimitsBackend, MaintenanceBackend, MemberBackend,
    NamedTokensBackend, SchedulesBackend, SignalBackend, StreamBackend, SuspendBackend,
    TokenBackend, VerifyBackend, WebhooksBackend, WorkerBackend,
};
pub use store::{
    BlockedClass, BlockedScan, DueCursor, DueTimers, ListIndex, ListScan, Listed, Position,
    Repaired, ResourceScan, Stats, Store,
};
pub use wakeups::Wakeups;
