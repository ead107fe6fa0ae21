//! Waits of a handler: for signals, and for the decision of people.

use std::time::Duration;

use ff_core::condition::{Condition, CountOf};
use ff_core::journal::{EntryKind, Recorded};
use ff_core::machine::{NewWaitpoint, Suspend};
use ff_core::signal::ReceivedSignal;
use ff_core::suspension::{OnTimeout, SuspendReason, Waitpoint};
use ff_core::{Payload, Refusal, SignalName, WaitpointKey, When};
use ff_store::mint;
use serde::Deserialize;

use crate::context::TaskContext;
use crate::error::SdkError;
use crate::payload::FromPayload;
use crate::task::Reporter;
use crate::task_error::TaskError;
use crate::time::millis;

/// What a handler waits for.
#[derive(Debug, Clone)]
pub struct Wait {
    waitpoints: Vec<String>,
    named: Option<String>,
    count: u32,
    of: CountOf,
    condition: Option<Condition>,
    timeout: Option<Duration>,
    on_timeout: OnTimeout,
    reason: SuspendReason,
    message: Option<Box<str>>,
}

impl Wait {
    /// A signal at this waitpoint, which is opened unless it is.
    pub fn at(waitpoint: &str) -> Wait {
        Wait {
            waitpoints: vec![waitpoint.to_owned()],
            named: None,
            count: 1,
            of: CountOf::Signals,
            condition: None,
            timeout: None,
            on_timeout: OnTimeout::Resume,
            reason: SuspendReason::Signal,
            message: None,
        }
    }

    /// Signals at this waitpoint, too.
    pub fn and_at(mut self, waitpoint: &str) -> Wait {
        self.waitpoints.push(waitpoint.to_owned());
        self
    }

    /// Only signals of this name.
    pub fn named(mut self, name: &str) -> Wait {
        self.named = Some(name.to_owned());
        self
    }

    /// So many signals, at any of the waitpoints.
    pub fn signals(mut self, count: u32) -> Wait {
        (self.count, self.of) = (count, CountOf::Signals);
        self
    }

    /// Signals of so many different senders.
    pub fn sources(mut self, count: u32) -> Wait {
        (self.count, self.of) = (count, CountOf::Sources);
        self
    }

    /// Whatever satisfies this condition, instead.
    pub fn until(mut self, condition: Condition) -> Wait {
        self.condition = Some(condition);
        self
    }

    /// At most this long.
    pub fn within(mut self, longest: Duration) -> Wait {
        self.timeout = Some(longest);
        self
    }

    /// What happens to the task when its time is over, instead of learning so.
    pub fn on_timeout(mut self, then: OnTimeout) -> Wait {
        self.on_timeout = then;
        self
    }

    /// What kind of answer it is, for people.
    pub fn reason(mut self, reason: SuspendReason) -> Wait {
        self.reason = reason;
        self
    }

    /// What is asked, for people.
    pub fn message(mut self, message: &str) -> Wait {
        self.message = Some(message.into());
        self
    }

    fn keys(&self) -> Result<Vec<WaitpointKey>, Refusal> {
        self.waitpoints.iter().map(|key| WaitpointKey::new(key.as_str())).collect()
    }

    fn condition(&self) -> Result<Condition, Refusal> {
        if let Some(condition) = &self.condition {
            return Ok(condition.clone());
        }
        let name = self.named.as_deref().map(SignalName::new).transpose()?;
        Ok(Condition::Count { n: self.count, of: self.of, waitpoints: Vec::new(), name })
    }
}

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

/// What people are asked.
#[derive(Debug, Clone)]
pub struct Approval {
    waitpoint: Option<String>,
    approvers: u32,
    message: Box<str>,
    timeout: Option<Duration>,
}

impl Approval {
    /// Asks this; one person decides.
    pub fn ask(message: &str) -> Approval {
        Approval { waitpoint: None, approvers: 1, message: message.into(), timeout: None }
    }

    /// So many different people must say yes. One no is enough for a no.
    pub fn by(mut self, approvers: u32) -> Approval {
        self.approvers = approvers;
        self
    }

    /// At this waitpoint instead of `approval`, for a task that asks several things at once.
    pub fn at(mut self, waitpoint: &str) -> Approval {
        self.waitpoint = Some(waitpoint.to_owned());
        self
    }

    /// Waits at most this long.
    pub fn within(mut self, longest: Duration) -> Approval {
        self.timeout = Some(longest);
        self
    }
}

/// What people have decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decided {
    /// Yes, by these.
    Approved(Vec<Vote>),
    /// No, by this one.
    Rejected(Vote),
    /// Nothing, before the time was over.
    TimedOut,
    /// Nothing: an operator ended the wait.
    Resumed,
}

impl Decided {
    /// Whether the answer is yes.
    pub fn is_approved(&self) -> bool {
        matches!(self, Decided::Approved(_))
    }
}

