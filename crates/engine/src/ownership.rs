//! Which partitions this process acts on: its share among the engine processes that are alive.
//!
//! All services of a process have one share between them: one with a share of its own would leave
//! partitions to services that do not do its work. The process says that it is alive every
//! [`ENGINE_BEAT`]; the share of a process that dies goes to the others within
//! [`ENGINE_TTL`](ff_store::partition_set::ENGINE_TTL), that of one that stops at once. While nobody can be
//! asked it keeps what it has.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ff_store::partition_set::ENGINE_BEAT;
use ff_store::{EngineBackend, EngineId, PartitionSet, outage};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long a process that stops takes to say so, at most.
const LEAVING: Duration = Duration::from_secs(1);

/// The share of one process.
pub(crate) struct PartitionOwnership {
    engine: EngineId,
    present: Mutex<(PartitionSet, Option<Instant>)>,
    /// A service says that the process is alive; otherwise whoever asks for the share does.
    is_kept: AtomicBool,
}

impl Default for PartitionOwnership {
    fn default() -> Self {
        let present = Mutex::new((PartitionSet::All, None));
        PartitionOwnership { engine: EngineId::random(), present, is_kept: AtomicBool::new(false) }
    }
}

impl PartitionOwnership {
    /// The share of now.
    pub(crate) async fn present(&self, backend: &dyn EngineBackend) -> PartitionSet {
        let (share, said) = self.known();
        let silent = said.is_none_or(|said| said.elapsed() >= ENGINE_BEAT);
        if silent && !self.is_kept.load(Ordering::SeqCst) {
            self.beat(backend).await;
            return self.known().0;
        }
        share
    }

    /// Says that the process is alive until `shutdown`, and then that it is gone.
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
        if backend.partitions() > 1 {
            match tokio::time::timeout(LEAVING, backend.leave(self.engine)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => outage::failed(&error, "cannot say that this process is gone"),
                Err(_) => tracing::warn!("could not say in time that this process is gone"),
            }
        }
    }

    /// Says that the process is alive, and learns its share.
    async fn beat(&self, backend: &dyn EngineBackend) {
        let partitions = backend.partitions();
        if partitions == 1 {
            return;
        }
        match backend.engine_heartbeat(self.engine).await {
            Ok(alive) => {
                let share = PartitionSet::of(self.engine, &alive, partitions);
                let (before, _) = self.known();
                let has_more = (0..partitions).any(|at| share.has(at) && !before.has(at));
                *self.lock() = (share, Some(Instant::now()));
                if has_more {
                    backend.wakeups().wake_timers();
                }
            }
            Err(error) => outage::failed(&error, "cannot say that this process is alive"),
        }
    }

    fn known(&self) -> (PartitionSet, Option<Instant>) {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, (PartitionSet, Option<Instant>)> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
