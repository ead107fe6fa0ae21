//! `ff` over HTTP: a real server in a process of its own, each test with its own.

// A test that cannot go on panics.
#![allow(clippy::unwrap_used)]

mod access;
mod alike;
mod crashes;
#[path = "../fixture/mod.rs"]
mod fixture;
mod logs;
mod passwords;
mod stopping;
mod tls;
mod valkey;
