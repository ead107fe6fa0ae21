//! Load and commit as two calls, with faults injected between them.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use ff_core::Partition;
use ff_core::machine::Loaded;
use ff_store::StoreError;
use ff_store::optimistic::{Ask, Commit, Optimistic, Write};

use crate::store::MemoryStore;

/// Injected faults, decided by a seed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// Decides every fault.
    pub seed: u64,
    /// How many of 100 commits get an injected conflict.
    pub conflict_percent: u8,
    /// How many of 100 commits yield to other tasks first.
    pub pause_percent: u8,
}

/// Rolls the dice of [`Faults`].
#[derive(Debug)]
pub(crate) struct Dice {
    faults: Faults,
    rng: Mutex<fastrand::Rng>,
}

impl Dice {
    pub(crate) fn new(faults: Faults) -> Dice {
        Dice { faults, rng: Mutex::new(fastrand::Rng::with_seed(faults.seed)) }
    }

    fn roll(&self, percent: u8) -> bool {
        self.rng.lock().unwrap_or_else(PoisonError::into_inner).u8(..100) < percent
    }
}

impl MemoryStore {
    /// Lets other tasks run, now and then.
    async fn pause(&self) {
        if self.dice().is_some_and(|dice| dice.roll(dice.faults.pause_percent)) {
            tokio::task::yield_now().await;
        }
    }

    /// Writes one decision, unless chance finds a conflict.
    fn commit_one(&self, write: Write) -> Commit {
        if self.dice().is_some_and(|dice| dice.roll(dice.faults.conflict_percent)) {
            return Commit::Conflict;
        }
        let mut tables = self.tables();
        if write.decided.is_stale(self.time().now) {
            return Commit::Stale;
        }
        if !tables.still_holds(&write.set) {
            return Commit::Conflict;
        }
        Commit::Written(tables.write(write.set))
    }
}

/// One partition of a store, in which commands load and commit.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    store: &'a MemoryStore,
    at: Partition,
}

impl MemoryStore {
    /// The partition `at`.
    pub fn part(&self, at: Partition) -> Part<'_> {
        Part { store: self, at }
    }
}

#[async_trait]
impl Optimistic for Part<'_> {
    async fn load(&self, asks: Vec<Ask>) -> Vec<Result<Loaded, StoreError>> {
        let mut answers = Vec::with_capacity(asks.len());
        for Ask { reads, earlier } in asks {
            // What commands of one load see is of several moments.
            if !answers.is_empty() {
                self.store.pause().await;
            }
            let tables = self.store.tables();
            let mut loaded = earlier.unwrap_or_else(|| {
                let time = self.store.time();
                Loaded { unconfirmed: time.unconfirmed(), ..Loaded::at(time.now) }
            });
            tables.load(self.at, &reads, &mut loaded);
            answers.push(Ok(loaded));
        }
        answers
    }

    async fn commit(&self, writes: Vec<Write>) -> Vec<Result<Commit, StoreError>> {
        let mut outcomes = Vec::with_capacity(writes.len());
        for write in writes {
            self.store.pause().await;
            outcomes.push(Ok(self.store.commit_one(write)));
        }
        outcomes
    }
}
