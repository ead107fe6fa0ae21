//! The servers and the proxy that other tests rely on.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod proxy;
mod valkey;
