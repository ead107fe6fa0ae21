//! One claimed execution and its lease.

use std::future::Future;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use ff_core::limits::Amounts;
use ff_core::machine::{
    Assignment, CancelHeld, Complete, Delay, Fail, LeaseRef, ReportProgress, ReportUsage,
};
use ff_core::record::{Exited, Progress};
use ff_core::state::Failure;
use ff_core::{Category, IdempotencyKey, NodeName, Payload, When};
use ff_store::retry::{Backoff, repeated};
use ff_store::{StoreError, WorkerBackend};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::dropped::{Dropped, Drops};
use crate::emit::Slot;
use crate::error::{SdkError, shorten};
use crate::heartbeat::Heartbeat;
use crate::lease::KeptLease;
use crate::limits::amounts_of;
use crate::shutdown::Shutdown;

/// How long a worker that must stop at once repeats a call.
const LAST_CALL_TIME: Duration = Duration::from_secs(2);

/// Why a holder should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// A client requested a cancel with a grace period; finishing is still possible.
    CancelRequested,
    /// The execution was cancelled; nothing it does counts any more.
    Cancelled,
    /// The lease has ended; nothing it does counts any more.
    LeaseLost,
    /// The attempt is past its timeout; nothing it does counts any more.
    TimedOut,
}

/// A claimed execution. Its lease is renewed until a terminal call is acknowledged. Dropping it
/// unfinished hands the work back and frees the permit; work that one worker drops again and again is
/// delayed longer each time, and then counts as a failed attempt.
///
/// A terminal call whose content is refused, a result over the limit for example, would be refused
/// again: the execution then fails for good, in the category that the refusal's code names, and
/// the caller gets the refusal.
pub struct ClaimedTask {
    assignment: Assignment,
    backend: Arc<dyn WorkerBackend>,
    lease: Arc<KeptLease>,
    heartbeat: Arc<Heartbeat>,
    drops: Arc<Drops>,
    shutdown: Shutdown,
    settled: bool,
    _permit: OwnedSemaphorePermit,
}

impl std::fmt::Debug for ClaimedTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClaimedTask")
            .field("execution", &self.assignment.execution)
            .field("fence", &self.assignment.fence)
            .finish_non_exhaustive()
    }
}

impl ClaimedTask {
    pub(crate) fn new(
        assignment: Assignment,
        backend: Arc<dyn WorkerBackend>,
        heartbeat: Arc<Heartbeat>,
        drops: Arc<Drops>,
        shutdown: Shutdown,
        permit: OwnedSemaphorePermit,
    ) -> ClaimedTask {
        let lease = Arc::new(KeptLease::new(&assignment));
        heartbeat.add(lease.clone());
        ClaimedTask {
            assignment,
            backend,
            lease,
            heartbeat,
            drops,
            shutdown,
            settled: false,
            _permit: permit,
        }
    }

    /// What was claimed: id, kind, tags, attempt, budgets, input.
    pub fn assignment(&self) -> &Assignment {
        &self.assignment
    }

    pub(crate) fn backend(&self) -> &Arc<dyn WorkerBackend> {
        &self.backend
    }

    /// What the task was submitted with.
    pub fn input(&self) -> &Payload {
        &self.assignment.input
    }

    /// The fenced reference by which the holder addresses the execution.
    pub fn hold(&self) -> LeaseRef {
        self.assignment.hold()
    }

    /// Is cancelled once the holder should stop; [`Self::stop_reason`] says why.
    pub fn stop(&self) -> CancellationToken {
        self.lease.stop.clone()
    }

