//! The OpenAPI document says what the server does: it is well formed, and schemathesis, a tool that
//! makes requests of all sorts from it, finds no answer that it does not describe.

mod document;
mod schemathesis;
mod tools;
