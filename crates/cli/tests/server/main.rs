//! `ff` over HTTP: each test has a real server in a separate process.

// A test that cannot continue panics.
#![allow(clippy::unwrap_used)]

mod access;
mod alike;
mod crashes;
#[path = "../fixture/mod.rs"]
mod fixture;
mod logs;
mod passwords;
mod signing;
mod stopping;
mod tls;
mod tokens;
mod valkey;
