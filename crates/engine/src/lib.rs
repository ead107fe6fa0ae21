//! Background services of the engine.

pub mod supervisor;
pub mod timers;
