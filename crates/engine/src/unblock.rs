//! The unblock scanner: lets go who waits for a budget or a quota that has room, in case nobody did.
//!
//! Whatever makes room lets them go at once. A process that dies between the two leaves them to this.
//! What a budget or a quota cannot tell keeps them waiting.

use std::time::Duration;

use async_trait::async_trait;
use ff_store::{EngineBackend, Share, StoreError, outage};

use crate::scanner::{Scanned, Scanner};

/// Lets go who waits for nothing any more.
#[derive(Debug, Clone, Copy)]
pub struct UnblockScanner {
    /// How long it is from one look to the next.
    pub interval: Duration,
}

impl Default for UnblockScanner {
    fn default() -> Self {
        UnblockScanner { interval: Duration::from_secs(5) }
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
        share: &Share,
    ) -> Result<Scanned, StoreError> {
        let mut scanned = Scanned::default();
        for (namespace, on) in backend.blockers(share).await? {
            scanned.processed += 1;
            match backend.ease(&namespace, &on).await {
                Ok(freed) => scanned.changed += u64::from(freed > 0),
                Err(error) => {
                    outage::failed(
                        &error,
                        &format!("what waits for {on:?} in {namespace} waits on"),
                    );
                    scanned.errors += 1;
                }
            }
        }
        Ok(scanned)
    }
}
