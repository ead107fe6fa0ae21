//! Which partitions this process acts on: its share among the live engine processes.
//!
//! All services of a process act on the same share: a service with a separate share would leave
//! partitions to processes that do not run it. The process sends a heartbeat every
//! [`ENGINE_BEAT`]; the share of a process that dies goes to the others within
//! [`ENGINE_TTL`](ff_store::partition_set::ENGINE_TTL), that of one that stops at once. Of a store with
//! one partition, one process has it and the others stand by. While the store does not answer, the
//! process keeps its share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ff_store::partition_set::ENGINE_BEAT;
use ff_store::{EngineBackend, EngineId, PartitionSet, outage};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The longest time a stopping process takes to deregister.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(1);

/// The share of one process.
pub(crate) struct PartitionOwnership {
    engine: EngineId,
    present: Mutex<(PartitionSet, Option<Instant>)>,
    /// A service sends the heartbeats; otherwise the reader of the share does.
    is_kept: AtomicBool,
    gained: Notify,
}

impl Default for PartitionOwnership {
    fn default() -> Self {
        PartitionOwnership {
            engine: EngineId::random(),
            present: Mutex::new((PartitionSet::All, None)),
            is_kept: AtomicBool::new(false),
            gained: Notify::new(),
        }
    }
}

impl PartitionOwnership {
    /// The current share.
    pub(crate) async fn present(&self, backend: &dyn EngineBackend) -> PartitionSet {
        let (share, last_beat) = self.known();
        let silent = last_beat.is_none_or(|at| at.elapsed() >= ENGINE_BEAT);
        if silent && !self.is_kept.load(Ordering::SeqCst) {
            self.beat(backend).await;
            return self.known().0;
        }
        share
    }

    /// Sends heartbeats until `shutdown`, and then deregisters.
    pub(crate) async fn run(&self, backend: &dyn EngineBackend, shutdown: CancellationToken) {
        self.is_kept.store(true, Ordering::SeqCst);
        loop {
            let beat = async {
                self.beat(backend).await;
                tokio::select! {
                    () = tokio::time::sleep(ENGINE_BEAT) => {}
                    () = backend.wakeups().engines_changed() => {}
                }
            };
            tokio::select! {
                () = beat => {}
                () = shutdown.cancelled() => break,
            }
        }
        match tokio::time::timeout(LEAVE_TIMEOUT, backend.leave(self.engine)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => outage::failed(&error, "cannot deregister this process"),
            Err(_) => tracing::warn!("could not deregister this process in time"),
        }
    }

    /// Whether the process has any partition now.
    pub(crate) fn has_any(&self) -> bool {
        !self.known().0.is_empty()
    }

    /// Waits until the process has a partition that it did not have before.
    pub(crate) async fn gained(&self) {
        self.gained.notified().await;
    }

    /// Sends a heartbeat, and learns the share.
    async fn beat(&self, backend: &dyn EngineBackend) {
        let partitions = backend.partitions();
        match backend.engine_heartbeat(self.engine).await {
            Ok(alive) => {
                let share = PartitionSet::of(self.engine, &alive, partitions);
                let (before, _) = self.known();
                let has_more = (0..partitions).any(|at| share.has(at) && !before.has(at));
                *self.lock() = (share, Some(Instant::now()));
                if has_more {
                    self.gained.notify_one();
                }
            }
            Err(error) => outage::failed(&error, "cannot send the heartbeat of this process"),
        }
    }

    fn known(&self) -> (PartitionSet, Option<Instant>) {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, (PartitionSet, Option<Instant>)> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
