//! What one process owns beside its store: the calls it runs, and everything that follows from them.
//!
//! Every call of a role runs in a task of the process. A caller that goes away, at whatever point,
//! takes nothing with it: the command comes to its end, what it stopped is settled, and blocked
//! executions are released.

use std::future::Future;
use std::sync::Arc;

use tokio_util::task::TaskTracker;

use crate::admission::batcher::AdmissionBatcher;
use crate::admission::release::Releases;
use crate::admission::single_flight::ClaimCoalescer;
use crate::claimers::Claimers;
use crate::error::StoreError;
use crate::warnings::Known;

/// A store and what this process does on it.
#[derive(Debug)]
pub(crate) struct Process<S> {
    pub(crate) store: Arc<S>,
    pub(crate) batcher: AdmissionBatcher,
    pub(crate) claims: ClaimCoalescer,
    pub(crate) releases: Releases,
    /// Who was seen to claim.
    pub(crate) claimers: Claimers,
    /// The budgets and quotas that were there a moment ago.
    pub(crate) known: Known,
    tasks: TaskTracker,
}

impl<S> Process<S> {
    pub(crate) fn new(store: Arc<S>) -> Process<S> {
        Process {
            store,
            batcher: AdmissionBatcher::default(),
            claims: ClaimCoalescer::default(),
            releases: Releases::default(),
            claimers: Claimers::default(),
            known: Known::default(),
            tasks: TaskTracker::new(),
        }
    }

    /// Runs `work` in a task of the process and answers what it answers, if the caller is still
    /// there.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        match self.tasks.spawn(work).await {
            Ok(answer) => answer,
            Err(gone) if gone.is_panic() => std::panic::resume_unwind(gone.into_panic()),
            Err(_) => Err(StoreError::Unavailable("the process is shutting down".into())),
        }
    }

    /// Runs `work` in a task of the process.
    pub(crate) fn own(&self, work: impl Future<Output = ()> + Send + 'static) {
        if tokio::runtime::Handle::try_current().is_ok() {
            self.tasks.spawn(work);
        }
    }

    /// Runs `work`, which sleeps for long, in a task that [`drain`](Self::drain) does not wait for.
    pub(crate) fn own_unwaited(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(work);
        }
    }

    /// Waits until every call has come to its end, and what follows from it. Calls that come
    /// meanwhile are waited for too.
    pub(crate) async fn drain(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.tasks.reopen();
    }
}
