//! The HTTP client, plain or by TLS: the roles of a client and of a worker, spoken over HTTP.
//!
//! What has no answer is told apart by [`StoreError`](ff_store::StoreError): no server was found, the
//! server did not answer (the outcome is unknown, and every call can be repeated as it was sent), it
//! asks for its token, its answer is not understood, or it tells of a failure itself.

mod answers;
mod bulk;
mod claiming;
mod connect;
mod explained;
mod limits;
mod roles;
mod transport;

pub use transport::{HttpClient, HttpOptions};
