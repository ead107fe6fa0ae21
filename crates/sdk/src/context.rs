//! What a handler knows of its task.

use std::any::{Any, TypeId};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use ff_core::control::Amounts;
use ff_core::machine::Assignment;
use ff_core::record::{Progress, Tags};
use ff_core::{ExecutionId, Fence, Kind, Lane, Payload, ResourceName};
use tokio_util::sync::CancellationToken;

use crate::error::{SdkError, TaskError};
use crate::task::{ClaimedTask, Reporter, StopReason};

/// Values shared by all handlers of a runtime, one per type.
pub(crate) type Shared = HashMap<TypeId, Arc<dyn Any + Send + Sync>>;

/// A handler's view of its task. Cheap to clone.
#[derive(Clone)]
pub struct TaskContext {
    assignment: Arc<Assignment>,
    reporter: Reporter,
    stop: CancellationToken,
    shared: Arc<Shared>,
}

impl TaskContext {
    pub(crate) fn new(task: &ClaimedTask, shared: Arc<Shared>) -> TaskContext {
        TaskContext {
            assignment: Arc::new(task.assignment().clone()),
            reporter: task.reporter(),
            stop: task.stop(),
            shared,
        }
    }

    /// The execution's id.
    pub fn execution(&self) -> ExecutionId {
        self.assignment.execution
    }

    /// What sort of work it is.
    pub fn kind(&self) -> &Kind {
        &self.assignment.kind
    }

    /// The queue it came from.
    pub fn lane(&self) -> &Lane {
        &self.assignment.lane
    }

    /// Its labels.
    pub fn tags(&self) -> &Tags {
        &self.assignment.tags
    }

    /// The attempt: 0 for the first try.
    pub fn attempt(&self) -> u32 {
        self.assignment.fence.attempt
    }

    /// Whether a failure of this attempt ends the run: there is no further try.
    pub fn is_last_attempt(&self) -> bool {
        self.assignment.is_last_attempt()
    }

    /// How many attempts of a run may end by failure; the last one ends the run.
    pub fn max_attempts(&self) -> u32 {
        self.assignment.max_attempts
    }

    /// Higher goes first.
    pub fn priority(&self) -> i16 {
        self.assignment.priority
    }

    /// The budgets that its usage is charged to.
    pub fn budgets(&self) -> &BTreeSet<ResourceName> {
        &self.assignment.budgets
    }

    /// What it had used when it was claimed, over its whole life.
    pub fn used(&self) -> &Amounts {
        &self.assignment.used
    }

    /// What an earlier hold of this attempt last reported, if one did: an attempt that was delayed or
    /// handed back can go on from there.
    pub fn last_progress(&self) -> Option<&Progress> {
        self.assignment.progress.as_ref()
    }

    /// The run: 0 unless it was replayed.
    pub fn run(&self) -> u32 {
        self.assignment.run
    }

    /// The lease. Give its id to other systems that must tell two holders apart.
    pub fn fence(&self) -> Fence {
        self.assignment.fence
    }

    /// What it was submitted with.
    pub fn input(&self) -> &Payload {
        &self.assignment.input
    }

    /// Is cancelled once the handler should stop: on a cancel or a lost lease.
    pub fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Why the handler should stop, if it should.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.reporter.stop_reason()
    }

    /// Says how far the task is.
    pub async fn progress(&self, percent: u8, message: &str) -> Result<(), SdkError> {
        self.reporter.progress(Some(percent), Some(message)).await
    }

    /// Adds to what the task has used, and charges it to its budgets. Answers all that it has used.
    /// `key` names this usage, so that it counts once however often it is told: see
    /// [`ClaimedTask::report_usage`].
    pub async fn report_usage(
        &self,
        key: &str,
        amounts: &[(&str, u64)],
    ) -> Result<Amounts, SdkError> {
        self.reporter.report_usage(key, amounts).await
    }

    /// Takes back from what was reported, at most all of it, under a key of its own. Answers what is
    /// left.
    pub async fn release_usage(
        &self,
        key: &str,
        amounts: &[(&str, u64)],
    ) -> Result<Amounts, SdkError> {
        self.reporter.release_usage(key, amounts).await
    }

    /// A value the runtime was given with [`WorkerRuntime::state`](crate::WorkerRuntime::state).
    pub fn state<T: Send + Sync + 'static>(&self) -> Result<Arc<T>, TaskError> {
        let value = self.shared.get(&TypeId::of::<T>()).cloned();
        value.and_then(|value| value.downcast().ok()).ok_or_else(|| {
            TaskError::permanent(format!("the runtime was given no {}", std::any::type_name::<T>()))
        })
    }
}
