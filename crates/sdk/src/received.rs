//! The signals of a task, as its handler reads them.

use ff_core::bounds::PAGE;
use ff_core::journal::Recorded;
use ff_core::machine::{NewWaitpoint, OpenWaitpoint};
use ff_core::signal::ReceivedSignal;
use ff_core::suspension::Waitpoint;
use ff_core::{StepName, Time};

use crate::error::SdkError;
use crate::journal::{Keeper, TaskJournal, unkept};
use crate::task::Reporter;
use crate::task_error::TaskError;
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
        let Keeper::Engine(reporter) = self.keeper() else { return Ok(Waited::Resumed) };
        let mut found = Vec::with_capacity(signals.len());
        for number in signals {
            let page = self.page(reporter, *number, 1).await.map_err(|error| unkept(&error))?;
            let signal = page.into_iter().find(|signal| signal.number == *number);
            let missing = || TaskError::retryable(format!("signal {number} is not there"));
            found.push(signal.ok_or_else(missing)?.into());
        }
        Ok(Waited::Signals(found))
    }

    /// How a wait ended that did not park: in a test by its signals, else because they had come.
    pub(crate) async fn waited(
        &self,
        name: &StepName,
        waitpoints: &[String],
    ) -> Result<Waited, TaskError> {
        if let Keeper::Test(recorder) = self.keeper() {
            let signals = recorder.take_signals(waitpoints);
            let timed_out = signals.is_empty();
            self.note(name.clone(), Recorded::Wait { signals: Vec::new(), timed_out })?;
            return Ok(if timed_out { Waited::TimedOut } else { Waited::Signals(signals) });
        }
        match self.find(name).await.map_err(|error| unkept(&error))? {
            Some(Recorded::Wait { signals, timed_out }) => self.ended(&signals, timed_out).await,
            _ => Err(TaskError::retryable(format!("the journal does not show the end of {name}"))),
        }
    }

    pub(crate) async fn open_waitpoint(&self, new: NewWaitpoint) -> Result<Waitpoint, TaskError> {
        let Keeper::Engine(reporter) = self.keeper() else {
            let NewWaitpoint { id, key, .. } = new;
            return Ok(Waitpoint { id, key, until: None::<Time>, signals: 0, of: None });
        };
        let open = OpenWaitpoint { hold: reporter.hold(), waitpoint: new };
        let opened = reporter.repeat(|| reporter.backend().open_waitpoint(open.clone())).await;
        opened.map_err(|error| {
            let error = SdkError::from(error);
            match error.refused() {
                Some(_) if !error.ends_hold() => {
                    TaskError::permanent(error.to_string()).category(error.code())
                }
                _ => unkept(&error),
            }
        })
    }

    /// All signals that the execution has received.
    pub(crate) async fn all_signals(&self) -> Result<Vec<TaskSignal>, TaskError> {
        let Keeper::Engine(reporter) = self.keeper() else { return Ok(Vec::new()) };
        let mut all: Vec<TaskSignal> = Vec::new();
        loop {
            let page = self.page(reporter, all.len() as u64, PAGE).await;
            let page = page.map_err(|error| unkept(&error))?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page.into_iter().map(TaskSignal::from));
        }
    }

    async fn page(
        &self,
        reporter: &Reporter,
        from: u64,
        limit: usize,
    ) -> Result<Vec<ReceivedSignal>, SdkError> {
        let target = self.target();
        Ok(reporter.repeat(|| reporter.backend().received(&target, from, limit)).await?)
    }
}
