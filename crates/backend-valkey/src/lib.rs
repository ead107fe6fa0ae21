//! The store for many machines: Valkey, standalone or cluster.
//!
//! What runs once or more per execution is one atomic function on the server (submit, claim,
//! complete, renew, retire); everything else loads, decides in Rust and commits if nothing that was
//! decided on has changed. A function that meets anything but the plain case writes nothing and
//! leaves the command to that general way, so no refusal is decided twice.

mod census;
mod claim;
mod codec;
mod constants;
mod error;
mod fused;
mod general;
mod heads;
mod keys;
mod layout;
mod library;
mod limit;
mod link;
mod loading;
mod look;
mod mend;
mod options;
mod probe;
mod query;
mod reply;
mod resource;
mod rows;
mod startup;
mod store;
mod url;
mod walk;

pub use constants::BOUNDS;
pub use layout::{Family, LAYOUT};
pub use limit::{Limit, LimitPlan, Speed, limit};
pub use mend::Torn;
pub use options::{Options, Prefix, Secret, Tls, Topology};
pub use probe::{Probe, Reading};
pub use store::{ValkeyStore, backend};
