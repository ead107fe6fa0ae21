//! Calls handlers with test tasks: no engine, no worker, no store.
//!
//! A test task is checked like a real one: a report with a wrong percentage or name is refused.

use std::any::TypeId;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use ff_core::condition::Arrival;
use ff_core::journal;
use ff_core::limits::Amounts;
use ff_core::machine::{Assignment, Suspend};
use ff_core::record::{Progress, Tags};
use ff_core::{
    Fence, IdempotencyKey, Kind, Lane, LeaseId, Millis, Namespace, NodeName, Partition, Payload,
    Refusal, SignalName, Source, StepName, Subject, TagKey, TagValue, Time, WaitpointKey,
};
use ff_store::mint;
use ff_store::ring::SignedToken;
use tokio_util::sync::CancellationToken;

use crate::context::{Shared, TaskContext};
use crate::error::SdkError;
use crate::handler::Handler;
use crate::limits::amounts_of;
use crate::payload::{FromPayload, ToPayload};
use crate::task_error::TaskError;
use crate::waitpoint::TaskWaitpoint;
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
            member: None,
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

    /// A signal that has come before the handler waits for it, by this sender. A wait of a test is over at
    /// once: satisfied by the signals at its waitpoints, or else timed out.
    pub fn signal(
        self,
        waitpoint: &str,
        name: &str,
        source: &str,
        payload: &(impl ToPayload + ?Sized),
    ) -> TestTask {
        let payload = payload.to_payload().unwrap_or_else(|error| wrong(&error));
        let signal = TaskSignal {
            waitpoint: valid(WaitpointKey::new(waitpoint)).to_string(),
            name: Some(valid(SignalName::new(name)).to_string()),
            source: valid(Source::new(source)).to_string(),
            payload,
        };
        self.recorder.recorded().signals.push(signal);
        self
    }

    /// A node of its flow that it depends on and that has completed, with its result.
    pub fn upstream(self, node: &str, result: &(impl ToPayload + ?Sized)) -> TestTask {
        let result = result.to_payload().unwrap_or_else(|error| wrong(&error));
        let node = valid(NodeName::new(node)).to_string();
        self.recorder.recorded().upstreams.insert(node, result);
        self
    }

    /// A child that has completed by the time that the handler waits for it, with its result. Those without
    /// one do not complete.
    pub fn child(self, name: &str, result: &(impl ToPayload + ?Sized)) -> TestTask {
        self.upstream(name, result)
    }

    /// The names of the children that the handler has spawned, in order.
    pub fn spawned(&self) -> Vec<String> {
        self.recorder.recorded().spawned.clone()
    }

    /// The keys of the waitpoints that the handler has opened before it waits there, and has not closed.
    pub fn waitpoints(&self) -> Vec<String> {
        self.recorder.recorded().waitpoints.clone()
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
    name.unwrap_or_else(|refusal| wrong(&refusal))
}

fn wrong(why: &dyn fmt::Display) -> ! {
    panic!("a test task is described wrongly: {why}")
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
    /// The numbers of the signals whose waitpoint is closed.
    spent: HashSet<u64>,
    waitpoints: Vec<String>,
    /// Results of upstreams by their names.
    upstreams: HashMap<String, Payload>,
    /// The names of children.
    spawned: Vec<String>,
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

    pub(crate) fn spawn<'n>(&self, names: impl Iterator<Item = &'n str>) {
        let mut recorded = self.recorded();
        for name in names.map(str::to_owned) {
            if !recorded.spawned.contains(&name) {
                recorded.spawned.push(name);
            }
        }
    }

    pub(crate) fn upstream(&self, node: &str) -> Option<Payload> {
        self.recorded().upstreams.get(node).cloned()
    }

    pub(crate) fn journal(&self) -> Vec<(StepName, journal::Recorded)> {
        self.recorded().journal.clone()
    }

    pub(crate) fn signals(&self) -> Vec<TaskSignal> {
        self.recorded().signals.clone()
    }

    /// The numbers of the signals that satisfy a wait, or `None` if they do not. All signals at its
    /// waitpoints are spent either way: its end closes them.
    pub(crate) fn answer(&self, suspend: &Suspend) -> Option<Vec<u64>> {
        let mut recorded = self.recorded();
        let Recorded { signals, spent, waitpoints, .. } = &mut *recorded;
        let mut counted = Vec::new();
        for (number, signal) in (0..).zip(signals.iter()) {
            let at = suspend.waitpoints.iter().find(|at| at.key.as_str() == signal.waitpoint);
            let (Some(at), Ok(source)) = (at, Source::new(signal.source.as_str())) else {
                continue;
            };
            if !spent.insert(number) {
                continue;
            }
            let name = signal.name.as_deref().and_then(|name| SignalName::new(name).ok());
            let arrival = Arrival::new(number, name.as_ref(), &source);
            suspend.condition.count(&mut counted, &at.key, arrival);
        }
        waitpoints.retain(|key| suspend.waitpoints.iter().all(|at| at.key.as_str() != key));
        suspend.condition.is_satisfied(&counted).then(|| {
            let numbers: BTreeSet<_> = counted.iter().map(|one| one.signal).collect();
            numbers.into_iter().collect()
        })
    }

    pub(crate) fn open_waitpoint(&self, key: &str) -> Result<TaskWaitpoint, SdkError> {
        let key = WaitpointKey::new(key)?.to_string();
        let mut recorded = self.recorded();
        if !recorded.waitpoints.contains(&key) {
            recorded.waitpoints.push(key.clone());
        }
        let signals = recorded.signals.iter().filter(|signal| signal.waitpoint == key).count();
        let token = Some(SignedToken::received(format!("a test's token for {key}")));
        Ok(TaskWaitpoint { key, signals: signals as u32, token })
    }

    pub(crate) fn close_waitpoint(&self, key: &str) -> Result<(), SdkError> {
        let key = WaitpointKey::new(key)?;
        let mut recorded = self.recorded();
        let Recorded { signals, spent, waitpoints, .. } = &mut *recorded;
        waitpoints.retain(|open| open != key.as_str());
        let here = (0..).zip(signals.iter()).filter(|(_, one)| one.waitpoint == key.as_str());
        spent.extend(here.map(|(number, _)| number));
        Ok(())
    }

    pub(crate) fn token_for(&self, key: &str, subject: &str) -> Result<SignedToken, SdkError> {
        let (key, subject) = (WaitpointKey::new(key)?, Subject::new(subject)?);
        match self.recorded().waitpoints.iter().any(|open| open == key.as_str()) {
            true => Ok(SignedToken::received(format!("a test's token for {key}, for {subject}"))),
            false => Err(Refusal::WaitpointClosed.into()),
        }
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
