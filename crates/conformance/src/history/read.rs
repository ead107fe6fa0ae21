//! Reads from both stores.

use bytes::Bytes;
use ff_core::collection::{Element, ElementRange};
use ff_core::feed::Trim;
use ff_core::payload::BlobKey;
use ff_core::placement::QueueEntry;
use ff_core::{Execution, ExecutionId, Namespace, Resource, Time};
use ff_store::{
    BlockedClass, BlockedScan, DueCursor, DueTimers, ListScan, Listed, PartitionSet, ResourceScan,
    Store, StoreError,
};

/// More pages of what is due than any history has.
const MOST_PAGES: usize = 1_000;

/// Something to read.
#[derive(Debug, Clone)]
pub(crate) enum Read {
    Record(ExecutionId),
    Blob(BlobKey),
    Elements(ElementRange),
    List(ListScan),
    DueAction {
        after: Option<(Time, ExecutionId)>,
        limit: usize,
    },
    Resources(ResourceScan),
    Ahead {
        place: QueueEntry,
        id: ExecutionId,
    },
    Blocked(BlockedScan),
    /// Removes old events, which needs no decision.
    Trim {
        namespace: Namespace,
        trim: Trim,
    },
}

/// What was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Seen {
    Record(Option<Box<Execution>>),
    Blob(Option<Bytes>),
    Elements(Vec<Element>),
    List(Vec<Listed>),
    DueAction(Box<DueTimers>),
    Resources(Vec<Resource>),
    Ahead(u64),
    Blocked(Vec<BlockedClass>),
    /// Whether there is more to remove.
    Trim(bool),
}

impl Read {
    pub(crate) async fn at(&self, store: &dyn Store) -> Result<Seen, StoreError> {
        Ok(match self.clone() {
            Read::Trim { namespace, trim } => {
                Seen::Trim(store.trim_events(&namespace, trim).await?)
            }
            Read::Record(id) => Seen::Record(store.record(id).await?.map(Box::new)),
            Read::Blob(key) => Seen::Blob(store.blob(key).await?),
            Read::Elements(range) => Seen::Elements(store.elements(range).await?),
            Read::List(scan) => Seen::List(store.list(scan).await?),
            Read::DueAction { after, limit } if store.partitions() > 1 => {
                Seen::DueAction(Box::new(all_due(store, after, limit).await?))
            }
            Read::DueAction { after, limit } => {
                let after =
                    after.map(|last| DueCursor { execution: Some(last), ..DueCursor::default() });
                let mut timers = store.due(&PartitionSet::All, after, limit).await?;
                // Of resources that are due at once, any may come first.
                if timers.resources.len() == limit {
                    (timers.resources, timers.more) = (Vec::new(), None);
                }
                if let Some(more) = &mut timers.more {
                    more.resource = None;
                }
                timers.resources.sort();
                Seen::DueAction(Box::new(timers))
            }
            Read::Resources(scan) => Seen::Resources(store.resources(scan).await?),
            Read::Ahead { place, id } => Seen::Ahead(store.ahead(&place, id).await?),
            Read::Blocked(scan) => Seen::Blocked(store.blocked(scan).await?),
        })
    }
}

/// Everything that is due after a place. Pages of several partitions differ in length, and what comes
/// after one may be in it already.
async fn all_due(
    store: &dyn Store,
    after: Option<(Time, ExecutionId)>,
    limit: usize,
) -> Result<DueTimers, StoreError> {
    let mut cursor = Some(DueCursor { execution: after, ..DueCursor::default() });
    let mut all: Option<DueTimers> = None;
    for _ in 0..MOST_PAGES {
        let Some(after) = cursor else { break };
        let page = store.due(&PartitionSet::All, Some(after), limit).await?;
        cursor = page.more.clone();
        all = Some(match all {
            None => page,
            Some(mut all) => {
                all.due.extend(page.due);
                all.resources.extend(page.resources);
                all.continuations.extend(page.continuations);
                all
            }
        });
    }
    let mut all = all.filter(|_| cursor.is_none()).ok_or_else(no_end)?;
    all.due.sort_unstable();
    all.due.dedup();
    all.resources.sort();
    all.resources.dedup();
    all.continuations.sort();
    all.continuations.dedup();
    Ok(DueTimers { more: None, ..all })
}

fn no_end() -> StoreError {
    StoreError::Corrupt(format!("there is more due after {MOST_PAGES} pages"))
}
