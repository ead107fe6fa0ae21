//! What the server does with requests, good and bad, fast and slow.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

#[path = "../common/mod.rs"]
mod common;

mod auth;
mod bad_input;
mod bad_json;
mod bounds;
mod browser;
mod bulk;
mod explain;
mod lanes;
mod limits;
mod lost_claims;
mod lost_replies;
mod metrics;
mod payload;
mod proxy;
mod registry;
mod requests;
mod shutdown;
mod slow;
mod tls;
mod usage;
