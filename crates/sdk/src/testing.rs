//! Calls handlers with test tasks: no engine, no worker, no store.
//!
//! A test task is checked like a real one: a report with a wrong percentage or name is refused.

use std::any::TypeId;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use ff_core::journal;
use ff_core::limits::Amounts;
use ff_core::machine::Assignment;
use ff_core::record::{Progress, Tags};
use ff_core::{
    Fence, IdempotencyKey, Kind, Lane, LeaseId, Millis, Namespace, Partition, Payload, Refusal,
    StepName, TagKey, TagValue, Time,
};
use ff_store::mint;
use tokio_util::sync::CancellationToken;

use crate::context::{Shared, TaskContext};
use crate::error::SdkError;
use crate::handler::Handler;
use crate::limits::amounts_of;
use crate::payload::{FromPayload, ToPayload};
use crate::task_error::TaskError;
use crate::waits::TaskSignal;

/// A task made for a test, which records what its handler reports.
///
/// ```
/// use ff_sdk::{TaskContext, TaskError, TestTask};
///
/// async fn greet(task: TaskContext, name: String) -> Result<String, TaskError> {
///     task.progress(50, "thinking").await?;
///     Ok(format!("hello, {name}"))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let task = TestTask::new();
/// assert_eq!(task.run::<String, _>(greet, "world").await.unwrap(), "hello, world");
/// assert_eq!(task.progress(), [(50, "thinking".to_owned())]);
/// # }
/// ```
pub struct TestTask {
    assignment: Assignment,
    shared: Shared,
    stop: CancellationToken,
    recorder: Arc<Recorder>,
}

impl TestTask {
    /// The first attempt of three, of kind `task` in lane `default`.
    pub fn new() -> TestTask {
        let now = Time::from_ms(1_700_000_000_000);
        let lease_ttl = Millis::from_secs(30);
        let assignment = Assignment {
            execution: mint::execution_id(Partition::ONLY),
            namespace: Namespace::default(),
            lane: Lane::default(),
            kind: Kind::default(),
            tags: Tags::new(),
            fence: Fence { lease: LeaseId::new(mint::request_id(), 0, 0), epoch: 1, attempt: 0 },
            run: 0,
            created: now,
            claimed_at: now,
            until: now + lease_ttl,
            lease_ttl,
            timeout_at: None,
            priority: 0,
            failures: 0,
            max_attempts: 3,
            budgets: Default::default(),
            used: Amounts::new(),
            progress: None,
            steps: 0,
            generation: 0,
            input: Payload::default(),
        };
        let (shared, recorder) = (Shared::new(), Arc::default());
        TestTask { assignment, shared, stop: CancellationToken::new(), recorder }
    }

    /// What kind of work it is.
    ///
    /// # Panics
    ///
    /// When the name is invalid, like every method that describes a test task.
    pub fn kind(mut self, kind: &str) -> TestTask {
        self.assignment.kind = valid(Kind::new(kind));
        self
    }

    /// The queue it came from.
    pub fn lane(mut self, lane: &str) -> TestTask {
        self.assignment.lane = valid(Lane::new(lane));
        self
    }

    /// A label.
    pub fn tag(mut self, key: &str, value: &str) -> TestTask {
        self.assignment.tags.insert(valid(TagKey::new(key)), valid(TagValue::new(value)));
        self
    }

    /// The attempt, 0 for the first; all before it have failed.
    pub fn attempt(mut self, attempt: u32) -> TestTask {
        self.assignment.fence.attempt = attempt;
        self.assignment.failures = attempt;
        self
    }

    /// How many attempts may fail.
    pub fn max_attempts(mut self, attempts: u32) -> TestTask {
        self.assignment.max_attempts = attempts;
        self
    }

    /// What an earlier hold of this attempt reported last.
    pub fn last_progress(mut self, percent: u8, message: &str) -> TestTask {
        let message = Some(message.into());
        self.assignment.progress = Some(Progress { percent: Some(percent), message });
        self
    }

