//! The OpenAPI document says what the server does: it is well formed, and schemathesis, a tool that
//! makes requests of all sorts from it, finds no answer that it does not describe.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

#[path = "../common/mod.rs"]
mod common;
mod document;
mod schemathesis;
mod tools;
