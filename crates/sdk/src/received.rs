//! Waitpoints and signals of a task as its handler uses them, in the engine or in a test.

use ff_core::StepName;
use ff_core::journal::Recorded;
use ff_core::machine::Suspend;
use ff_core::suspension::OnTimeout;
use ff_store::ring::SignedToken;

use crate::error::SdkError;
use crate::journal::{Keeper, TaskJournal, answered, unkept};
use crate::task_error::TaskError;
use crate::waitpoint::TaskWaitpoint;
use crate::waits::{TaskSignal, Waited};

impl TaskJournal {
    /// How a wait ended that the journal has.
    pub(crate) async fn ended(
        &self,
        signals: &[u64],
        timed_out: bool,
    ) -> Result<Waited, TaskError> {
        if timed_out {
            return Ok(Waited::TimedOut);
        }
        if signals.is_empty() {
            return Ok(Waited::Resumed);
        }
        let mut found = Vec::with_capacity(signals.len());
        for number in signals {
            let signal = self.signal(*number).await.map_err(|error| unkept(&error))?;
            let missing = || TaskError::retryable(format!("signal {number} is not there"));
            found.push(signal.ok_or_else(missing)?);
        }
        Ok(Waited::Signals(found))
    }

    /// How a wait ended that did not park: in a test by its signals, else because they had come.
    pub(crate) async fn waited(
        &self,
        name: &StepName,
        suspend: &Suspend,
    ) -> Result<Waited, TaskError> {
        if let Keeper::Test(recorder) = self.keeper() {
            let counted = recorder.answer(suspend);
            let (timed_out, signals) = (counted.is_none(), counted.unwrap_or_default());
            if timed_out && let Some(end) = timed_out_end(suspend.on_timeout) {
                return Err(end);
            }
            self.note(name.clone(), Recorded::Wait { signals: signals.clone(), timed_out })?;
            return self.ended(&signals, timed_out).await;
        }
        match self.find(name).await.map_err(|error| unkept(&error))? {
            Some(Recorded::Wait { signals, timed_out }) => self.ended(&signals, timed_out).await,
            _ => Err(TaskError::retryable(format!("the journal does not show the end of {name}"))),
        }
    }

    pub(crate) async fn open_waitpoint(&self, key: &str) -> Result<TaskWaitpoint, TaskError> {
        answered(match self.keeper() {
            Keeper::Engine(reporter) => reporter.open_waitpoint(key).await,
            Keeper::Test(recorder) => recorder.open_waitpoint(key),
        })
    }

    pub(crate) async fn close_waitpoint(&self, key: &str) -> Result<(), TaskError> {
        answered(match self.keeper() {
            Keeper::Engine(reporter) => reporter.close_waitpoint(key).await,
            Keeper::Test(recorder) => recorder.close_waitpoint(key),
        })
    }

    pub(crate) async fn token_for(
        &self,
        key: &str,
        subject: &str,
    ) -> Result<SignedToken, TaskError> {
        answered(match self.keeper() {
            Keeper::Engine(reporter) => reporter.token_for(key, subject).await,
            Keeper::Test(recorder) => recorder.token_for(key, subject),
        })
    }

    /// All signals that the execution has received.
    pub(crate) async fn signals(&self) -> Result<Vec<TaskSignal>, TaskError> {
        answered(match self.keeper() {
            Keeper::Engine(reporter) => reporter.signals().await,
            Keeper::Test(recorder) => Ok(recorder.signals()),
        })
    }

    /// The signal of this number.
    async fn signal(&self, number: u64) -> Result<Option<TaskSignal>, SdkError> {
        match self.keeper() {
            Keeper::Test(recorder) => Ok(recorder.signals().into_iter().nth(number as usize)),
            Keeper::Engine(reporter) => {
                let page = reporter.signals_from(number, 1).await?;
                Ok(page.into_iter().find(|one| one.number == number).map(TaskSignal::from))
            }
        }
    }
}

/// How a wait whose time is over ends a test task, if it does: the engine would not run it again.
fn timed_out_end(then: OnTimeout) -> Option<TaskError> {
    match then {
        OnTimeout::Resume => None,
        OnTimeout::Cancel => Some(TaskError::cancel("the time of its wait was over")),
        OnTimeout::Fail | OnTimeout::Expire => {
            let why = "the time of its wait was over";
            Some(TaskError::permanent(why).category("suspension_timeout"))
        }
    }
}
