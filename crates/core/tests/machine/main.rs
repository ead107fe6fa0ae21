//! The machine: each decision, every arrow of its table, and properties over random commands.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue fails")]

mod arrows;
mod backoff;
mod cancelling;
mod exploration;
mod fixture;
mod flows;
mod lifecycle_exits;
mod pitfalls;
mod properties;
mod queue_order;
mod steps;
mod unreadable;
