//! A store in memory: the model that other stores are compared with, for tests and simulation.
//!
//! It runs in two modes over the same tables: [serial](MemoryStore::serial), where one caller at a
//! time loads, decides and writes, and [optimistic](MemoryStore::optimistic), where others may write
//! between a load and its commit, with conflicts and pauses injected. It has one partition, or as many as
//! [it is given](MemoryStore::with_partitions).

mod commit;
mod events;
mod execute;
mod load;
mod optimistic;
mod partitions;
mod rows;
mod store;
mod tables;

pub use optimistic::{Faults, Part};
pub use store::MemoryStore;
