//! Background services of the engine.

pub mod audit;
mod meter;
pub mod scanner;
pub mod services;
mod shares;
pub mod supervisor;
pub mod timers;
pub mod unblock;

pub use meter::METRICS;
