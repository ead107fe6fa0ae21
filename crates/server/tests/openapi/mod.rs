//! The OpenAPI document says what the server does: it is well formed, schemathesis, a tool that makes
//! requests of all sorts from it, finds no answer that it does not describe, and clients that are
//! generated from it complete an execution.

mod clients;
mod document;
mod schemathesis;
mod tools;
