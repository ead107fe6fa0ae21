//! What tests share: a manual clock, stores that override another, reports of counts,
//! real Valkey servers, a browser, and networks that fail.

pub mod chromium;
mod clock;
mod forwarding;
pub mod proxy;
pub mod report;
pub mod valkey;
pub mod wait;

pub use clock::ManualClock;
pub use ff_store::clock::TokioClock;
pub use forwarding::{Forward, Forwarding};
