//! What a handler can read about its task, and report.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ff_core::limits::Amounts;
use ff_core::machine::Assignment;
use ff_core::record::Progress;
use ff_core::{ExecutionId, Fence, Payload};
use tokio_util::sync::CancellationToken;

use crate::error::SdkError;
use crate::journal::{Keeper, TaskJournal};
use crate::task::{ClaimedTask, Reporter, StopReason};
use crate::task_error::TaskError;
use crate::testing::Recorder;

/// Values shared by all handlers of a runtime, one per type.
pub(crate) type Shared = HashMap<TypeId, Arc<dyn Any + Send + Sync>>;

/// A handler's view of its task. Cheap to clone.
#[derive(Clone)]
pub struct TaskContext {
    assignment: Arc<Assignment>,
    pub(crate) reports: Reports,
    journal: Arc<TaskJournal>,
    stop: CancellationToken,
    shared: Arc<Shared>,
}

/// Where reports of a handler go.
#[derive(Clone)]
pub(crate) enum Reports {
    /// To the engine.
    Sent(Reporter),
    /// To a test, which reads them.
    Recorded(Arc<Recorder>),
}

impl TaskContext {
    pub(crate) fn new(task: &ClaimedTask, shared: Arc<Shared>) -> TaskContext {
        let (assignment, reporter) = (Arc::new(task.assignment().clone()), task.reporter());
        let journal = TaskJournal::new(assignment.clone(), Keeper::Engine(reporter.clone()));
        TaskContext {
            assignment,
            reports: Reports::Sent(reporter),
            journal: Arc::new(journal),
            stop: task.stop(),
            shared,
        }
    }

    /// The view of a test task, which no engine knows.
    pub(crate) fn recorded(
        assignment: Assignment,
        recorder: Arc<Recorder>,
        stop: CancellationToken,
        shared: Arc<Shared>,
    ) -> TaskContext {
        let assignment = Arc::new(assignment);
        let journal = TaskJournal::new(assignment.clone(), Keeper::Test(recorder.clone()));
        let (reports, journal) = (Reports::Recorded(recorder), Arc::new(journal));
        TaskContext { assignment, reports, journal, stop, shared }
    }

    pub(crate) fn assignment(&self) -> &Assignment {
        &self.assignment
    }

    pub(crate) fn journal(&self) -> &TaskJournal {
        &self.journal
    }

    /// The execution's id.
    pub fn execution(&self) -> ExecutionId {
        self.assignment.execution
    }

    /// What kind of work it is.
    pub fn kind(&self) -> &str {
        self.assignment.kind.as_str()
    }

    /// The tenant.
    pub fn namespace(&self) -> &str {
        self.assignment.namespace.as_str()
    }

    /// The queue it came from.
    pub fn lane(&self) -> &str {
        self.assignment.lane.as_str()
    }

    /// Its labels, in the order of their keys.
    pub fn tags(&self) -> impl Iterator<Item = (&str, &str)> {
        self.assignment.tags.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// One of its labels.
    pub fn tag(&self, key: &str) -> Option<&str> {
        self.assignment.tags.get(key).map(|value| value.as_str())
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

    /// The budgets that its usage is charged to, in the order of their names.
    pub fn budgets(&self) -> impl Iterator<Item = &str> {
        self.assignment.budgets.iter().map(|name| name.as_str())
    }

    /// What it had used when it was claimed, over its whole life, by dimension.
    pub fn used(&self) -> BTreeMap<String, u64> {
        by_name(&self.assignment.used)
    }

    /// What an earlier hold of this attempt last reported, if one did: an attempt that was delayed or
    /// handed back can continue from there.
    pub fn last_progress(&self) -> Option<&Progress> {
        self.assignment.progress.as_ref()
    }

    /// The run: 0 unless it was replayed.
    pub fn run(&self) -> u32 {
        self.assignment.run
    }

    /// The lease. Give its id to other systems that must distinguish two holders.
    pub fn fence(&self) -> Fence {
        self.assignment.fence
    }

    /// What it was submitted with.
    pub fn input(&self) -> &Payload {
        &self.assignment.input
    }

    /// Is cancelled once the handler should stop: on a cancel, a lost lease or the attempt's timeout.
    pub fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Why the handler should stop, if it should.
    pub fn stop_reason(&self) -> Option<StopReason> {
        match &self.reports {
            Reports::Sent(reporter) => reporter.stop_reason(),
            Reports::Recorded(_) => self.stop.is_cancelled().then_some(StopReason::CancelRequested),
        }
    }

    /// Reports how far the task is.
    pub async fn progress(&self, percent: u8, message: &str) -> Result<(), SdkError> {
        match &self.reports {
            Reports::Sent(reporter) => reporter.progress(Some(percent), Some(message)).await,
            Reports::Recorded(recorder) => recorder.progress(percent, message),
        }
    }

    /// Adds to what the task has used, and charges it to its budgets. Answers all that it has used, by
    /// dimension. `key` names this usage, so that it counts once however often it is reported: see
    /// [`ClaimedTask::report_usage`].
    pub async fn report_usage(
        &self,
        key: &str,
        amounts: &[(&str, u64)],
    ) -> Result<BTreeMap<String, u64>, SdkError> {
        let used = match &self.reports {
            Reports::Sent(reporter) => reporter.report_usage(key, amounts).await?,
            Reports::Recorded(recorder) => recorder.report_usage(key, amounts)?,
        };
        Ok(by_name(&used))
    }

    /// Takes back from what was reported, at most all of it, under a separate key. Answers what is
    /// left, by dimension.
    pub async fn release_usage(
        &self,
        key: &str,
        amounts: &[(&str, u64)],
    ) -> Result<BTreeMap<String, u64>, SdkError> {
        let used = match &self.reports {
            Reports::Sent(reporter) => reporter.release_usage(key, amounts).await?,
            Reports::Recorded(recorder) => recorder.release_usage(key, amounts)?,
        };
        Ok(by_name(&used))
    }

    /// A value registered with [`WorkerRuntime::state`](crate::WorkerRuntime::state). For a handler
    /// that takes [`State`](crate::State) instead, a missing value is an error before the worker
    /// starts.
    pub fn state<T: Send + Sync + 'static>(&self) -> Result<Arc<T>, TaskError> {
        let value = self.shared.get(&TypeId::of::<T>()).cloned();
        value.and_then(|value| value.downcast().ok()).ok_or_else(|| {
            TaskError::permanent(format!(
                "the runtime has no state of type {}",
                std::any::type_name::<T>()
            ))
        })
    }
}

impl std::fmt::Debug for TaskContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskContext")
            .field("execution", &self.assignment.execution)
            .field("kind", &self.assignment.kind)
            .field("fence", &self.assignment.fence)
            .finish_non_exhaustive()
    }
}

fn by_name(amounts: &Amounts) -> BTreeMap<String, u64> {
    amounts.iter().map(|(dimension, amount)| (dimension.to_string(), *amount)).collect()
}
