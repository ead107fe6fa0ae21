//! Real Postgres servers for tests.
//!
//! A server never outlives the process that started it, however that process ends. Postgres does not run
//! as root, so root runs it as another user.

#![allow(clippy::expect_used, reason = "a test whose server cannot be had or driven fails")]

pub mod binary;
mod server;

pub use server::Server;
