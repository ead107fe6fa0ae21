//! The scheduler: what it reserves, and what a lost reply costs.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod lost_reply;
mod reservations;
