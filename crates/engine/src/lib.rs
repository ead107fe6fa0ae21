//! Background services of the engine.

pub mod audit;
pub mod keys;
mod metrics;
mod ownership;
pub mod scanner;
pub mod services;
pub mod supervisor;
pub mod timers;
pub mod unblock;
pub mod webhooks;

pub use metrics::METRICS;
