//! The facts: what every backend does and never does.
//!
//! Each is a function of a fresh [`Fixture`](crate::fixture::Fixture). When it has ended, the store is
//! audited, so a fact need not check indexes unless they are its subject.

// The build script finds facts by `pub(crate) async fn`. One that it does not find is never run,
// which is an error here.
#![deny(dead_code)]

pub(crate) mod actors;
pub(crate) mod admission;
pub(crate) mod attempts;
pub(crate) mod attention;
pub(crate) mod audit;
pub(crate) mod backlog;
pub(crate) mod bad_input;
pub(crate) mod batch;
pub(crate) mod budget;
pub(crate) mod bulk;
pub(crate) mod cancel;
pub(crate) mod capability;
pub(crate) mod claim;
pub(crate) mod clock;
pub(crate) mod continuations;
pub(crate) mod delay;
pub(crate) mod delete;
pub(crate) mod elements;
pub(crate) mod engines;
pub(crate) mod events;
pub(crate) mod exit;
pub(crate) mod explain;
pub(crate) mod fail;
pub(crate) mod feed;
pub(crate) mod flow;
pub(crate) mod flow_replay;
pub(crate) mod flow_routes;
pub(crate) mod follow;
pub(crate) mod grant;
pub(crate) mod hand_back;
pub(crate) mod idempotency;
pub(crate) mod lane;
pub(crate) mod lane_defaults;
pub(crate) mod lane_limit;
pub(crate) mod lease;
pub(crate) mod listing;
pub(crate) mod named_tokens;
pub(crate) mod namespace;
pub(crate) mod own_clock;
pub(crate) mod payload;
pub(crate) mod priority;
pub(crate) mod quota;
pub(crate) mod release;
pub(crate) mod replay;
pub(crate) mod retention;
pub(crate) mod revoke;
pub(crate) mod schedule;
pub(crate) mod setting;
pub(crate) mod signal;
pub(crate) mod signing;
pub(crate) mod sleep;
pub(crate) mod steps;
pub(crate) mod stops;
pub(crate) mod streams;
pub(crate) mod submit;
pub(crate) mod summary;
pub(crate) mod suspend;
pub(crate) mod tags;
pub(crate) mod tail;
pub(crate) mod tick;
pub(crate) mod timeout;
pub(crate) mod token;
pub(crate) mod wait;
pub(crate) mod waitpoint;
pub(crate) mod wakeup;
pub(crate) mod webhooks;
pub(crate) mod worker;
