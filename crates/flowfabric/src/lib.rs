//! Durable execution for Rust programs: submit tasks, run them in workers, and have them survive
//! crashes, with retries, budgets and at most one accepted result.
//!
//! [`FlowFabric::open`] takes a URL. A store (`sqlite:work.ff`, `memory:`, `valkey://..`) is opened in
//! this process, together with its engine; a server (`http://..`, `https://..`) is only called.
//! Everything else is the same on either.
//!
//! ```
//! use flowfabric::prelude::*;
//!
//! async fn greet(name: String) -> Result<String, TaskError> {
//!     Ok(format!("hello, {name}"))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let ff = FlowFabric::open("memory:").await?;
//! ff.worker().on("greet", greet).start().await?;
//! let hello: String = ff.task("greet", "world").send().await?.result().await?;
//! assert_eq!(hello, "hello, world");
//! ff.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `sqlite` | yes | stores in a SQLite file |
//! | `http` | yes | servers, plain or by TLS |
//! | `postgres` | no | stores in Postgres |
//! | `valkey` | no | stores on Valkey, standalone and cluster |
//!
//! Builders keep what they are given and check it in their last call, `open()`, `start()` or `send()`:
//! one [`Error`] names the field at fault. `docs/embedding.md` is the guide to embedding,
//! `docs/testing.md` that to testing.

mod builder;
mod connect;
mod engine;
mod flow;
mod flowfabric;
mod handle;
mod limits;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod prelude;
mod schedule;
mod task;
pub mod testing;
mod worker;

pub use builder::Builder;
pub use ff_core::event::{Event, EventId, EventKind, EventName};
pub use ff_core::flow::{FlowCounts, HeldMembers, OnFailure};
pub use ff_core::machine::{FlowMember, FlowPage};
pub use ff_core::record::Progress;
pub use ff_core::schedule::{Overlap, Schedule};
pub use ff_core::signal::SignalEffect;
pub use ff_core::stream::StreamFrame;
pub use ff_core::{
    ExecutionId, Fence, Kind, Lane, LeaseId, Payload, PublicState, RequestId, TagKey, TagValue,
    Time,
};
pub use ff_sdk::{
    Approval, Bytes, Decided, EventStream, Events, FromPayload, FromTask, Handler, Handling, Json,
    NeededState, OnTimeout, SdkError as Error, State, StopReason, SuspendReason, Tail, TaskContext,
    TaskError, TaskSignal, TaskWaitpoint, ToPayload, TokenStream, Vote, Wait, Waited,
};
pub use ff_store::events::Cursor;
pub use ff_store::ring::SignedToken;
pub use ff_store::schedules::NamedSchedule;
pub use flow::{FlowBuilder, FlowHandle};
pub use flowfabric::FlowFabric;
pub use handle::{TaskHandle, Untyped};
pub use limits::{BudgetBuilder, QuotaBuilder};
pub use schedule::ScheduleBuilder;
pub use task::TaskBuilder;
pub use tokio_util::sync::CancellationToken;
pub use worker::{Worker, WorkerBuilder};

/// The Rust programs of the README, compiled as they are.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The examples of the embedding guide, run as they are.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct Embedding;

/// The example of the worker guide, run as it is.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/workers.md")]
struct Workers;

/// The example of the guide to streams, run as it is.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/streams.md")]
struct Streams;

/// The example of the guide to steps, run as it is.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/steps.md")]
struct Steps;

/// The example of the guide to suspension, run as it is.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/signals.md")]
struct Signals;

/// The example of the guide to schedules, run as it is.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/schedules.md")]
struct SchedulesGuide;

/// The example of the guide to events, run as it is.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/events.md")]
struct EventsGuide;

/// The example of the guide to flows, run as it is.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/flows.md")]
struct Flows;

/// The examples of the testing guide, run as they are.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/testing.md")]
struct Testing;