    /// Why the holder should stop, if it should.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.lease.reason()
    }

    /// When the hold ends, if the execution is being cancelled.
    pub fn stop_by(&self) -> Option<Instant> {
        self.lease.stop_by()
    }

    /// What the backend answered to a renewal, if that is why the holder should stop.
    pub fn stop_error(&self) -> Option<StoreError> {
        self.lease.error()
    }

    /// Waits until the holder should stop.
    pub async fn stopped(&self) {
        self.lease.stop.cancelled().await;
    }

    /// Waits until nothing the holder does counts any more.
    pub async fn lost(&self) {
        self.lease.lost.cancelled().await;
    }

    /// Waits until a call of the handler has ended the hold.
    pub(crate) async fn parked(&self) {
        self.lease.parked.cancelled().await;
    }

    /// Whether nothing the holder does counts any more.
    pub fn is_lost(&self) -> bool {
        self.lease.lost.is_cancelled()
    }

    /// Adds to what the execution has used, and charges it to its budgets. Answers all that it has
    /// used. Usage is a fact: it counts also when it exceeds a limit.
    ///
    /// `key` is the holder's name for this usage, for as long as the execution lives: a report whose
    /// reply was lost is repeated under it and counts once. A later attempt that uses more needs
    /// another key; the same key with other amounts is refused. The newest
    /// [`USAGE_REPORTS`](ff_core::bounds::USAGE_REPORTS) keys are remembered.
    pub async fn report_usage(
        &self,
        key: &str,
        amounts: &[(&str, u64)],
    ) -> Result<Amounts, SdkError> {
        self.reporter().report_usage(key, amounts).await
    }

    /// Takes back from what was reported, at most all of it, under a separate key. Answers what is
    /// left.
    pub async fn release_usage(
        &self,
        key: &str,
        amounts: &[(&str, u64)],
    ) -> Result<Amounts, SdkError> {
        self.reporter().release_usage(key, amounts).await
    }

    /// A handle that reports progress and usage while the task is elsewhere.
    pub fn reporter(&self) -> Reporter {
        Reporter {
            backend: self.backend.clone(),
            lease: self.lease.clone(),
            shutdown: self.shutdown.clone(),
        }
    }

    /// Ends the execution with a result of at most
    /// [`PAYLOAD_BYTES`](ff_core::bounds::PAYLOAD_BYTES).
    pub async fn complete(mut self, result: Payload) -> Result<Exited, SdkError> {
        if let Err(refusal) = result.check("result") {
            return Err(self.fail_refused(refusal.into()).await);
        }
        let complete = Complete { hold: self.hold(), result };
        let backend = self.backend.clone();
        self.finish(|| {
            let (backend, complete) = (backend.clone(), complete.clone());
            async move {
                let answers = backend.complete(vec![complete]).await?;
                answers.into_iter().next().unwrap_or_else(|| Err(no_answer()))
            }
        })
        .await
    }

    /// Ends the attempt by a failure. A message that is too long is cut.
    pub async fn fail(mut self, mut failure: Failure) -> Result<Exited, SdkError> {
        failure.message = shorten(failure.message.into()).into();
        let fail = Fail { hold: self.hold(), failure };
        let backend = self.backend.clone();
        self.finish(|| {
            let (backend, fail) = (backend.clone(), fail.clone());
            async move { backend.fail(fail).await }
        })
        .await
    }

    /// Delays the execution; the same attempt continues then.
    pub async fn delay_execution(mut self, until: When) -> Result<Exited, SdkError> {
        let delay = Delay { hold: self.hold(), until, step: None };
        let backend = self.backend.clone();
        self.finish(|| {
            let (backend, delay) = (backend.clone(), delay.clone());
            async move { backend.delay(delay).await }
        })
        .await
    }

    /// Cancels the execution. A reason that is too long is cut.
    pub async fn cancel(mut self, reason: Option<String>) -> Result<Exited, SdkError> {
        let reason = reason.map(|reason| shorten(reason).into());
        let cancel = CancelHeld { hold: self.hold(), reason };
        let backend = self.backend.clone();
        self.finish(|| {
            let (backend, cancel) = (backend.clone(), cancel.clone());
            async move { backend.cancel_held(cancel).await }
        })
        .await
    }

    /// Returns the execution to its place in the queue, without spending a retry.
    pub async fn hand_back(mut self) -> Result<Exited, SdkError> {
        let hold = self.hold();
        let backend = self.backend.clone();
        self.finish(|| hand_back(backend.clone(), hold.clone())).await
    }

    /// Makes a terminal call until it is acknowledged, refused, or the lease has surely ended, or the
    /// worker must stop at once. The lease is renewed meanwhile.
    async fn finish<T, F>(&mut self, call: impl Fn() -> F) -> Result<T, SdkError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        self.finish_unless(call, |_| false).await
    }

    /// The same with a call whose answer may leave the task its lease.
    pub(crate) async fn finish_unless<T, F>(
        &mut self,
        call: impl Fn() -> F,
        is_kept: impl Fn(&T) -> bool,
    ) -> Result<T, SdkError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        // The fence that frames need ends with the hold.
        self.reporter().flush_last().await;
        let error = match repeat_while_held(&self.lease, &self.shutdown, call).await {
            Ok(answer) => {
                self.settled = !is_kept(&answer);
                return Ok(answer);
            }
            Err(error) => error,
        };
        if error.refused().is_none() {
            return Err(error.into());
        }
        let error = SdkError::from(error);
        if error.ends_hold() {
            // There is nothing left to hand back.
            self.settled = true;
            return Err(error);
        }
        Err(self.fail_refused(error).await)
    }

    /// Fails the execution for good because the call would be refused with `refused` again, also
    /// for a later attempt. Answers `refused`, or why the failure was not accepted either.
    pub(crate) async fn fail_refused(&mut self, refused: SdkError) -> SdkError {
        let category = Category::new(refused.code()).unwrap_or_else(|_| Category::error());
        let message = shorten(format!("the end of the task was refused: {refused}"));
        let failure = Failure { category, retryable: false, message: message.into() };
        let fail = Fail { hold: self.hold(), failure };
        let call = || self.backend.fail(fail.clone());
        let failed = repeat_while_held(&self.lease, &self.shutdown, call).await;
        // Whatever the outcome, handing it back would only run it again.
        self.settled = true;
        let execution = self.assignment.execution;
        match failed {
            Ok(_) => {
                tracing::warn!(%execution, error = %refused, "a task has failed for good");
                refused
            }
            Err(error) => {
                tracing::warn!(%execution, %error, "a refused task was not failed");
                error.into()
            }
        }
    }
}

