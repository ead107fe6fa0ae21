//! Act on many executions, chosen by what they are.
//!
//! A bulk call takes one slice of a listing and does the same to everything in it. Listings go from the
//! newest to the oldest by times that never change, so a caller that follows the cursor meets every
//! execution once, and none that was submitted after the first call.

use async_trait::async_trait;
use ff_core::journal::ReplayJournal;
use ff_core::machine::{Action, Cancel, Delete, Replay, Target};
use ff_core::{Description, ExecutionId, Millis, Namespace, PublicState, Refusal};

use super::{ClientBackend, Engine, done};
use crate::error::StoreError;
use crate::listing::{Cursor, Filter, Listing};
use crate::store::Store;

/// How many refusals one answer names; the others are counted.
pub const REFUSALS: usize = 10;

/// Remove executions, and act on many at once.
#[async_trait]
pub trait BulkBackend: Send + Sync {
    /// Removes a finished execution before its retention is over.
    async fn delete(&self, delete: Delete) -> Result<(), StoreError>;

    /// Does the same to the executions of one slice. It fails as a whole only if the store does; what
    /// was done by then stays done, and the same call can be made again.
    async fn bulk(&self, bulk: &Bulk) -> Result<BulkSlice, StoreError>;
}

/// One slice of a bulk operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bulk {
    /// The tenant.
    pub namespace: Namespace,
    /// Which executions. It must name something. Without states, those that the action is for.
    pub filter: Filter,
    /// What to do to them.
    pub action: BulkAction,
    /// Only count them.
    pub dry_run: bool,
    /// Where an earlier slice ended.
    pub after: Option<Cursor>,
    /// How many executions at most.
    pub limit: usize,
}

/// What to do to each execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BulkAction {
    /// Cancel it.
    Cancel {
        /// How long a holder may still work.
        grace: Option<Millis>,
        /// Why, for people.
        reason: Option<Box<str>>,
    },
    /// Start a new run of it.
    Replay,
    /// Remove it.
    Delete,
}

impl BulkAction {
    /// The word used everywhere.
    pub const fn verb(&self) -> BulkVerb {
        match self {
            BulkAction::Cancel { .. } => BulkVerb::Cancel,
            BulkAction::Replay => BulkVerb::Replay,
            BulkAction::Delete => BulkVerb::Delete,
        }
    }

    /// The command for `record`.
    fn command(&self, record: &Description) -> Action {
        let target = Target { namespace: record.spec.namespace.clone(), execution: record.id };
        match self {
            BulkAction::Cancel { grace, reason } => {
                Cancel { target, grace: *grace, reason: reason.clone() }.into()
            }
            BulkAction::Replay => {
                Replay { target, run: record.run.number, journal: ReplayJournal::Keep }.into()
            }
            BulkAction::Delete => Delete { target }.into(),
        }
    }
}

ff_core::words!(
    /// What is done, as a word.
    BulkVerb {
        /// Cancel.
        Cancel = "cancel",
        /// Replay.
        Replay = "replay",
        /// Delete.
        Delete = "delete",
    }
);

impl BulkVerb {
    /// The states it is for: a completed execution is replayed only when that state is asked for.
    pub fn states(self) -> impl Iterator<Item = PublicState> {
        PublicState::ALL.iter().copied().filter(move |state| match self {
            BulkVerb::Cancel => !state.is_finished(),
            BulkVerb::Replay => state.is_finished() && *state != PublicState::Completed,
            BulkVerb::Delete => state.is_finished(),
        })
    }
}

/// What a bulk operation did, or one slice of it.
#[derive(Debug, Clone, Default)]
pub struct BulkSlice {
    /// How many executions were found.
    pub matched: u64,
    /// To how many it was done.
    pub done: u64,
    /// How many refused it.
    pub refused: u64,
    /// The first of those, at most [`REFUSALS`], and why.
    pub refusals: Vec<(ExecutionId, StoreError)>,
    /// How many are there that cannot be read, whatever was asked for.
    pub unreadable: u64,
    /// Where to continue; `None` when there is nothing more.
    pub next: Option<Cursor>,
}

impl BulkSlice {
    /// Adds what a later slice did.
    pub fn join(&mut self, more: BulkSlice) {
        self.matched += more.matched;
        self.done += more.done;
        self.refused += more.refused;
        self.unreadable += more.unreadable;
        self.refusals.extend(more.refusals);
        self.refusals.truncate(REFUSALS);
        self.next = more.next;
    }
}

#[async_trait]
impl<S: Store + ?Sized> BulkBackend for Engine<S> {
    async fn delete(&self, delete: Delete) -> Result<(), StoreError> {
        let Target { namespace, execution } = delete.target.clone();
        self.one(delete).await.and_then(done)?;
        // Besides its event nothing is left that could keep who did it.
        tracing::info!(%namespace, %execution, by = %self.2, "an execution is deleted");
        Ok(())
    }

    async fn bulk(&self, bulk: &Bulk) -> Result<BulkSlice, StoreError> {
        if bulk.filter == Filter::default() {
            let why = "is empty; give a lane, a kind, states, tags or times";
            return Err(Refusal::invalid("filter", why).into());
        }
        let mut filter = bulk.filter.clone();
        if filter.state_filters().is_empty() {
            filter.states.extend(bulk.action.verb().states());
        }
        let listing = Listing {
            namespace: bulk.namespace.clone(),
            filter,
            after: bulk.after,
            limit: bulk.limit,
        };
        let page = self.list(&listing).await?;
        let mut slice = BulkSlice {
            matched: page.executions.len() as u64,
            unreadable: page.unreadable.len() as u64,
            next: page.next,
            ..BulkSlice::default()
        };
        if bulk.dry_run || page.executions.is_empty() {
            return Ok(slice);
        }
        let actions = page.executions.iter().map(|record| bulk.action.command(record)).collect();
        let answers = self.many::<Action, ()>(actions, |_| Ok(())).await?;
        for (record, answer) in page.executions.iter().zip(answers) {
            match answer {
                Ok(()) => slice.done += 1,
                Err(error) if error.refused().is_some() => {
                    slice.refused += 1;
                    if slice.refusals.len() < REFUSALS {
                        slice.refusals.push((record.id, error));
                    }
                }
                Err(error) => return Err(error),
            }
        }
        if bulk.action == BulkAction::Delete {
            let (namespace, count) = (&bulk.namespace, slice.done);
            tracing::info!(%namespace, count, by = %self.2, "executions are deleted");
        }
        Ok(slice)
    }
}
