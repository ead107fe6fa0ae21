//! What tests share: a manual clock, stores that override another, reports of counts,
//! real Valkey and Postgres servers, a browser, Node.js, and networks that fail.

pub mod chromium;
mod clock;
mod forwarding;
pub mod javascript;
mod port;
pub mod postgres;
pub mod proxy;
pub mod report;
mod supervisor;
mod tools;
pub mod valkey;
pub mod wait;

pub use clock::ManualClock;
pub use ff_store::clock::TokioClock;
pub use forwarding::{Forward, Forwarding};
