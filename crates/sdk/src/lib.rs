//! What worker authors and producers use.
//!
//! [`WorkerRuntime`] runs typed handlers; [`FlowFabricWorker`] is the layer beneath it, for those
//! who want to claim and finish by themselves; [`Client`] submits work and waits for results. All
//! of them take a backend, in process or over HTTP, and behave the same on either.
//!
//! ```
//! use std::sync::Arc;
//! use ff_backend_memory::MemoryStore;
//! use ff_sdk::{Client, Json, TaskContext, TaskError, WorkerRuntime};
//! use ff_store::{EngineBackend, SystemClock, roles::Backend};
//!
//! async fn greet(_task: TaskContext, Json(name): Json<String>) -> Result<Json<String>, TaskError> {
//!     Ok(Json(format!("hello, {name}")))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let backend: Arc<dyn EngineBackend> =
//!     Arc::new(Backend::new(MemoryStore::serial(Arc::new(SystemClock))));
//! let worker = WorkerRuntime::new(backend.clone()).lane("default")?.on("greet", greet)?;
//! let running = worker.start().await?;
//!
//! let client = Client::new(backend);
//! let task = client.submit("greet", &"world").await?;
//! assert_eq!(client.wait::<String>(task.execution).await?, "hello, world");
//! running.shutdown().await;
//! # Ok(())
//! # }
//! ```

mod allowances;
mod background;
mod blocking;
mod client;
mod config;
mod context;
mod dropped;
mod error;
mod granted;
mod handler;
mod heartbeat;
mod presence;
mod retry;
mod runtime;
mod task;
mod turns;
mod worker;

pub use background::Heartbeats;
pub use client::{Client, NewTask};
pub use config::WorkerConfig;
pub use context::TaskContext;
pub use error::{SdkError, TaskError};
pub use handler::{Bytes, Handler, Json, Output};
pub use presence::Presence;
pub use runtime::{Running, WorkerRuntime};
pub use task::{ClaimedTask, Reporter, StopReason};
pub use turns::ServedLane;
pub use worker::FlowFabricWorker;

/// The worker in the README is compiled as it stands there.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
