//! Flows and a task with children, each a small program.

pub mod agent_team;
pub mod map_reduce;
pub mod pipeline;
pub mod race;
