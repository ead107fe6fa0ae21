//! The store for many machines: Valkey, standalone or cluster.
//!
//! What runs once or more per execution is one atomic function on the server (submit, claim,
//! complete, renew, retire); everything else loads, decides in Rust and commits if nothing that was
//! decided on has changed. A function that meets anything but the plain case writes nothing and
//! leaves the command to that general way, so no refusal is decided twice.

mod codec;
mod error;
mod keys;
mod library;
mod link;
mod options;
mod startup;
mod url;

pub use options::{Options, Prefix, Secret, Tls, Topology};
