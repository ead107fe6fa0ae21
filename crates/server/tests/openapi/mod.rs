//! The OpenAPI document says what the server does: it is well formed, schemathesis, a tool that
//! generates all kinds of requests from it, finds no answer that it does not describe, and clients
//! generated from it complete an execution.

mod clients;
mod document;
mod schemathesis;
mod tools;
