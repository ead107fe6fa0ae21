//! What worker authors and producers use.
//!
//! [`WorkerRuntime`] runs typed handlers; [`FlowFabricWorker`] is the layer beneath it, for workers
//! that claim and finish tasks themselves; [`Client`] submits work and waits for results. All
//! of them take a backend, in process or over HTTP, and behave the same on either.
//!
//! ```
//! use std::sync::Arc;
//! use ff_backend_memory::MemoryStore;
//! use ff_sdk::{Client, TaskError, WorkerRuntime};
//! use ff_store::{EngineBackend, SystemClock, roles::Engine};
//!
//! async fn greet(name: String) -> Result<String, TaskError> {
//!     Ok(format!("hello, {name}"))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let backend: Arc<dyn EngineBackend> =
//!     Arc::new(Engine::new(MemoryStore::serial(Arc::new(SystemClock))));
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

mod approval;
mod background;
mod blocking;
mod client;
mod config;
mod context;
mod dropped;
mod emit;
mod error;
mod event;
mod extract;
mod flows;
mod granted;
mod handler;
mod heartbeat;
mod journal;
mod lease;
mod limits;
mod listen;
mod payload;
mod received;
mod registration;
mod round_robin;
mod runtime;
mod schedules;
mod shutdown;
mod signals;
mod steps;
mod subscribe;
mod suspend;
mod tail;
mod task;
mod task_error;
mod testing;
mod time;
mod wait;
mod waitpoint;
mod waits;
mod work;
mod worker;

pub use approval::{Approval, Decided, Vote};
pub use background::Heartbeats;
pub use client::{Client, NewTask};
pub use config::WorkerConfig;
pub use context::TaskContext;
pub use emit::TokenStream;
pub use error::SdkError;
pub use event::{EventHook, WorkerEvent};
pub use extract::{FromTask, NeededState, State};
pub use ff_core::suspension::{OnTimeout, SuspendReason};
pub use handler::{Handler, Handling};
pub use payload::{Bytes, FromPayload, Json, ToPayload};
pub use registration::RegistrationGuard;
pub use round_robin::ServedLane;
pub use runtime::{Running, WorkerRuntime};
pub use shutdown::Shutdown;
pub use subscribe::{EventStream, Events};
pub use suspend::{SuspendedTask, TrySuspend};
pub use tail::Tail;
pub use task::{ClaimedTask, Reporter, StopReason};
pub use task_error::TaskError;
pub use testing::TestTask;
pub use time::millis;
pub use wait::Wait;
pub use waitpoint::TaskWaitpoint;
pub use waits::{TaskSignal, Waited};
pub use work::Until;
pub use worker::FlowFabricWorker;
