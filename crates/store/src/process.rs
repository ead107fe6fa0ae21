//! What one process owns besides its store: the calls it runs, and all their effects.
//!
//! A caller that is dropped, at whatever point, cancels nothing: what is left of its call is
//! moved to a task of the process. There the command runs to its end, what it stopped is settled,
//! and blocked executions are released.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use crate::admission::batcher::AdmissionBatcher;
use crate::admission::release::Releases;
use crate::admission::single_flight::ClaimCoalescer;
use crate::admission::starts::Starts;
use crate::claimers::Claimers;
use crate::continuations::Runners;
use crate::error::StoreError;
use crate::events::tail::Tails;
use crate::ring::signer::Signer;
use crate::store::Store;
use crate::warnings::Known;
use crate::webhooks::turns::Turns;

/// A store and what this process does on it.
pub(crate) struct Process {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) batcher: AdmissionBatcher,
    pub(crate) claims: ClaimCoalescer,
    pub(crate) releases: Releases,
    pub(crate) starts: Starts,
    pub(crate) runners: Runners,
    /// Who was seen to claim.
    pub(crate) claimers: Claimers,
    /// The budgets and quotas that were there a moment ago.
    pub(crate) known: Known,
    /// What it signs and verifies tokens with.
    pub(crate) signer: Signer,
    /// The readers of events.
    pub(crate) tails: Tails,
    /// The turns of webhooks that it has.
    pub(crate) turns: Turns,
    tasks: TaskTracker,
}

impl Process {
    pub(crate) fn new(store: Arc<dyn Store>) -> Process {
        Process {
            store,
            batcher: AdmissionBatcher::default(),
            claims: ClaimCoalescer::default(),
            releases: Releases::default(),
            starts: Starts::default(),
            runners: Runners::default(),
            claimers: Claimers::default(),
            known: Known::default(),
            signer: Signer::default(),
            tails: Tails::default(),
            turns: Turns::default(),
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

    /// The same with no task while the caller is there: it saves two switches. `work` must hold
    /// nothing that other calls wait for.
    pub(crate) fn call_here<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Call<T> {
        let work = Box::pin(self.tasks.track_future(work));
        Call { work: Some(work), runtime: Handle::try_current().ok() }
    }

    /// Starts `work` in a task of the process.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        self.tasks.spawn(work)
    }

    /// Runs `work` in a task of the process.
    pub(crate) fn own(&self, work: impl Future<Output = ()> + Send + 'static) {
        if Handle::try_current().is_ok() {
            self.tasks.spawn(work);
        }
    }

    /// Runs `work`, which sleeps for long, in a task that [`drain`](Self::drain) does not wait for.
    pub(crate) fn own_unwaited(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Ok(runtime) = Handle::try_current() {
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

/// A call in flight. Dropping it leaves the rest to a task.
pub(crate) struct Call<T: Send + 'static> {
    work: Option<Work<T>>,
    runtime: Option<Handle>,
}

type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl<T: Send + 'static> Future for Call<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        // What panics is not polled again.
        let Some(mut work) = self.work.take() else { return Poll::Pending };
        let polled = work.as_mut().poll(context);
        if polled.is_pending() {
            self.work = Some(work);
        }
        polled
    }
}

impl<T: Send + 'static> Drop for Call<T> {
    fn drop(&mut self) {
        if let (Some(work), Some(runtime)) = (self.work.take(), &self.runtime) {
            runtime.spawn(work);
        }
    }
}
