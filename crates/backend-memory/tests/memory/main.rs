//! The store in memory: what it measures, and its optimistic driver. What every store does is in the
//! exam.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod measured;
mod optimistic;
