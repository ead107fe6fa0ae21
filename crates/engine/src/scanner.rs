//! Scanners: periodic passes over a store, as a safety net for lost wake-ups.
//!
//! A scanner is bounded: each cycle examines a limited amount, and the next one continues there. An error
//! affects only its item; nothing is ever decided from an error.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ff_store::{EngineBackend, PartitionSet, StoreError, outage};
use tokio_util::sync::CancellationToken;

use crate::metrics;
use crate::ownership::PartitionOwnership;

/// A periodic pass over a store.
#[async_trait]
pub trait Scanner: Send + Sync + 'static {
    /// The name in logs and metrics.
    fn name(&self) -> &'static str;

    /// The time between two cycles.
    fn interval(&self) -> Duration;

    /// Runs one cycle over a share of the store.
    async fn scan(
        &self,
        backend: &dyn EngineBackend,
        share: &PartitionSet,
    ) -> Result<Scanned, StoreError>;
}

/// What one cycle did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scanned {
    /// How many items were examined.
    pub processed: u64,
    /// How many of them were changed.
    pub changed: u64,
    /// How many failed; a later cycle examines them again.
    pub errors: u64,
}

/// A scanner of one process. Of several on one store, each scans its share of the partitions.
pub struct Scanning<S> {
    scanner: S,
    backend: Arc<dyn EngineBackend>,
    shares: Arc<PartitionOwnership>,
}

impl<S: Scanner> Scanning<S> {
    /// `scanner` over `backend`.
    pub fn new(scanner: S, backend: Arc<dyn EngineBackend>) -> Scanning<S> {
        Scanning { scanner, backend, shares: Arc::default() }
    }

    /// Acts on the share that other services of the process act on.
    pub(crate) fn sharing(self, shares: Arc<PartitionOwnership>) -> Scanning<S> {
        Scanning { shares, ..self }
    }

    /// Runs until `shutdown`. Errors of the store are logged and tried again.
    pub async fn run(&self, shutdown: CancellationToken) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(self.scanner.interval()) => {}
                () = shutdown.cancelled() => return,
            }
            let name = self.scanner.name();
            match self.run_once().await {
                Ok(Scanned { errors: 0, .. }) => {}
                // Each failure was logged where it happened.
                Ok(scanned) => tracing::debug!(scanner = name, ?scanned, "some items failed"),
                Err(error) => outage::failed(&error, &format!("cannot scan ({name})")),
            }
        }
    }

    /// Runs one cycle.
    pub async fn run_once(&self) -> Result<Scanned, StoreError> {
        let began = Instant::now();
        let share = self.shares.present(&*self.backend).await;
        let scanned = self.scanner.scan(&*self.backend, &share).await;
        metrics::cycle(self.scanner.name(), scanned.as_ref().ok().copied(), began.elapsed());
        scanned
    }
}
