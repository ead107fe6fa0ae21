//! Three flows, each a small program.

pub mod map_reduce;
pub mod pipeline;
pub mod race;
