//! The optimistic driver: load, apply, then commit if nothing that was decided on has changed.
//!
//! For stores reached over a network. A conflict or a stale decision is tried again, a bounded
//! number of times. A claim keeps what it got and skips the candidates others took.

use async_trait::async_trait;
use ff_core::Time;
use ff_core::bounds::BATCH_BYTES;
use ff_core::machine::{
    self, Action, Claimed, Command, Item, Loaded, MAX_ROUNDS, ReadSet, Reply, Step, WriteSet,
};

use crate::after_commit::{AfterCommit, SettlementQueue};
use crate::error::StoreError;
use crate::serial::too_many_rounds;
use crate::wakeups::Wakeups;

/// How often a command is decided before others are said to be in the way.
pub const MAX_TRIES: usize = 16;

/// How old a decision may be, in milliseconds of the store's time, when it is committed.
pub const MAX_AGE_MS: u64 = 1_000;

/// The two calls of an optimistic store.
#[async_trait]
pub trait Optimistic: Send + Sync {
    /// Adds to `loaded` what `reads` asks for; the first load of a command sets its time.
    async fn load(
        &self,
        reads: &ReadSet,
        loaded: &mut Loaded,
        first: bool,
    ) -> Result<(), StoreError>;

    /// Writes, if every record still has the version decided on and the decision is fresh.
    async fn commit(&self, write: WriteSet, decided: Decided) -> Result<Commit, StoreError>;
}

/// When a decision was made and until when it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decided {
    /// The store's time it was made with.
    pub at: Time,
    /// The first timer of a record it was made on.
    pub valid_until: Option<Time>,
}

impl Decided {
    /// Whether the decision is too old at `now` to be written.
    pub fn is_stale(&self, now: Time) -> bool {
        now.since(self.at).get() > MAX_AGE_MS || self.valid_until.is_some_and(|until| until <= now)
    }
}

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commit {
    /// It is written.
    Written,
    /// A record it was decided on has changed; nothing was written.
    Conflict,
    /// Time has overtaken the decision; nothing was written.
    Stale,
}

/// Runs one command, trying again while others are in the way.
pub async fn run(
    store: &impl Optimistic,
    command: &Command,
    wakeups: &Wakeups,
    settlements: &SettlementQueue,
) -> Result<Reply, StoreError> {
    machine::check(command)?;
    let mut command = command.clone();
    let mut kept: Option<Claimed> = None;
    for _ in 0..MAX_TRIES {
        let (items, decided) = match decide(store, &command).await {
            Ok(decision) => decision,
            Err(error) => return keep(kept, Err(error)),
        };
        let tried = items.len();
        let (reply, clean) = match write(store, items, decided, wakeups, settlements).await {
            Ok(written) => written,
            Err(error) => return keep(kept, Err(error)),
        };
        if clean {
            return keep(kept, reply.ok_or_else(too_many_rounds));
        }
        if let Action::Claim(claim) = &mut command.action {
            if let Some(Reply::Claimed(part)) = reply {
                claim.max -= part.assignments.len().min(usize::from(claim.max)) as u16;
                kept = Some(join(kept, part));
            }
            claim.first += tried as u16;
            claim.retry = false;
            if claim.max == 0 || kept.as_ref().is_some_and(is_heavy) {
                break;
            }
        }
    }
    match kept {
        Some(part) if !part.assignments.is_empty() => Ok(Claimed { again: true, ..part }.into()),
        _ => Err(StoreError::Contention),
    }
}

/// Whether what a claim has is so much that another part could be more than one answer should carry.
fn is_heavy(part: &Claimed) -> bool {
    let bytes = part.assignments.iter().map(|assignment| assignment.input.bytes.len());
    bytes.sum::<usize>() > BATCH_BYTES / 2
}

/// An answer joined to what earlier tries of a claim got; an error does not lose that.
fn keep(kept: Option<Claimed>, answer: Result<Reply, StoreError>) -> Result<Reply, StoreError> {
    match (kept, answer) {
        (Some(part), Ok(Reply::Claimed(more))) => Ok(join(Some(part), more).into()),
        (Some(part), Err(error)) if !part.assignments.is_empty() => {
            tracing::warn!(%error, "a claim was cut short");
            Ok(part.into())
        }
        (_, answer) => answer,
    }
}

fn join(kept: Option<Claimed>, more: Claimed) -> Claimed {
    let mut all = kept.unwrap_or_default();
    all.assignments.extend(more.assignments);
    all.again |= more.again;
    all.withheld = all.withheld.or(more.withheld);
    // The last try has read all that is still queued.
    all.needs_admission = more.needs_admission;
    all
}

async fn decide(
    store: &impl Optimistic,
    command: &Command,
) -> Result<(Vec<Item>, Decided), StoreError> {
    let mut loaded = Loaded::default();
    let reads = machine::reads(command);
    store.load(&reads, &mut loaded, true).await?;
    loaded.has_read(&reads);
    for _ in 0..MAX_ROUNDS {
        match machine::apply(command, &loaded)? {
            Step::NeedMore(more) => {
                store.load(&more, &mut loaded, false).await?;
                loaded.has_read(&more);
            }
            Step::Done(transition) => {
                let decided = Decided { at: loaded.now, valid_until: loaded.valid_until() };
                return Ok((transition.items, decided));
            }
        }
    }
    Err(too_many_rounds())
}

/// Commits items one by one. Tells what was answered and whether every one was written.
async fn write(
    store: &impl Optimistic,
    items: Vec<Item>,
    decided: Decided,
    wakeups: &Wakeups,
    settlements: &SettlementQueue,
) -> Result<(Option<Reply>, bool), StoreError> {
    let mut joined: Option<Reply> = None;
    let mut clean = true;
    for Item { write, reply } in items {
        if let Some(write) = write {
            let mut after = AfterCommit::default();
            after.add(&write);
            if store.commit(write, decided).await? != Commit::Written {
                clean = false;
                continue;
            }
            after.publish(wakeups, settlements);
        }
        joined = Some(match joined {
            Some(earlier) => earlier.join(reply),
            None => reply,
        });
    }
    Ok((joined, clean))
}
