//! Background services of the engine.

mod meter;
pub mod scanner;
pub mod services;
mod shares;
pub mod supervisor;
pub mod timers;
pub mod unblock;

pub use meter::METRICS;