impl Drop for ClaimedTask {
    fn drop(&mut self) {
        self.heartbeat.remove(&self.lease);
        // It holds the lease, and the lease holds it.
        *self.reporter().slot() = Slot::Ended;
        let execution = self.assignment.execution;
        if self.settled || self.lease.parked.is_cancelled() {
            self.drops.forget(execution);
            return;
        }
        if self.is_lost() {
            return;
        }
        let (hold, dropped) = (self.hold(), self.drops.count(execution));
        self.heartbeat.call(|backend| async move {
            if let Err(error) = release(backend, hold, dropped).await {
                tracing::debug!(%execution, %error, "a dropped task waits until its lease ends");
            }
        });
    }
}

/// Ends the hold of a dropped task.
async fn release(
    backend: Arc<dyn WorkerBackend>,
    hold: LeaseRef,
    dropped: Dropped,
) -> Result<Exited, StoreError> {
    match dropped {
        Dropped::HandBack => hand_back(backend, hold).await,
        Dropped::Delay(pause) => {
            backend.delay(Delay { hold, until: When::After(pause), step: None }).await
        }
        Dropped::Fail(times) => {
            let category = Category::new("dropped").unwrap_or_else(|_| Category::error());
            let message = format!("its worker dropped it unfinished {times} times");
            let failure = Failure { category, retryable: true, message: message.into() };
            backend.fail(Fail { hold, failure }).await
        }
    }
}

