//! What only Valkey has: partitions, connections, processes that hear of each other, full memory.
//!
//! Each test has a prefix of its own on the server that all share, or a server of its own where it
//! stops it, fills it or counts what it does.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod audit;
mod claims;
mod connection;
mod denied;
mod engines;
#[path = "../fixture/mod.rs"]
mod fixture;
mod lanes;
mod layout;
mod many;
mod measure;
mod memory_full;
mod outage;
mod pages;
mod partitions;
mod partitions_reads;
mod refused;
mod retention;
mod stale;
mod stopped;
mod together;
mod wake;
