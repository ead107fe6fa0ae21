//! The demo of `ff dev`: workers, a trickle of work for them, and a view of what happens.

pub(crate) mod demo;
pub(crate) mod trickle;
pub(crate) mod watch;
