//! What only Valkey has: partitions, connections, processes that wake each other, full memory.
//!
//! Each test has a unique prefix on the server that all share, or a separate server where it
//! stops it, fills it or counts what it does.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue fails")]

mod audit;
mod claims;
mod connection;
mod denied;
mod ended;
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
mod slow_path;
mod stale;
mod stopped;
mod stops;
mod together;
mod wake;
