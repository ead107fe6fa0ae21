//! What tests share: a manual clock, reports of what was counted, and real Valkey servers.

mod clock;
pub mod report;
pub mod valkey;
pub mod wait;

pub use clock::{ManualClock, TokioClock};
