//! The HTTP client, plain or by TLS: the roles of a client and of a worker, spoken over HTTP.
//!
//! A refused connection or a lost reply is [`StoreError::Unavailable`](ff_store::StoreError): its
//! outcome is unknown, and every call can be repeated as it was sent.

mod allowances;
mod answers;
mod claiming;
mod connect;
mod explained;
mod roles;
mod transport;

pub use transport::{HttpClient, HttpOptions};
