//! The store on Postgres: the database that many already run.
//!
//! A few tasks write, each over its own connection. What callers have queued meanwhile becomes one
//! transaction: one load, with row locks, one write for each table, one commit. Reads have a small pool.
//! Nothing is decided from the memory of the process: several processes share one schema.

mod backlog;
mod ceiling;
mod clock;
mod columns;
mod commit;
mod connection;
mod continuation;
mod due;
mod element;
mod engines;
mod error;
mod event;
mod group;
mod inbox;
mod load;
mod nominate;
mod notes;
mod options;
mod query;
mod reader;
mod resource;
mod rows;
mod schema;
mod setting;
mod startup;
mod stats;
mod store;
mod stream;
mod submit;
mod tls;
mod url;
mod view;
mod wants;
mod watch;
mod writer;

pub use ceiling::{CeilingPlan, Ceilings, ceiling};
pub use options::{Options, Schema, Tls};
pub use schema::{Migrated, migrate};
pub use stats::Stats;
pub use store::{PostgresStore, backend};
pub use submit::submit_in;
pub use tokio_postgres::Transaction;
