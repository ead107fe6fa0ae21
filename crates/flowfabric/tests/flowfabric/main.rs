//! The crate as its users see it: embedded, over HTTP, in tests.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod embedded;
mod handlers;
mod http;
mod killed;
mod limits;
mod readme;
mod refused;
mod testing;

use flowfabric::prelude::*;

async fn greet(name: String) -> Result<String, TaskError> {
    Ok(format!("hello, {name}"))
}

async fn endless((): ()) -> Result<(), TaskError> {
    std::future::pending().await
}
