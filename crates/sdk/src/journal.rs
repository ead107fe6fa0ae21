//! The journal of a task, as its handler uses it: read once, when the first step, sleep or wait asks for
//! it, and only if it has anything.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ff_core::bounds::PAGE;
use ff_core::journal::{EntryKind, Recorded, idempotency_key};
use ff_core::machine::{Assignment, LeaseRef, RecordStep};
use ff_core::record::Exited;
use ff_core::{Payload, Refusal, StepName};
use ff_store::StoreError;
use tokio::sync::OnceCell;

use crate::error::SdkError;
use crate::task::Reporter;
use crate::task_error::TaskError;
use crate::testing::Recorder;

/// What a handler needs to know of its journal.
pub(crate) struct TaskJournal {
    assignment: Arc<Assignment>,
    keeper: Keeper,
    /// What earlier attempts have left, by name. An entry is taken out when its name is used.
    found: OnceCell<Mutex<HashMap<StepName, Recorded>>>,
    /// The names that this handler uses, or has used to an end.
    used: Mutex<HashSet<StepName>>,
}

/// A name that a handler uses. It is free again if this is dropped before it has come to an end: a step
/// that has failed may be tried again.
pub(crate) struct Use<'a> {
    journal: &'a TaskJournal,
    pub(crate) name: StepName,
    /// What earlier attempts have left under it.
    pub(crate) found: Option<Recorded>,
    ended: bool,
}

impl Use<'_> {
    /// Notes that its name is used up.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }
}

impl Drop for Use<'_> {
    fn drop(&mut self) {
        if !self.ended {
            locked(&self.journal.used).remove(&self.name);
        }
    }
}

/// Where entries are kept.
pub(crate) enum Keeper {
    /// In the engine.
    Engine(Reporter),
    /// In a test.
    Test(Arc<Recorder>),
}

impl TaskJournal {
    pub(crate) fn new(assignment: Arc<Assignment>, keeper: Keeper) -> TaskJournal {
        TaskJournal { assignment, keeper, found: OnceCell::new(), used: Mutex::default() }
    }

