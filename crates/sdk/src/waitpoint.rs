//! Waitpoints of a task: where its signals arrive, before it waits for them and while it does.

use ff_core::bounds::PAGE;
use ff_core::machine::{CloseWaitpoint, OpenWaitpoint};
use ff_core::signal::ReceivedSignal;
use ff_core::{Refusal, Subject, WaitpointKey};
use ff_store::ring::{Purpose, SignedToken};
use ff_store::roles::{NewToken, OpenedWaitpoint};

use crate::context::TaskContext;
use crate::error::SdkError;
use crate::task::{ClaimedTask, Reporter};
use crate::task_error::TaskError;
use crate::wait::new_waitpoint;
use crate::waits::TaskSignal;

/// A waitpoint that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskWaitpoint {
    pub(crate) key: String,
    pub(crate) signals: u32,
    pub(crate) token: Option<SignedToken>,
}

impl TaskWaitpoint {
    /// The task's name for it.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// How many signals have come to it.
    pub fn signals(&self) -> u32 {
        self.signals
    }

    /// The token for it: whoever has it sends signals to this waitpoint, and needs nothing else. Give
    /// [its text](SignedToken::reveal) to the one who is to answer. It is refused with
    /// [`Code::NoSigningKey`](ff_core::Code::NoSigningKey) where nothing can be signed.
    pub fn token(&self) -> Result<&SignedToken, SdkError> {
        self.token.as_ref().ok_or_else(|| Refusal::NoSigningKey.into())
    }
}

impl From<OpenedWaitpoint> for TaskWaitpoint {
    fn from(opened: OpenedWaitpoint) -> TaskWaitpoint {
        let OpenedWaitpoint { waitpoint, token } = opened;
        TaskWaitpoint { key: waitpoint.key.to_string(), signals: waitpoint.signals, token }
    }
}

impl ClaimedTask {
    /// Opens a waitpoint before the task waits at it, so that its token can be handed out first: signals
    /// that come early wait for the task. One that is open is answered as it is, with the same token.
    #[doc(alias = "create_pending_waitpoint")]
    pub async fn open_waitpoint(&self, key: &str) -> Result<TaskWaitpoint, SdkError> {
        self.reporter().open_waitpoint(key).await
    }

    /// Closes a waitpoint for ever: its tokens are worth nothing from now on, and its signals count no
    /// more. One of the same key that is opened later is another one.
    pub async fn close_waitpoint(&self, key: &str) -> Result<(), SdkError> {
        self.reporter().close_waitpoint(key).await
    }

    /// A token for an open waitpoint by which `subject`, and nobody else, answers. Two who must both
    /// answer get two tokens.
    pub async fn token_for(&self, key: &str, subject: &str) -> Result<SignedToken, SdkError> {
        self.reporter().token_for(key, subject).await
    }

    /// All signals that the execution has received, oldest first: after a suspension, also those that
    /// have ended it.
    #[doc(alias = "resume_signals")]
    pub async fn signals(&self) -> Result<Vec<TaskSignal>, SdkError> {
        self.reporter().signals().await
    }
}

impl TaskContext {
    /// Opens a waitpoint before the task waits at it, so that its token can be handed out first: signals
    /// that come early wait for the task. One that is open is answered as it is, with the same token.
    ///
    /// ```
    /// use ff_sdk::{TaskContext, TaskError, TestTask, Wait, Waited};
    /// # async fn order(key: String, token: &str) -> Result<(), std::io::Error> { Ok(()) }
    ///
    /// async fn print_book(task: TaskContext, (): ()) -> Result<String, TaskError> {
    ///     // Once, with the order: the printer posts the token when it is done, perhaps before the task
    ///     // waits for that.
    ///     let order = |key| async {
    ///         let printed = task.open_waitpoint("printed").await?;
    ///         order(key, printed.token()?.reveal()).await.map_err(TaskError::from)
    ///     };
    ///     task.step("order", order).await?;
    ///     match task.wait_for_signal("printed", Wait::at("printed")).await? {
    ///         Waited::Signals(_) => Ok("printed".to_owned()),
    ///         Waited::TimedOut | Waited::Resumed => Err(TaskError::permanent("no answer")),
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let task = TestTask::new().signal("printed", "done", "printer", &());
    /// assert_eq!(task.run::<String, _>(print_book, &()).await.unwrap(), "printed");
    /// # }
    /// ```
    pub async fn open_waitpoint(&self, key: &str) -> Result<TaskWaitpoint, TaskError> {
        self.journal().open_waitpoint(key).await
    }

    /// Closes a waitpoint for ever: its tokens are worth nothing from now on, and its signals count no
    /// more. One of the same key that is opened later is another one.
    pub async fn close_waitpoint(&self, key: &str) -> Result<(), TaskError> {
        self.journal().close_waitpoint(key).await
    }

    /// A token for an open waitpoint by which `subject`, and nobody else, answers. Two who must both
    /// answer get two tokens.
    pub async fn token_for(&self, key: &str, subject: &str) -> Result<SignedToken, TaskError> {
        self.journal().token_for(key, subject).await
    }

    /// All signals that the execution has received, oldest first.
    pub async fn signals(&self) -> Result<Vec<TaskSignal>, TaskError> {
        self.journal().signals().await
    }
}

/// The calls of both.
impl Reporter {
    pub(crate) async fn open_waitpoint(&self, key: &str) -> Result<TaskWaitpoint, SdkError> {
        let waitpoint = new_waitpoint(WaitpointKey::new(key)?);
        let open = OpenWaitpoint { hold: self.hold(), waitpoint };
        Ok(self.repeat(|| self.backend().open_waitpoint(open.clone())).await?.into())
    }

    pub(crate) async fn close_waitpoint(&self, key: &str) -> Result<(), SdkError> {
        let close = CloseWaitpoint { hold: self.hold(), key: WaitpointKey::new(key)? };
        Ok(self.repeat(|| self.backend().close_waitpoint(close.clone())).await?)
    }

    pub(crate) async fn token_for(
        &self,
        key: &str,
        subject: &str,
    ) -> Result<SignedToken, SdkError> {
        let new = NewToken {
            target: self.hold().target,
            waitpoint: WaitpointKey::new(key)?,
            purpose: Purpose::Signal,
            subject: Some(Subject::new(subject)?),
            expires: None,
        };
        Ok(self.repeat(|| self.backend().waitpoint_token(new.clone())).await?.token)
    }

    pub(crate) async fn signals(&self) -> Result<Vec<TaskSignal>, SdkError> {
        let mut all: Vec<TaskSignal> = Vec::new();
        loop {
            let page = self.signals_from(all.len() as u64, PAGE).await?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page.into_iter().map(TaskSignal::from));
        }
    }

    pub(crate) async fn signals_from(
        &self,
        number: u64,
        limit: usize,
    ) -> Result<Vec<ReceivedSignal>, SdkError> {
        let target = self.hold().target;
        Ok(self.repeat(|| self.backend().received(&target, number, limit)).await?)
    }
}
