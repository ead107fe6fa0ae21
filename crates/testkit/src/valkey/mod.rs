//! Real Valkey servers for tests: the binary, single servers and clusters.
//!
//! A server never outlives the process that started it, however that process ends.

#![allow(clippy::expect_used, reason = "a test whose server cannot be had or driven fails")]

pub mod binary;
mod cluster;
mod config;
mod migration;
mod resp;
mod server;

pub use crate::port::free as free_port;
pub use cluster::Cluster;
pub use config::Config;
pub use resp::{CommandError, Reply};
pub use server::Server;
