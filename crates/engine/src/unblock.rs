//! The unblock scanner: a safety net that releases blocked executions whose budget or quota has
//! capacity, in case the process that freed it died first. If a limit cannot be read, they stay
//! blocked.
//!
//! Each cycle examines a bounded number of limits and continues where the last one ended, so that all
//! are reached, whatever happens to those before them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use ff_core::Namespace;
use ff_core::limits::Blocker;
use ff_store::{EngineBackend, PartitionSet, StoreError, outage};

use crate::scanner::{Scanned, Scanner};

/// How many limits one cycle examines.
pub const LIMITS_PER_CYCLE: usize = 100;

/// Releases executions whose limit has capacity.
#[derive(Debug)]
pub struct UnblockScanner {
    /// The time between two cycles.
    pub interval: Duration,
    /// Where the next cycle continues.
    cursor: Mutex<Option<(Namespace, Blocker)>>,
}

impl UnblockScanner {
    /// A scanner with this time between two cycles.
    pub fn every(interval: Duration) -> UnblockScanner {
        UnblockScanner { interval, cursor: Mutex::default() }
    }

    fn cursor(&self) -> Option<(Namespace, Blocker)> {
        self.cursor.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn continue_after(&self, last: Option<(Namespace, Blocker)>) {
        *self.cursor.lock().unwrap_or_else(PoisonError::into_inner) = last;
    }
}

impl Default for UnblockScanner {
    fn default() -> Self {
        UnblockScanner::every(Duration::from_secs(5))
    }
}

#[async_trait]
impl Scanner for UnblockScanner {
    fn name(&self) -> &'static str {
        "unblock"
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    async fn scan(
        &self,
        backend: &dyn EngineBackend,
        share: &PartitionSet,
    ) -> Result<Scanned, StoreError> {
        let mut scanned = Scanned::default();
        let after = self.cursor();
        let limits = backend.blockers(share, after.as_ref(), LIMITS_PER_CYCLE).await?;
        // A short page is the last one: the next cycle begins at the start.
        self.continue_after(limits.last().cloned().filter(|_| limits.len() == LIMITS_PER_CYCLE));
        for (namespace, on) in limits {
            scanned.processed += 1;
            match backend.release(&namespace, &on).await {
                Ok(released) => scanned.changed += u64::from(released > 0),
                Err(error) => {
                    let (kind, limit) = (on.kind.as_str(), &on.name);
                    let what = format!("executions stay blocked on {kind} {limit} of {namespace}");
                    outage::failed(&error, &what);
                    scanned.errors += 1;
                }
            }
        }
        Ok(scanned)
    }
}
