//! What tests share: a manual clock, reports of what was counted, and real Valkey servers.

mod clock;
pub mod report;
pub mod valkey;

pub use clock::{ManualClock, TokioClock};
