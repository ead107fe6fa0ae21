//! Durable steps and sleeps of a handler.

use std::future::Future;
use std::time::Duration;

use ff_core::When;
use ff_core::journal::{EntryKind, Recorded};
use ff_core::machine::Delay;

use crate::context::TaskContext;
use crate::payload::{FromPayload, ToPayload};
use crate::task_error::TaskError;
use crate::time::millis;

impl TaskContext {
    /// Does something once: `run` is called unless an earlier attempt has done it and its result was
    /// kept, and that result is returned in every later attempt. A failed step is not kept.
    ///
    /// `run` gets a key that names this step to the outside world, and is the same in every attempt: if
    /// the process dies after the effect and before the result is kept, the step runs again with the
    /// same key, by which the service that it calls can tell. A replay that hides the step gives it
    /// another key.
    ///
    /// Names are unique within a handler; loops number them. A step that has failed may be tried again
    /// under its name. Several steps may run at once. A result is
    /// at most 1 MiB: one that cannot be kept fails the task for good, because the effect has happened.
    ///
    /// ```
    /// use ff_sdk::{TaskContext, TaskError, TestTask};
    /// # async fn pay(cents: u32, key: &str) -> Result<String, std::io::Error> { Ok("paid".into()) }
    ///
    /// async fn order(task: TaskContext, cents: u32) -> Result<String, TaskError> {
    ///     let receipt = task.step("charge", |key| async move { pay(cents, &key).await }).await?;
    ///     Ok(receipt)
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let task = TestTask::new();
    /// assert_eq!(task.run::<String, _>(order, &5).await.unwrap(), "paid");
    /// assert_eq!(task.steps(), ["charge"]);
    /// # }
    /// ```
    pub async fn step<T, E, F, Run>(&self, name: &str, run: F) -> Result<T, TaskError>
    where
        T: FromPayload + ToPayload,
        E: Into<TaskError>,
        F: FnOnce(String) -> Run,
        Run: Future<Output = Result<T, E>>,
    {
        let journal = self.journal();
        let step = journal.enter(name, EntryKind::Step).await?;
        if let Some(Recorded::Step(result)) = &step.found {
            return T::from_payload(result).map_err(|error| {
                let why = format!("the kept result of step {name} does not decode: {error}");
                TaskError::permanent(why).category("bad_payload")
            });
        }
        let result = run(journal.key(&step.name)).await.map_err(Into::into)?;
        let payload = result.to_payload().map_err(|error| {
            let why = format!("step {name} has run, and its result does not encode: {error}");
            TaskError::permanent(why).category("bad_payload")
        })?;
        journal.keep(step, payload).await?;
        Ok(result)
    }

    /// Sleeps, for seconds or months, without holding the worker: the task leaves it, and another
    /// worker continues the same attempt then, from the beginning of the handler. So what happens
    /// before a sleep should be steps. Once the sleep is over, it returns at once in every attempt.
    ///
    /// It does not return before that: the handler is dropped where it stands. An error means that the
    /// name is used twice, or that the journal is full.
    pub async fn sleep(&self, name: &str, span: Duration) -> Result<(), TaskError> {
        let journal = self.journal();
        let mut sleep = journal.enter(name, EntryKind::Sleep).await?;
        if sleep.found.is_some() {
            return Ok(());
        }
        sleep.end();
        let (until, step) = (When::After(millis(span)), Some(sleep.name.clone()));
        journal
            .park(|reporter| {
                let (backend, step) = (reporter.backend().clone(), step.clone());
                let delay = Delay { hold: reporter.hold(), until, step };
                async move { backend.delay(delay).await.map(Some) }
            })
            .await?;
        journal.note(sleep.name.clone(), Recorded::Sleep)
    }
}
