//! Tick: let time do what is due.

use super::{Context, Decide, Facts, ReadSet, Step, WriteSet};
use crate::collection::Element;
use crate::event::EventKind;
use crate::flow::{Ending, HeldMembers, Phase};
use crate::id::ExecutionId;
use crate::journal::Recorded;
use crate::name::Category;
use crate::record::{EndReason, Execution};
use crate::refusal::Refusal;
use crate::state::{Failure, Outcome, State};
use crate::suspension::OnTimeout;
use crate::time::Time;
use crate::timer::{self, DueAction};

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
    pub did: Option<DueAction>,
    /// When time next does something to the execution.
    pub next: Option<Time>,
}

impl Decide for Tick {
    fn facts(&self) -> Facts<'_> {
        Facts::due(self.execution)
    }

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
    fn may_do(&self, record: &Execution, due: DueAction) -> bool {
        let confirmed = self.now - self.loaded.unconfirmed;
        due != DueAction::Retention || record.retired_at().is_some_and(|at| at <= confirmed)
    }

    /// The write that does what is due to `record`, and when time next does something to it.
    pub(super) fn fire(&self, record: &Execution, due: DueAction) -> (WriteSet, Option<Time>) {
        if let Some(write) = self.fire_flow(record, due) {
            return (write, None);
        }
        let Some((after, what, entry)) = self.fired(record, due) else {
            return (self.remove(record), None);
        };
        let next = timer::next(&after).map(|(at, _)| at);
        (self.update(record, after, what).with_entry(entry), next)
    }

    /// The write that does what is due to a flow, if that is not what it is to any execution: its members
    /// end before it, and are removed before it.
    fn fire_flow(&self, record: &Execution, due: DueAction) -> Option<WriteSet> {
        let flow = record.flow.as_deref()?;
        match due {
            DueAction::Retention => Some(self.retire_flow(record)),
            DueAction::Deadline if flow.graph => {
                let outcome = match flow.phase {
                    Phase::Open => {
                        let reason = Some("its graph was not completed in time".into());
                        Outcome::Cancelled { reason }
                    }
                    _ => Outcome::Expired,
                };
                Some(self.end_flow(record, Ending { outcome, held: HeldMembers::Cancel }))
            }
            _ => None,
        }
    }

    /// `record` after what is due, what happened, and the entry of its journal that this writes; `None`
    /// removes it.
    fn fired(
        &self,
        record: &Execution,
        due: DueAction,
    ) -> Option<(Execution, EventKind, Option<Element>)> {
        let cancel = match &record.state {
            State::Active { cancel: Some(request), .. } => Some(request),
            _ => None,
        };
        let leave = match (due, cancel) {
            (DueAction::Retention, _) => return None,
            (DueAction::Deadline, _) => {
                let after = self.finished(record, Outcome::Expired, EndReason::Expired);
                return Some((after, EventKind::Expired, None));
            }
            (DueAction::DelayOver, _) => return Some(self.woken(record)),
            (DueAction::GrantExpired, _) => return Some(ungranted(record)),
            (DueAction::SuspensionOver, _) => return Some(self.suspension_over(record)),
            (
                DueAction::CancelGrace | DueAction::AttemptTimeout | DueAction::LeaseExpired,
                Some(request),
            ) => self.cancelled(record, request.reason.clone()),
            (DueAction::CancelGrace, None) => self.cancelled(record, None),
            (DueAction::AttemptTimeout, None) => {
                let failure = Failure {
                    category: Category::timeout(),
                    retryable: true,
                    message: "the attempt ran past its timeout".into(),
                };
                self.failed(record, failure, EndReason::TimedOut)
            }
            (DueAction::LeaseExpired, None) => self.reclaimed(record),
        };
        Some((leave.after, leave.what, leave.entry))
    }

    /// `before` back in its queue; what it slept in is over.
    fn woken(&self, before: &Execution) -> (Execution, EventKind, Option<Element>) {
        let mut after = before.clone();
        let (mut resumes, mut entry) = (false, None);
        if let State::Delayed { until, why, step } = &before.state {
            after.queued_at = *until;
            after.state = State::Queued { why: why.then() };
            resumes = !why.then().starts_attempt();
            let slept = step.clone();
            entry = slept.map(|step| after.record_entry(step, self.now, Recorded::Sleep));
        }
        (after, EventKind::Woken { resumes }, entry)
    }

    /// `before`, which its suspension ends because no signal came in time.
    fn suspension_over(&self, before: &Execution) -> (Execution, EventKind, Option<Element>) {
        let State::Suspended { suspension } = &before.state else {
            return (before.clone(), EventKind::Resumed { timed_out: true }, None);
        };
        let mut ended = before.clone();
        ended.waits.end(suspension.number, true);
        let message = "its suspension was not ended in time";
        let leave = match suspension.on_timeout {
            OnTimeout::Resume => {
                let (after, entry) = self.resumed(before, true);
                return (after, EventKind::Resumed { timed_out: true }, entry);
            }
            OnTimeout::Cancel => self.cancelled(&ended, Some(message.into())),
            OnTimeout::Expire => {
                let after = self.finished(&ended, Outcome::Expired, EndReason::Expired);
                return (after, EventKind::Expired, None);
            }
            OnTimeout::Fail => {
                let failure = Failure {
                    category: Category::suspension_timeout(),
                    retryable: false,
                    message: message.into(),
                };
                self.failed(&ended, failure.clone(), EndReason::Failed(failure))
            }
        };
        (leave.after, leave.what, None)
    }
}

fn ungranted(before: &Execution) -> (Execution, EventKind, Option<Element>) {
    let mut after = before.clone();
    if let State::Granted { why, .. } = before.state {
        after.state = State::Queued { why };
    }
    (after, EventKind::GrantExpired, None)
}
