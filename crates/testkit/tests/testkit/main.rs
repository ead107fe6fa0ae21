//! The servers and the proxy that other tests rely on.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod proxy;
mod valkey;
