//! A store in memory: the model that other stores are compared with, for tests and simulation.
//!
//! It runs in two modes over the same tables: [serial](MemoryStore::serial), where one caller at a
//! time loads, decides and writes, and [optimistic](MemoryStore::optimistic), where others may write
//! between a load and its commit, with conflicts and pauses injected.

mod commit;
mod load;
mod optimistic;
mod rows;
mod store;
mod tables;

pub use optimistic::Faults;
pub use store::MemoryStore;
