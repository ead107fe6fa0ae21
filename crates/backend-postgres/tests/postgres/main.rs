//! What is particular to a store in Postgres: its schema, several processes on it, and how it fails.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue fails")]

#[path = "../fixture/mod.rs"]
mod fixture;

mod calls;
mod events;
mod faults;
mod group;
mod kill;
mod processes;
mod schema;
mod sql;
mod submit;
mod violations;
