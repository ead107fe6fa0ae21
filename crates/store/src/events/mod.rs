//! The log of what happens in a namespace, and how it is followed.
//!
//! Every commit writes its events in its own partition while the [feed](ff_core::feed) of the namespace
//! is on. A [cursor](cursor::Cursor) is a place in each partition. From a cursor on, a subscriber misses
//! nothing and may see an event again, under the same id; one whose cursor the log no longer reaches is
//! refused. One [reader](tail) per process and namespace follows the log, however many subscribe.

pub mod cursor;
pub mod feed;
pub mod filter;
mod follow;
pub mod hints;
mod latest;
pub mod log;
mod subscription;
pub(crate) mod tail;

pub use cursor::Cursor;
pub use feed::FeedUpdate;
pub use filter::EventFilter;
pub(crate) use follow::follow;
pub use follow::{EventsPage, EventsRequest, StartAt};
pub use log::{LogPage, LogScan, Logged, PartLog, Place, Positions};
pub use subscription::Subscription;

/// How many events one call examines, whatever its filter selects.
pub const SCANNED: usize = 10_000;
