//! Background services of the engine.

mod shares;
pub mod supervisor;
pub mod timers;
