//! The store in memory: what it measures, its optimistic driver, and what follows a commit in it. What
//! every store does is in the exam.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod measured;
mod optimistic;
mod settlements;
