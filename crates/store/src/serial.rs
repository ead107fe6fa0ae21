//! The serial driver: load, apply and commit inside one writer step.
//!
//! For stores with one writer at a time. Concurrent callers share a transaction; each command is
//! decided on what the ones before it wrote.

use ff_core::continuation::Armed;
use ff_core::machine::{self, Command, Item, Loaded, MAX_ROUNDS, ReadSet, Reply, Step, WriteSet};
use ff_core::{Millis, Time};

use crate::after_commit::AfterCommit;
use crate::error::StoreError;

/// An open transaction of the one writer.
pub trait Transaction {
    /// The store's time, the same for the whole transaction.
    fn now(&self) -> Time;

    /// How much of that time may be taken back; see [`Loaded::unconfirmed`].
    fn unconfirmed(&self) -> Millis;

    /// Adds to `loaded` what `reads` asks for.
    fn load(&mut self, reads: &ReadSet, loaded: &mut Loaded) -> Result<(), StoreError>;

    /// Writes, and answers the continuations that latches have added. Nothing can be refused any more:
    /// the writer is alone.
    fn commit(&mut self, write: WriteSet) -> Result<Vec<Armed>, StoreError>;
}

/// Runs one command in `transaction`. What follows once it is durable is added to `after`.
pub fn run(
    transaction: &mut impl Transaction,
    command: &Command,
    after: &mut AfterCommit,
) -> Result<Reply, StoreError> {
    machine::check(command)?;
    let mut loaded =
        Loaded { unconfirmed: transaction.unconfirmed(), ..Loaded::at(transaction.now()) };
    let reads = machine::reads(command);
    transaction.load(&reads, &mut loaded)?;
    loaded.has_read(&reads);
    for _ in 0..MAX_ROUNDS {
        match machine::apply(command, &loaded)? {
            Step::NeedMore(more) => {
                transaction.load(&more, &mut loaded)?;
                loaded.has_read(&more);
            }
            Step::Done(transition) => {
                return write(transaction, transition.items, after);
            }
        }
    }
    Err(too_many_rounds())
}

fn write(
    transaction: &mut impl Transaction,
    items: Vec<Item>,
    after: &mut AfterCommit,
) -> Result<Reply, StoreError> {
    let mut joined: Option<Reply> = None;
    for Item { write, reply } in items {
        if let Some(write) = write {
            after.add(&write);
            after.adds(transaction.commit(write)?);
        }
        joined = Some(match joined {
            Some(earlier) => earlier.join(reply),
            None => reply,
        });
    }
    joined.ok_or_else(too_many_rounds)
}

pub(crate) fn too_many_rounds() -> StoreError {
    StoreError::Corrupt("a command did not come to a decision".into())
}
