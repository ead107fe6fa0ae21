//! What the server does with requests, good and bad, fast and slow, and what it reports about itself.
//!
//! The exam over HTTP is a separate binary: metrics are counted for a whole process, and a test here
//! reads the effect of a few calls in them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue fails")]

mod access;
mod actors;
mod approve;
mod approve_browser;
mod at_once;
mod auth;
mod bad_input;
mod bad_json;
mod bounds;
mod browse;
mod browser;
mod bulk;
mod dashboard;
mod dashboard_access;
mod dashboard_browser;
mod dashboard_cost;
mod dashboard_flows;
mod dashboard_limits;
mod dashboard_output;
mod events;
mod explain;
#[path = "../fixture/mod.rs"]
mod fixture;
mod flows;
mod lanes;
mod limits;
mod lost_claims;
mod lost_replies;
mod metrics;
#[path = "../openapi/mod.rs"]
mod openapi;
mod payload;
mod proxy;
mod rates;
mod registry;
mod requests;
mod schedules;
mod shutdown;
mod slow;
mod stops;
mod streams;
mod tls;
mod tokens;
mod usage;
mod waiting;
mod webhooks;
