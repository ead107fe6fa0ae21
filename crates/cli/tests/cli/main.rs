//! `ff` as a person or a script uses it: through the built binary, each test on a store of its own.

// A test that cannot continue panics.
#![allow(clippy::unwrap_used)]

mod backup;
mod bad_input;
mod budgets;
mod bulk;
mod check;
mod dev;
mod dev_picture;
mod docs;
mod examples;
mod explain;
#[path = "../fixture/mod.rs"]
mod fixture;
mod flows;
mod help;
mod ids;
mod json;
mod lanes;
mod listing;
mod mcp;
mod missing_store;
mod operator;
mod output;
mod pages;
mod python;
mod quotas;
mod round_trip;
mod tokens;
mod typescript;
mod worker_cancel;
mod worker_exit;
mod worker_lanes;
mod worker_lease;
mod worker_program;
mod worker_race;
mod worker_stream;
mod workers;
