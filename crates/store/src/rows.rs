//! The rows of a store: what it holds, for an audit and to compare two stores.

use ff_core::collection::Collection;
use ff_core::continuation::Continuation;
use ff_core::machine::LaneClass;
use ff_core::payload::BlobKey;
use ff_core::placement::Entry;
use ff_core::record::Attempt;
use ff_core::{Execution, ExecutionId, Resource, ResourceKey, Time};
use tokio::sync::mpsc;

use crate::error::StoreError;

/// One thing that a store holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// A record.
    Record(Box<Execution>),
    /// Something that should be a record and cannot be read as one.
    Unreadable {
        /// Where it is.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// An index entry.
    Entry(Entry, ExecutionId),
    /// A class registered for a lane.
    Class(LaneClass),
    /// Bytes beside a record: how many.
    Blob(BlobKey, u64),
    /// An element beside a record.
    Element(Box<ElementRow>),
    /// A resource.
    Resource(Box<Resource>),
    /// An index entry of a resource.
    ResourceEntry(ResourceKey, ResourceEntry),
    /// A continuation and when it is due. Its owner may be gone: its run finds that out.
    Continuation(Continuation, Time),
    /// A counter of an execution.
    Tally(TallyRow),
}

/// A counter of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TallyRow {
    /// Whose.
    pub owner: ExecutionId,
    /// Its number.
    pub counter: u8,
    /// What it has, which is never zero.
    pub value: i64,
    /// Whether there is such an execution.
    pub is_owned: bool,
}

/// An element beside a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElementRow {
    /// Beside which execution.
    pub owner: ExecutionId,
    /// In which collection.
    pub collection: Collection,
    /// Its number.
    pub number: u64,
    /// What it is; of bytes only how many.
    pub content: RowContent,
}

/// What an element is, as far as a row says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowContent {
    /// An attempt.
    Attempt(Box<Attempt>),
    /// So many bytes.
    Bytes(u64),
}

/// An index entry of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResourceEntry {
    /// It is listed.
    Listed,
    /// Time does something to it then.
    Timer(Time),
}

/// All rows of a store. They may come in groups, such as partitions: all rows of an execution are in
/// one, and in each the records come first. A store reads them in bounded pages and waits until they
/// are taken, so that a reader that keeps none holds little at any time.
#[derive(Debug)]
pub struct Rows(mpsc::Receiver<Result<Row, StoreError>>);

impl Rows {
    /// A stream of rows and the end to feed it from. A consumer that goes away makes sends fail.
    pub fn channel() -> (mpsc::Sender<Result<Row, StoreError>>, Rows) {
        let (sender, receiver) = mpsc::channel(256);
        (sender, Rows(receiver))
    }

    /// The next row.
    pub async fn next(&mut self) -> Option<Result<Row, StoreError>> {
        self.0.recv().await
    }
}
