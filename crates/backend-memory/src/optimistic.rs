//! Load and commit as two calls, with faults injected between them.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use ff_core::machine::{Loaded, ReadSet, WriteSet};
use ff_store::StoreError;
use ff_store::optimistic::{Commit, Decided, Optimistic};

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

#[async_trait]
impl Optimistic for MemoryStore {
    async fn load(
        &self,
        reads: &ReadSet,
        loaded: &mut Loaded,
        first: bool,
    ) -> Result<(), StoreError> {
        let tables = self.tables();
        if first {
            let time = self.time();
            (loaded.now, loaded.unconfirmed) = (time.now, time.unconfirmed());
        }
        tables.load(reads, loaded);
        Ok(())
    }

    async fn commit(&self, write: WriteSet, decided: Decided) -> Result<Commit, StoreError> {
        if let Some(dice) = self.dice() {
            if dice.roll(dice.faults.pause_percent) {
                tokio::task::yield_now().await;
            }
            if dice.roll(dice.faults.conflict_percent) {
                return Ok(Commit::Conflict);
            }
        }
        let mut tables = self.tables();
        if decided.is_stale(self.time().now) {
            return Ok(Commit::Stale);
        }
        if !tables.still_holds(&write) {
            return Ok(Commit::Conflict);
        }
        tables.write(write);
        Ok(Commit::Written)
    }
}
