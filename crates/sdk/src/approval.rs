//! Waits for the decision of people.

use std::time::Duration;

use ff_core::approval::Decision;
use ff_core::suspension::SuspendReason;
use serde::Deserialize;

use crate::context::TaskContext;
use crate::task_error::TaskError;
use crate::wait::Wait;
use crate::waits::{TaskSignal, Waited};

/// What people are asked.
#[derive(Debug, Clone)]
#[must_use = "nobody is asked before a call takes it"]
pub struct Approval {
    waitpoint: String,
    approvers: u32,
    message: Box<str>,
    timeout: Option<Duration>,
}

impl Approval {
    /// Asks this; one person decides.
    pub fn ask(message: &str) -> Approval {
        let (waitpoint, message) = ("approval".to_owned(), message.into());
        Approval { waitpoint, approvers: 1, message, timeout: None }
    }

    /// So many different people must say yes. One no is enough for a no.
    pub fn by(mut self, approvers: u32) -> Approval {
        self.approvers = approvers;
        self
    }

    /// At this waitpoint instead of `approval`, for a task that asks several things at once.
    pub fn at(mut self, waitpoint: &str) -> Approval {
        self.waitpoint = waitpoint.to_owned();
        self
    }

    /// Waits at most this long.
    pub fn within(mut self, longest: Duration) -> Approval {
        self.timeout = Some(longest);
        self
    }
}

impl From<Approval> for Wait {
    fn from(approval: Approval) -> Wait {
        let decided = |decision: Decision| Wait::at(&approval.waitpoint).named(decision.as_str());
        let yes = decided(Decision::Approve).sources(approval.approvers);
        let wait = Wait::any([yes, decided(Decision::Reject)])
            .reason(SuspendReason::Approval)
            .message(&approval.message);
        match approval.timeout {
            Some(longest) => wait.within(longest),
            None => wait,
        }
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

    fn by(signals: &[TaskSignal]) -> Decided {
        let of = |decision: Decision| {
            let is_it = move |one: &&TaskSignal| one.name.as_deref() == Some(decision.as_str());
            signals.iter().filter(is_it).map(Vote::of)
        };
        match of(Decision::Reject).next() {
            Some(no) => Decided::Rejected(no),
            None => Decided::Approved(of(Decision::Approve).collect()),
        }
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
    /// Waits for the decision of people, as [`Self::wait_for_signal`] does. It is found with
    /// `ff ls --state suspended --reason approval`, and made with `ff approve` and `ff reject` or at a
    /// link. Who decided is known by their credential or their link, so nobody counts twice.
    pub async fn wait_for_approval(
        &self,
        name: &str,
        approval: Approval,
    ) -> Result<Decided, TaskError> {
        Ok(match self.wait_for_signal(name, approval.into()).await? {
            Waited::TimedOut => Decided::TimedOut,
            Waited::Resumed => Decided::Resumed,
            Waited::Signals(signals) => Decided::by(&signals),
        })
    }
}