    /// A value that handlers take as [`State`](crate::State).
    pub fn state<S: Send + Sync + 'static>(mut self, value: S) -> TestTask {
        self.shared.insert(TypeId::of::<S>(), Arc::new(value));
        self
    }

    /// The context to call the handler with. Its reports are recorded here.
    pub fn context(&self) -> TaskContext {
        self.context_with(Payload::default())
    }

    /// Calls a handler as a worker would: the input is encoded and decoded, state is looked up, and the
    /// result is encoded and decoded.
    pub async fn run<R: FromPayload, Args>(
        &self,
        handler: impl Handler<Args>,
        input: &(impl ToPayload + ?Sized),
    ) -> Result<R, TaskError> {
        let context = self.context_with(input.to_payload()?);
        Ok(R::from_payload(&handler.handle(context).await?)?)
    }

    /// Asks the handler to stop, as a cancel with grace does.
    pub fn request_stop(&self) {
        self.stop.cancel();
    }

    /// The progress that was reported, in order.
    pub fn progress(&self) -> Vec<(u8, String)> {
        self.recorder.recorded().progress.clone()
    }

    /// What was streamed, in order: the type and the bytes of each frame. A patch of the summary is among
    /// them, as type `summary`.
    pub fn frames(&self) -> Vec<(String, Bytes)> {
        self.recorder.recorded().frames.clone()
    }

    /// The names of the steps and sleeps that have ended, in order. A later run with the same test task
    /// finds their results, as a later attempt does.
    pub fn steps(&self) -> Vec<String> {
        self.recorder.recorded().journal.iter().map(|(name, _)| name.to_string()).collect()
    }

    /// A signal that is there before the handler waits for it. A wait of a test that finds none has timed
    /// out at once.
    pub fn signal(self, waitpoint: &str, signal: TaskSignal) -> TestTask {
        let signal = TaskSignal { waitpoint: waitpoint.to_owned(), ..signal };
        self.recorder.recorded().signals.push(signal);
        self
    }

    /// The usage that was reported, by dimension, less what was released.
    pub fn used(&self) -> BTreeMap<String, u64> {
        let recorded = self.recorder.recorded();
        recorded.used.iter().map(|(dimension, used)| (dimension.to_string(), *used)).collect()
    }

    fn context_with(&self, input: Payload) -> TaskContext {
        let assignment = Assignment { input, ..self.assignment.clone() };
        let shared = Arc::new(self.shared.clone());
        TaskContext::recorded(assignment, self.recorder.clone(), self.stop.clone(), shared)
    }
}

impl Default for TestTask {
    fn default() -> Self {
        TestTask::new()
    }
}

/// A wrong name in a test is a bug of the test.
fn valid<T>(name: Result<T, Refusal>) -> T {
    name.unwrap_or_else(|refusal| panic!("a test task is described wrongly: {refusal}"))
}

/// What a handler has reported about a test task.
#[derive(Default)]
pub(crate) struct Recorder(Mutex<Recorded>);

#[derive(Default)]
struct Recorded {
    progress: Vec<(u8, String)>,
    frames: Vec<(String, Bytes)>,
    journal: Vec<(StepName, journal::Recorded)>,
    signals: Vec<TaskSignal>,
    used: Amounts,
    /// Reports by their keys: a repeated report counts once.
    reports: HashMap<IdempotencyKey, (Amounts, bool)>,
}

impl Recorder {
    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn progress(&self, percent: u8, message: &str) -> Result<(), SdkError> {
        if percent > 100 {
            let why = format!("is {percent}; give 0 to 100");
            return Err(Refusal::invalid("percent", why).into());
        }
        self.recorded().progress.push((percent, message.to_owned()));
        Ok(())
    }

    pub(crate) fn emit(&self, kind: &str, bytes: Bytes) {
        self.recorded().frames.push((kind.to_owned(), bytes));
    }

    pub(crate) fn journal(&self) -> Vec<(StepName, journal::Recorded)> {
        self.recorded().journal.clone()
    }

    /// The signals at these waitpoints, which are then used up.
    pub(crate) fn take_signals(&self, waitpoints: &[String]) -> Vec<TaskSignal> {
        let signals = &mut self.recorded().signals;
        let is_here = |signal: &mut TaskSignal| waitpoints.contains(&signal.waitpoint);
        signals.extract_if(.., is_here).collect()
    }

    pub(crate) fn keep(&self, name: StepName, what: journal::Recorded) -> Result<(), SdkError> {
        if let journal::Recorded::Step(result) = &what {
            result.check("result")?;
        }
        self.recorded().journal.push((name, what));
        Ok(())
    }

    pub(crate) fn report_usage(
        &self,
        key: &str,
        amounts: &[(&str, u64)],
    ) -> Result<Amounts, SdkError> {
        self.usage(key, amounts, false)
    }

    pub(crate) fn release_usage(
        &self,
        key: &str,
        amounts: &[(&str, u64)],
    ) -> Result<Amounts, SdkError> {
        self.usage(key, amounts, true)
    }

    fn usage(
        &self,
        key: &str,
        amounts: &[(&str, u64)],
        release: bool,
    ) -> Result<Amounts, SdkError> {
        let report = (amounts_of(amounts)?, release);
        let mut recorded = self.recorded();
        let key = IdempotencyKey::new(key)?;
        match recorded.reports.get(&key) {
            Some(earlier) if *earlier == report => return Ok(recorded.used.clone()),
            Some(_) => return Err(Refusal::IdempotencyConflict.into()),
            None => {}
        }
        for (dimension, amount) in &report.0 {
            let used = recorded.used.entry(dimension.clone()).or_default();
            *used = match release {
                false => used.saturating_add(*amount),
                true => used.saturating_sub(*amount),
            };
        }
        recorded.reports.insert(key, report);
        Ok(recorded.used.clone())
    }
}
