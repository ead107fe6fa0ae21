//! Harnesses for failures of a server, its store and its clients: connections that are cut
//! at any point, servers that are killed and stopped, more work than limits admit, damaged rows.
//!
//! Each drives real `ff serve` processes over plain HTTP and judges by what a user can see. Each
//! prints what it did and fails when it did nothing. `FF_EDGES_MINUTES` and `FF_EDGES_SEED` run
//! one for longer or again; `cargo xtask edges` sets them. The tests that run them are those of
//! `ff-cli`, because only they know the built program.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a harness that cannot continue fails")]

mod api;
mod damage;
mod disconnect;
mod http;
mod limits;
mod overload;
mod place;
mod restart;
mod serving;
mod settings;
mod view;

pub use damage::damage;
pub use disconnect::disconnect;
pub use limits::limits;
pub use overload::overload;
pub use place::Place;
pub use restart::{frozen, restart};
