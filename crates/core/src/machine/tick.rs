//! Tick: let time do what is due.

use super::{Context, Decide, ReadSet, Step, WriteSet};
use crate::event::What;
use crate::id::ExecutionId;
use crate::name::Category;
use crate::record::{EndReason, Execution};
use crate::refusal::Refusal;
use crate::state::{Failure, Outcome, State};
use crate::time::Time;
use crate::timer::{self, Due};

/// Does the earliest thing that is due, if anything is. It belongs to no tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tick {
    /// Which execution.
    pub execution: ExecutionId,
}

/// What a tick did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticked {
    /// What was due.
    pub did: Option<Due>,
    /// When time next does something to the execution.
    pub next: Option<Time>,
}

impl Decide for Tick {
    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let Some(record) = context.loaded.record(self.execution) else {
            return Ok(Step::answer(Ticked { did: None, next: None }));
        };
        let due = timer::due(record, context.now).filter(|due| context.may_do(record, *due));
        let Some(due) = due else {
            let next = timer::next(record).map(|(at, _)| at);
            return Ok(Step::answer(Ticked { did: None, next }));
        };
        let (write, next) = context.fire(record, due);
        Ok(Step::write(write, Ticked { did: Some(due), next }))
    }
}

impl Context<'_> {
    /// Whether the time is certain enough for what is due: only removal cannot be undone.
    fn may_do(&self, record: &Execution, due: Due) -> bool {
        let confirmed = self.now - self.loaded.unconfirmed;
        due != Due::Retention || record.retired_at().is_some_and(|at| at <= confirmed)
    }

    /// The write that does what is due to `record`, and when time next does something to it.
    pub(super) fn fire(&self, record: &Execution, due: Due) -> (WriteSet, Option<Time>) {
        let Some((after, what)) = self.fired(record, due) else {
            return (self.remove(record), None);
        };
        let next = timer::next(&after).map(|(at, _)| at);
        (self.update(record, after, what), next)
    }

    fn fired(&self, record: &Execution, due: Due) -> Option<(Execution, What)> {
        let cancel = match &record.state {
            State::Active { cancel: Some(request), .. } => Some(request),
            _ => None,
        };
        let leave = match (due, cancel) {
            (Due::Retention, _) => return None,
            (Due::Deadline, _) => {
                let after = self.finished(record, Outcome::Expired, EndReason::Expired);
                return Some((after, What::Expired));
            }
            (Due::DelayOver, _) => return Some(woken(record)),
            (Due::GrantExpired, _) => return Some(ungranted(record)),
            (Due::CancelGrace | Due::AttemptTimeout | Due::LeaseExpired, Some(request)) => {
                self.cancelled(record, request.reason.clone())
            }
            (Due::CancelGrace, None) => self.cancelled(record, None),
            (Due::AttemptTimeout, None) => {
                let failure = Failure {
                    category: Category::timeout(),
                    retryable: true,
                    message: "the attempt ran past its timeout".into(),
                };
                self.failed(record, failure, EndReason::TimedOut)
            }
            (Due::LeaseExpired, None) => self.reclaimed(record),
        };
        Some((leave.after, leave.what))
    }
}

fn woken(before: &Execution) -> (Execution, What) {
    let mut after = before.clone();
    let mut resumes = false;
    if let State::Delayed { until, why } = before.state {
        after.queued_at = until;
        after.state = State::Queued { why: why.then() };
        resumes = !why.then().starts_attempt();
    }
    (after, What::Woken { resumes })
}

fn ungranted(before: &Execution) -> (Execution, What) {
    let mut after = before.clone();
    if let State::Granted { why, .. } = before.state {
        after.state = State::Queued { why };
    }
    (after, What::GrantExpired)
}
