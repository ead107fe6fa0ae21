//! Waits of a handler for signals.

use ff_core::Payload;
use ff_core::journal::{EntryKind, Recorded};
use ff_core::signal::ReceivedSignal;

use crate::context::TaskContext;
use crate::error::SdkError;
use crate::journal::permanent;
use crate::payload::FromPayload;
use crate::task_error::TaskError;
use crate::wait::Wait;

/// How a wait ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waited {
    /// These signals have come, in their order.
    Signals(Vec<TaskSignal>),
    /// Its time was over first.
    TimedOut,
    /// An operator ended it without what it waited for.
    Resumed,
}

impl Waited {
    /// The first signal, if one has come.
    pub fn signal(&self) -> Option<&TaskSignal> {
        match self {
            Waited::Signals(signals) => signals.first(),
            Waited::TimedOut | Waited::Resumed => None,
        }
    }
}

/// A signal that has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSignal {
    /// The waitpoint at which it came.
    pub waitpoint: String,
    /// Its name.
    pub name: Option<String>,
    /// Who sent it, as the engine knows it.
    pub source: String,
    /// What it carries.
    pub payload: Payload,
}

impl TaskSignal {
    /// What it carries, decoded.
    pub fn decode<T: FromPayload>(&self) -> Result<T, SdkError> {
        Ok(T::from_payload(&self.payload)?)
    }
}

impl From<ReceivedSignal> for TaskSignal {
    fn from(signal: ReceivedSignal) -> TaskSignal {
        TaskSignal {
            waitpoint: signal.key.to_string(),
            name: signal.name.map(|name| name.to_string()),
            source: signal.source.to_string(),
            payload: signal.payload,
        }
    }
}

impl TaskContext {
    /// Waits for signals, without holding the worker, for as long as it takes: see
    /// [`TaskContext::sleep`] for how a task leaves its worker and returns. How it ended is kept under
    /// `name`, and returned in every later attempt.
    ///
    /// ```
    /// use ff_sdk::{TaskContext, TaskError, TestTask, Wait, Waited};
    ///
    /// async fn order(task: TaskContext, (): ()) -> Result<u32, TaskError> {
    ///     let paid = Wait::at("payment").named("paid");
    ///     match task.wait_for_signal("paid", paid).await? {
    ///         Waited::Signals(signals) => Ok(signals[0].decode()?),
    ///         Waited::TimedOut | Waited::Resumed => Err(TaskError::permanent("nobody paid")),
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let task = TestTask::new().signal("payment", "paid", "bank", &500);
    /// assert_eq!(task.run::<u32, _>(order, &()).await.unwrap(), 500);
    /// # }
    /// ```
    pub async fn wait_for_signal(&self, name: &str, wait: Wait) -> Result<Waited, TaskError> {
        let journal = self.journal();
        let mut using = journal.enter(name, EntryKind::Wait).await?;
        if let Some(Recorded::Wait { signals, timed_out }) = &using.found {
            return journal.ended(signals, *timed_out).await;
        }
        let suspend = wait.suspend(journal.hold(), Some(using.name.clone()), true);
        let suspend = suspend.map_err(permanent)?;
        using.end();
        journal
            .park(|reporter| {
                let (backend, suspend) = (reporter.backend().clone(), suspend.clone());
                async move { Ok(backend.suspend(suspend).await?.exited) }
            })
            .await?;
        // What it waits for has come early, and the journal has that.
        journal.waited(&using.name, &suspend).await
    }
}
