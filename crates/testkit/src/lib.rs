//! What tests share: a manual clock, reports of what was counted, and small builders.

mod clock;
pub mod report;

pub use clock::{ManualClock, TokioClock};
