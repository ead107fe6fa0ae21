//! The engine's services, each alone and all together, in virtual time.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod continuations;
mod owners;
mod repair;
mod scanners;
mod supervisor;
mod timers;
mod webhooks;
