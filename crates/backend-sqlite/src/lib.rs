//! The embedded default store: one SQLite file, nothing to install.
//!
//! One thread owns the one connection that writes and runs the queued calls as one
//! transaction, so that many share one sync to disk. Reads have separate connections. Nothing
//! is decided from the memory of the process: several processes may open the same file.

mod backlog;
mod backup;
mod ceiling;
mod clock;
mod commit;
mod connection;
mod continuation;
mod due;
mod element;
mod engines;
mod error;
mod event;
mod group;
mod nominate;
mod options;
mod query;
mod reader;
mod resource;
mod rows;
mod schema;
mod setting;
mod stats;
mod store;
mod stream;
mod transaction;
mod watch;
mod writer;

pub use backup::{Copied, backup};
pub use ceiling::{CeilingPlan, ceiling};
pub use options::{Durability, Location, Options};
pub use stats::Stats;
pub use store::{SqliteStore, backend};
