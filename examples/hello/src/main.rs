//! A worker in Rust, in one file.
//!
//! Start a server with `cargo run --release -- dev` in one terminal, this with
//! `cargo run -p ff-example-hello` in another, and give it work from a third:
//!
//! ```sh
//! ff submit --lane hello --kind greet --input '"world"' --wait
//! ```

use std::sync::Arc;

use ff_api::client::{HttpClient, HttpOptions};
use ff_sdk::{Json, TaskContext, TaskError, WorkerRuntime};

async fn greet(task: TaskContext, Json(name): Json<String>) -> Result<Json<String>, TaskError> {
    if name.is_empty() {
        return Err(TaskError::permanent("nobody to greet"));
    }
    task.progress(50, "thinking of something nice").await?;
    Ok(Json(format!("hello, {name}")))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::var("FF_URL").unwrap_or_else(|_| "http://127.0.0.1:7272".into());
    let token = std::env::var("FF_TOKEN").ok();
    let server = Arc::new(HttpClient::new(HttpOptions { token, ..HttpOptions::new(url) })?);
    WorkerRuntime::new(server).lane("hello")?.on("greet", greet)?.concurrency(4).run().await?;
    Ok(())
}
