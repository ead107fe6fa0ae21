//! The worker of the SDK: how it runs tasks, registers, reports and stops.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod blocking;
mod fixture;
mod grants;
mod registration;
mod runtime;
mod steps;
mod stops;
mod streams;
mod suspend;
mod usage;
mod waits;
mod work;
mod worker;
