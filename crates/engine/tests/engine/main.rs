//! The engine's services, each alone and all together, in virtual time.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod alone;
mod scanners;
mod supervisor;
mod timers;
