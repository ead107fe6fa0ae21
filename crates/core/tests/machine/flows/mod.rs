//! Flows: random graphs, refusals, and how flows are ended and removed.

mod decided;
mod random;
mod world;