/// Reports what a holder is doing and using.
#[derive(Clone)]
pub struct Reporter {
    backend: Arc<dyn WorkerBackend>,
    lease: Arc<KeptLease>,
    shutdown: Shutdown,
}

impl Reporter {
    pub(crate) fn backend(&self) -> &Arc<dyn WorkerBackend> {
        &self.backend
    }

    /// The fenced reference by which the holder addresses the execution.
    pub(crate) fn hold(&self) -> LeaseRef {
        self.lease.hold.clone()
    }

    /// Makes a call until it is answered, refused, or the lease has surely ended.
    pub(crate) async fn repeat<T, F>(&self, call: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        repeat_while_held(&self.lease, &self.shutdown, call).await
    }

    /// The place of what sends the frames of the task.
    pub(crate) fn slot(&self) -> MutexGuard<'_, Slot> {
        self.lease.emitter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a call of the handler has ended the hold.
    pub(crate) fn parked(&self) {
        self.lease.parked.cancel();
    }

    /// Notes that a call was refused because the hold has ended, or was not answered while it lasted.
    pub(crate) fn lost(&self, error: StoreError) {
        self.lease.record(Instant::now(), Err(error));
    }

    /// Why the holder should stop, if it should.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.lease.reason()
    }

    /// Reports how far the task is.
    pub async fn progress(
        &self,
        percent: Option<u8>,
        message: Option<&str>,
    ) -> Result<(), SdkError> {
        let progress = Progress { percent, message: message.map(Into::into) };
        let report = ReportProgress { hold: self.lease.hold.clone(), progress };
        Ok(self.backend.progress(report).await?)
    }

    /// See [`ClaimedTask::report_usage`].
    pub async fn report_usage(
        &self,
        key: &str,
        amounts: &[(&str, u64)],
    ) -> Result<Amounts, SdkError> {
        self.usage(key, amounts, false).await
    }

    /// See [`ClaimedTask::release_usage`].
    pub async fn release_usage(
        &self,
        key: &str,
        amounts: &[(&str, u64)],
    ) -> Result<Amounts, SdkError> {
        self.usage(key, amounts, true).await
    }

    /// The result of a node that the execution depends on.
    pub(crate) async fn upstream(&self, node: &NodeName) -> Result<Payload, SdkError> {
        let target = self.lease.hold.target.clone();
        Ok(self.repeat(|| self.backend.upstream(&target, node)).await?)
    }

    async fn usage(
        &self,
        key: &str,
        amounts: &[(&str, u64)],
        release: bool,
    ) -> Result<Amounts, SdkError> {
        let (hold, key) = (self.lease.hold.clone(), IdempotencyKey::new(key)?);
        let report = ReportUsage { hold, key, amounts: amounts_of(amounts)?, release };
        let call = || {
            let report = report.clone();
            async move { self.backend.report_usage(report).await }
        };
        Ok(self.repeat(call).await?)
    }
}

/// Makes a call until it is answered, refused, or the lease has surely ended; only for a short time
/// when the worker must stop at once.
async fn repeat_while_held<T, F>(
    lease: &KeptLease,
    shutdown: &Shutdown,
    call: impl Fn() -> F,
) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let since = Instant::now();
    let again = |error: &StoreError, _| {
        let out_of_time = shutdown.is_now() && since.elapsed() > LAST_CALL_TIME;
        let again = error.is_retryable() && Instant::now() < lease.ends() && !out_of_time;
        if again {
            tracing::warn!(execution = %lease.hold.target.execution, %error, "a call is repeated");
        }
        again
    };
    let backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(1));
    repeated(backoff, again, |_| call()).await
}

async fn hand_back(backend: Arc<dyn WorkerBackend>, hold: LeaseRef) -> Result<Exited, StoreError> {
    let answers = backend.hand_back(vec![hold]).await?;
    answers.into_iter().next().unwrap_or_else(|| Err(no_answer()))
}

fn no_answer() -> StoreError {
    StoreError::Corrupt("a command was not answered".into())
}
