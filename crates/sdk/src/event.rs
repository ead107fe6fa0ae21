//! What a worker tells of itself while it works.

use std::sync::Arc;
use std::time::Duration;

use ff_core::Lane;
use ff_core::machine::Assignment;
use ff_store::StoreError;

/// Hears of a worker. It is called from the worker's own tasks and must not block.
pub type EventHook = Arc<dyn Fn(WorkerEvent<'_>) + Send + Sync>;

/// What happened in a worker.
#[derive(Debug)]
#[non_exhaustive]
pub enum WorkerEvent<'a> {
    /// The backend has not taken its registration. The worker works without, and tries again.
    NotRegistered {
        /// Why.
        error: &'a StoreError,
    },
    /// A claim has failed. It is repeated, under the same name.
    ClaimFailed {
        /// From which queue.
        lane: &'a Lane,
        /// Why.
        error: &'a StoreError,
        /// How long the worker pauses first.
        pause: Duration,
    },
    /// A task was claimed, and begins.
    Claimed(&'a Assignment),
}

/// The hook of a worker that was given none: it logs.
pub(crate) fn log(event: WorkerEvent<'_>) {
    match event {
        WorkerEvent::NotRegistered { error } => {
            tracing::warn!(%error, "the worker is not registered; trying again");
        }
        WorkerEvent::ClaimFailed { lane, error, .. } => {
            tracing::warn!(%lane, %error, "cannot claim; trying again");
        }
        WorkerEvent::Claimed(assignment) => {
            let Assignment { execution, kind, .. } = assignment;
            tracing::debug!(%execution, %kind, "claimed");
        }
    }
}