/// The decision of one person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vote {
    /// Who, as the engine knows them.
    pub by: String,
    /// What they said to it.
    pub comment: Option<String>,
}

/// The names of the signals by which people decide.
const APPROVE: &str = "approve";
const REJECT: &str = "reject";

impl Vote {
    fn of(signal: &TaskSignal) -> Vote {
        #[derive(Deserialize)]
        struct Said {
            comment: Option<String>,
        }
        // A decision without words is one too.
        let said = signal.decode::<Said>().ok();
        Vote { by: signal.source.clone(), comment: said.and_then(|said| said.comment) }
    }
}

impl TaskContext {
    /// Waits for signals, without holding the worker, for as long as it takes: see
    /// [`TaskContext::sleep`] for how a task leaves its worker and returns. How it ended is kept under
    /// `name`, and returned in every later attempt.
    pub async fn wait_for_signal(&self, name: &str, wait: Wait) -> Result<Waited, TaskError> {
        let journal = self.journal();
        let mut using = journal.enter(name, EntryKind::Wait).await?;
        if let Some(Recorded::Wait { signals, timed_out }) = &using.found {
            return journal.ended(signals, *timed_out).await;
        }
        let (keys, condition) = (wait.keys().map_err(refused)?, wait.condition().map_err(refused)?);
        using.end();
        let suspend = |reporter: &Reporter| Suspend {
            hold: reporter.hold(),
            waitpoints: keys.iter().map(new_waitpoint).collect(),
            condition: condition.clone(),
            timeout: wait.timeout.map(|longest| When::After(millis(longest))),
            on_timeout: wait.on_timeout,
            reason: wait.reason,
            message: wait.message.clone(),
            step: Some(using.name.clone()),
            keep_if_satisfied: true,
        };
        journal
            .park(|reporter| {
                let (backend, suspend) = (reporter.backend().clone(), suspend(reporter));
                async move { Ok(backend.suspend(suspend).await?.exited) }
            })
            .await?;
        // What it waits for has come early, and the journal has that.
        journal.waited(&using.name, &wait.waitpoints).await
    }

    /// Waits for the decision of people, as [`Self::wait_for_signal`] does. It is found with
    /// `ff ls --state suspended --reason approval`, and made with `ff approve` and `ff reject` or at a
    /// link. Who decided is known by their credential or their link, so nobody counts twice.
    pub async fn wait_for_approval(
        &self,
        name: &str,
        approval: Approval,
    ) -> Result<Decided, TaskError> {
        let waitpoint = approval.waitpoint.as_deref().unwrap_or("approval");
        let name_of = |name: &str| SignalName::new(name).map_err(refused);
        let key = WaitpointKey::new(waitpoint).map_err(refused)?;
        let yes = Condition::Count {
            n: approval.approvers,
            of: CountOf::Sources,
            waitpoints: Vec::new(),
            name: Some(name_of(APPROVE)?),
        };
        let no = Condition::Signal { waitpoint: key, name: Some(name_of(REJECT)?) };
        let mut wait = Wait::at(waitpoint)
            .until(Condition::Any(vec![yes, no]))
            .reason(SuspendReason::Approval)
            .message(&approval.message);
        wait.timeout = approval.timeout;
        let signals = match self.wait_for_signal(name, wait).await? {
            Waited::TimedOut => return Ok(Decided::TimedOut),
            Waited::Resumed => return Ok(Decided::Resumed),
            Waited::Signals(signals) => signals,
        };
        let says = |signal: &&TaskSignal, what| signal.name.as_deref() == Some(what);
        match signals.iter().find(|signal| says(signal, REJECT)) {
            Some(no) => Ok(Decided::Rejected(Vote::of(no))),
            None => {
                let yes = signals.iter().filter(|signal| says(signal, APPROVE));
                Ok(Decided::Approved(yes.map(Vote::of).collect()))
            }
        }
    }

    /// Opens a waitpoint before the task waits at it, so that it can be told to whoever answers: signals
    /// that come early wait for the task. One that is open is answered as it is.
    pub async fn open_waitpoint(&self, key: &str) -> Result<Waitpoint, TaskError> {
        let key = WaitpointKey::new(key).map_err(refused)?;
        self.journal().open_waitpoint(new_waitpoint(&key)).await
    }

    /// All signals that the execution has received, oldest first.
    pub async fn signals(&self) -> Result<Vec<TaskSignal>, TaskError> {
        self.journal().all_signals().await
    }
}

fn new_waitpoint(key: &WaitpointKey) -> NewWaitpoint {
    NewWaitpoint { id: mint::waitpoint_id(), key: key.clone(), until: None }
}

fn refused(refusal: Refusal) -> TaskError {
    TaskError::permanent(refusal.to_string()).category(refusal.code().as_str())
}
