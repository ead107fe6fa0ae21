//! The HTTP server in front of a store: routes, authentication, limits, metrics.
//!
//! Safe by default: it binds loopback; any other address needs a token. Without one, it answers to
//! loopback names only, and not to web pages. Every input has a bound,
//! every refusal is `application/problem+json` with a stable code, and a slow, silent or huge
//! client costs only itself.

mod access;
mod approve;
mod auth;
mod backlog;
mod body;
mod bounds;
mod browser;
mod callers;
mod config;
mod dashboard;
mod error;
mod flight;
mod health;
mod html;
mod metrics;
mod middleware;
mod params;
mod parse_error;
mod rate;
mod router;
mod routes;
mod serve;
mod sse;
mod state;
mod stream;
mod tls;
mod urlencoded;
mod whole;

pub use access::{RouteAccess, Who};
pub use config::{
    Config, ConfigError, DEFAULT_LISTEN, DEFAULT_TOKEN_RATE, DEFAULT_TOKEN_REQUESTS,
    DEFAULT_TOKEN_WAITS, Token,
};
pub use error::{HTTP_CODES, status_of, status_of_code, status_of_failure};
pub use metrics::all as metrics;
pub use router::{access, openapi};
pub use serve::Server;
pub use tls::Tls;
