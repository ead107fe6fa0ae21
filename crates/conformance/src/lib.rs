//! The exam that every backend sits.
//!
//! The facts are the specification: one small function for each, named for what must hold. The
//! histories compare a backend with the model in memory, command by command, over random
//! sequences. One line makes a backend sit each:
//!
//! ```text
//! ff_conformance::exam!(sqlite, subject);
//! ff_conformance::histories!(sqlite_histories, subject, Options::default());
//! ```
//!
//! where `subject` is an `async fn() -> Subject` that makes a fresh, empty backend.

// A test suite: a panic is a failed fact.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod every_state;
mod exam;
mod facts;
mod fixture;
mod history;
mod measured;
mod snapshot;
mod subject;

pub use every_state::EveryState;
pub use exam::sit;
pub use fixture::WithoutWakeups;
pub use history::{Agreement, Options, clock_histories, histories};
pub use measured::measured;
pub use snapshot::{Blob, RowKey, RowsOf, Snapshot, StoredElement, snapshot};
pub use subject::{Making, Subject, TestClock};
