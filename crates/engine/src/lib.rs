//! Background services of the engine.

pub mod timers;
