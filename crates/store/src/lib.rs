//! The seam between the machine and its stores.
//!
//! A backend implements [`Store`]: run a batch of commands, read records, name what is due. It does
//! so over one of two shared drivers, [`serial`] or [`optimistic`], and decides nothing itself. The
//! rest of the system sees the role traits [`ClientBackend`], [`WorkerBackend`] and
//! [`MaintenanceBackend`], which every store gets from here.

mod admission;
pub mod after_commit;
pub mod audit;
pub mod census;
mod claimers;
pub mod clock;
pub mod error;
pub mod failure;
mod lanes;
pub mod listing;
mod lock;
pub mod meter;
pub mod mint;
pub mod optimistic;
pub mod outage;
mod process;
pub mod roles;
pub mod serial;
pub mod share;
pub mod steady;
pub mod store;
mod violation;
mod waiting;
pub mod wakeups;
mod warnings;

pub use after_commit::{AfterCommit, SettlementQueue};
pub use clock::{Clock, SystemClock};
pub use error::{ErrorKind, StoreError};
pub use failure::Failure;
pub use roles::{
    AllowanceBackend, ClientBackend, EngineBackend, MaintenanceBackend, Roles, WorkerBackend,
};
pub use share::{EngineId, Share};
pub use store::{
    BlockedClass, BlockedScan, DueTimers, ListScan, Position, Repaired, ResourceScan, Stats, Store,
    Which,
};
pub use wakeups::Wakeups;
