//! Which due executions are not finished, according to the last read of timers.
//!
//! The tick of a finished execution is the function `retire`; any other takes the slow path, and need
//! not call that function first. This is a hint: a tick on the other path is answered as well.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ff_core::ExecutionId;

/// How many are remembered; with more, all are forgotten.
const MOST: usize = 10_000;

/// The executions.
#[derive(Debug, Default)]
pub(crate) struct Unfinished(Mutex<HashSet<ExecutionId>>);

impl Unfinished {
    /// Records that `id` was not finished when its timer was read.
    pub(crate) fn note(&self, id: ExecutionId) {
        let mut ids = self.ids();
        if ids.len() >= MOST {
            ids.clear();
        }
        ids.insert(id);
    }

    /// Removes `id`. Answers whether it was recorded.
    pub(crate) fn take(&self, id: ExecutionId) -> bool {
        self.ids().remove(&id)
    }

    fn ids(&self) -> MutexGuard<'_, HashSet<ExecutionId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
