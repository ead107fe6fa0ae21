//! The HTTP client, plain or by TLS: the roles of a client and of a worker over HTTP.
//!
//! Failures are distinguished by [`StoreError`](ff_store::StoreError): no server was found, the
//! server did not answer (the outcome is unknown, and every call can be repeated as it was sent), it
//! requires its token, its answer cannot be decoded, or it reports a failure.

mod answers;
mod bulk;
mod claiming;
mod connect;
mod events;
mod explained;
mod flow;
mod journal;
mod limits;
mod named_tokens;
mod paths;
mod roles;
mod schedules;
mod stream;
mod suspend;
mod token;
mod transport;
mod webhooks;
mod workers;

pub use transport::{HttpClient, HttpOptions};
