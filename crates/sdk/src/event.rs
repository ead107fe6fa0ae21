//! Events of a worker, for logs and hooks.

use std::sync::Arc;
use std::time::Duration;

use ff_core::Lane;
use ff_core::machine::Assignment;
use ff_store::StoreError;

/// Receives the events of a worker. It is called from the worker's tasks and must not block.
pub type EventHook = Arc<dyn Fn(WorkerEvent<'_>) + Send + Sync>;

/// What happened in a worker.
#[derive(Debug)]
#[non_exhaustive]
pub enum WorkerEvent<'a> {
    /// The backend has not accepted its registration. The worker works without it, and tries again.
    NotRegistered {
        /// Why.
        error: &'a StoreError,
    },
    /// A claim has failed. It is repeated with the same request id.
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

/// The default hook: it logs.
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