    /// Uses a name for something of this kind.
    pub(crate) async fn enter(&self, name: &str, kind: EntryKind) -> Result<Use<'_>, TaskError> {
        let name = StepName::new(name).map_err(permanent)?;
        if !locked(&self.used).insert(name.clone()) {
            let why = format!(
                "the handler used the name {name} for two of its steps, sleeps and waits; give each \
                 a name of its own, such as {name}-2"
            );
            return Err(TaskError::permanent(why).category("step_conflict"));
        }
        let mut using = Use { journal: self, name, found: None, ended: false };
        let found = self.found.get_or_try_init(|| self.read()).await;
        using.found = locked(found.map_err(|error| unkept(&error))?).remove(&using.name);
        match &using.found {
            Some(entry) if entry.kind() != kind => {
                let why = format!(
                    "the journal has a {} under the name {}, which is now a {kind}; give it another \
                     name",
                    entry.kind(),
                    using.name
                );
                using.end();
                Err(TaskError::permanent(why).category("step_conflict"))
            }
            Some(_) => {
                using.end();
                Ok(using)
            }
            None => Ok(using),
        }
    }

    /// All that earlier attempts have left; a first attempt reads nothing.
    async fn read(&self) -> Result<Mutex<HashMap<StepName, Recorded>>, SdkError> {
        let found = match &self.keeper {
            Keeper::Test(recorder) => recorder.journal(),
            Keeper::Engine(_) if self.assignment.steps == 0 => Vec::new(),
            Keeper::Engine(_) => self.read_all().await?,
        };
        Ok(Mutex::new(found.into_iter().collect()))
    }

    async fn read_all(&self) -> Result<Vec<(StepName, Recorded)>, SdkError> {
        let Keeper::Engine(reporter) = &self.keeper else { return Ok(Vec::new()) };
        let (target, mut found, mut from) = (self.hold().target, Vec::new(), Some(0));
        while let Some(number) = from {
            let page =
                reporter.repeat(|| reporter.backend().journal(&target, number, PAGE)).await?;
            found.extend(page.entries.into_iter().map(|it| (it.entry.name, it.entry.what)));
            from = page.next;
        }
        Ok(found)
    }

    /// The name of a step for the outside world.
    pub(crate) fn key(&self, name: &StepName) -> String {
        let Assignment { execution, generation, .. } = &*self.assignment;
        idempotency_key(*execution, *generation, name).to_string()
    }

    /// Keeps the result of a step that has run.
    pub(crate) async fn keep(&self, mut step: Use<'_>, result: Payload) -> Result<(), TaskError> {
        // It has run, whatever becomes of its result.
        step.end();
        let name = step.name.clone();
        let kept = match &self.keeper {
            Keeper::Test(recorder) => recorder.keep(name.clone(), Recorded::Step(result)),
            Keeper::Engine(reporter) => {
                let record = RecordStep { hold: reporter.hold(), name: name.clone(), result };
                let call = || reporter.backend().record_step(record.clone());
                reporter.repeat(call).await.map(drop).map_err(SdkError::from)
            }
        };
        kept.map_err(|error| match is_final(&error) {
            true => {
                let why = format!(
                    "step {name} has run, and its result cannot be kept: {error}; the task fails for \
                     good, because the next attempt would run the step again"
                );
                TaskError::permanent(why).category(error.code())
            }
            false => unkept(&error),
        })
    }

    /// Parks the task: makes the call that ends its hold, and never returns once it has ended. The
    /// runtime then drops the handler. It returns if the call left the task its hold; an error says that
    /// the call was refused for what it asks.
    pub(crate) async fn park<F>(&self, call: impl Fn(&Reporter) -> F) -> Result<(), TaskError>
    where
        F: Future<Output = Result<Option<Exited>, StoreError>>,
    {
        // A test has no engine that would end the wait, so it is over at once.
        let Keeper::Engine(reporter) = &self.keeper else { return Ok(()) };
        // The fence that frames need may end with this call.
        reporter.flush_last().await;
        match reporter.repeat(|| call(reporter)).await.map_err(SdkError::from) {
            Ok(Some(_)) => reporter.parked(),
            Ok(None) => return Ok(()),
            Err(error) if is_final(&error) && !error.ends_hold() => {
                return Err(TaskError::permanent(error.to_string()).category(error.code()));
            }
            Err(SdkError::Engine(error)) => reporter.lost(error),
            // Whatever else it is, the hold is about to end.
            Err(_) => {}
        }
        std::future::pending().await
    }

    /// Notes that a wait of a test is over.
    pub(crate) fn note(&self, name: StepName, what: Recorded) -> Result<(), TaskError> {
        match &self.keeper {
            Keeper::Test(recorder) => recorder.keep(name, what).map_err(|error| unkept(&error)),
            Keeper::Engine(_) => Ok(()),
        }
    }

    pub(crate) fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    /// The entry of this name as it is now.
    pub(crate) async fn find(&self, name: &StepName) -> Result<Option<Recorded>, SdkError> {
        let found = self.read_all().await?;
        Ok(found.into_iter().find(|(found, _)| found == name).map(|(_, what)| what))
    }

    /// The fenced reference by which the holder addresses the execution.
    pub(crate) fn hold(&self) -> LeaseRef {
        self.assignment.hold()
    }
}

/// Whether the same call would be refused again, in a later attempt too.
fn is_final(error: &SdkError) -> bool {
    error.refused().is_some() && !error.ends_hold()
}

/// What no later attempt would get either.
pub(crate) fn permanent(refusal: Refusal) -> TaskError {
    TaskError::permanent(refusal.to_string()).category(refusal.code().as_str())
}

/// The answer to a call of a handler.
pub(crate) fn answered<T>(answer: Result<T, SdkError>) -> Result<T, TaskError> {
    answer.map_err(|error| match is_final(&error) {
        true => TaskError::permanent(error.to_string()).category(error.code()),
        false => unkept(&error),
    })
}

/// A call that a later attempt may make.
pub(crate) fn unkept(error: &SdkError) -> TaskError {
    TaskError::retryable(format!("the journal does not answer: {error}"))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
