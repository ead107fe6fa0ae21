//! The store for many machines: Valkey, standalone or cluster.
//!
//! What runs once or more per execution is one atomic function on the server (submit, claim,
//! complete, renew, retire); everything else loads, decides in Rust and commits if nothing that was
//! decided on has changed. A function that finds anything but the plain case writes nothing and
//! leaves the command to that slow path, so no refusal is decided twice.

mod backlog;
mod ceiling;
mod claim;
mod codec;
mod constants;
mod discovery;
mod due;
mod ended;
mod error;
mod events;
mod fast_path;
mod gather;
mod heads;
mod indexes;
mod keys;
mod layout;
mod library;
mod link;
mod loading;
mod options;
mod probe;
mod query;
mod repair;
mod reply;
mod resource;
mod rows;
mod setting;
mod slow_path;
mod startup;
mod stopped;
mod store;
mod unfinished;
mod url;
mod walk;

pub use ceiling::{Ceiling, CeilingPlan, Speed, ceiling};
pub use constants::BOUNDS;
pub use layout::{Family, LAYOUT};
pub use options::{Options, Prefix, Secret, Tls, Topology};
pub use probe::{Probe, Reading};
pub use repair::PartialWrite;
pub use store::{ValkeyStore, backend};
