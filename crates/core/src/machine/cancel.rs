//! Cancel: by the holder, or by an operator at once or with a grace.

use super::hold::check_message;
use super::{Cancelled, Context, Decide, Facts, LeaseRef, ReadSet, Step, Target};
use crate::act::Deed;
use crate::bounds;
use crate::digest::Digest;
use crate::event::EventKind;
use crate::flow::{Ending, HeldMembers, Phase};
use crate::id::LeaseId;
use crate::record::Execution;
use crate::refusal::Refusal;
use crate::state::{CancelRequest, Outcome, State};
use crate::table::Verb;
use crate::time::Millis;

/// A holder cancels what it holds, by itself or because it was asked to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelHeld {
    /// What is held.
    pub hold: LeaseRef,
    /// Why, for people.
    pub reason: Option<Box<str>>,
}

impl Decide for CancelHeld {
    fn facts(&self) -> Facts<'_> {
        Facts::stop(&self.hold.target, Verb::CancelHeld)
    }

    fn lease_mut(&mut self) -> Option<&mut LeaseId> {
        Some(&mut self.hold.fence.lease)
    }

    fn check(&self) -> Result<(), Refusal> {
        check_message("reason", self.reason.as_deref().unwrap_or(""))
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.hold.target.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let digest = Digest::of(|fields| {
            fields.text("cancel");
            fields.text(self.reason.as_deref().unwrap_or(""));
        });
        context.exit(&self.hold, digest, |held| {
            let asked = held.cancel.and_then(|request| request.reason.clone());
            context.cancelled(held.record, self.reason.clone().or(asked))
        })
    }
}

/// An operator cancels a flow. From then on none of its members is claimed, released or added; they end
/// one after the other, and the flow after them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelFlow {
    /// Which flow.
    pub target: Target,
    /// What becomes of members that a worker holds.
    pub held: HeldMembers,
    /// Why, for people.
    pub reason: Option<Box<str>>,
}

impl Decide for CancelFlow {
    fn facts(&self) -> Facts<'_> {
        Facts::execution(self.target.execution, Verb::Cancel)
    }

    fn check(&self) -> Result<(), Refusal> {
        if let HeldMembers::Grace(grace) = self.held {
            grace.within("grace", bounds::SPAN_MIN, bounds::GRACE_MAX)?;
        }
        check_message("reason", self.reason.as_deref().unwrap_or(""))
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.target.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = context.found(&self.target)?;
        match &record.state {
            _ if !record.is_flow() => Err(Refusal::NoSuch { what: "flow" }),
            State::Finished { outcome: Outcome::Cancelled { .. }, .. } => {
                Ok(Step::answer(Cancelled::Finished))
            }
            State::Finished { .. } => Err(Refusal::WrongState {
                command: "cancel",
                state: record.public_state(),
                needs: "unfinished",
            }),
            _ => Ok(context.cancel_flow(record, self.held, self.reason.clone())),
        }
    }
}

impl Context<'_> {
    /// Ends a flow. One that is ending already keeps its outcome; its held members are given no more time
    /// than before.
    fn cancel_flow(&self, record: &Execution, held: HeldMembers, reason: Option<Box<str>>) -> Step {
        let answer = match held {
            HeldMembers::Grace(grace) => Cancelled::Cancelling { by: self.now + grace },
            HeldMembers::Cancel | HeldMembers::Finish => Cancelled::Cancelling { by: self.now },
        };
        let earlier = match record.flow.as_deref().map(|flow| &flow.phase) {
            Some(Phase::Ending(ending)) => Some(ending.clone()),
            _ => None,
        };
        let ending = match earlier.clone() {
            Some(earlier) if held == HeldMembers::Cancel => Ending { held, ..earlier },
            Some(earlier) => earlier,
            None => Ending { outcome: Outcome::Cancelled { reason }, held },
        };
        match earlier.as_ref() == Some(&ending) {
            true => Step::answer(answer),
            false => {
                let mut write = self.end_flow(record, ending);
                let flow = write.changes.iter_mut().find(|change| change.id == record.id);
                if let Some(after) = flow.and_then(|change| change.after.as_mut()) {
                    self.sign(after, Deed::Cancel);
                }
                Step::write(write, answer)
            }
        }
    }
}

/// An operator cancels: at once, or leaving a holder some time to stop by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancel {
    /// Which execution.
    pub target: Target,
    /// How long a holder may still work; `None` ends its lease at once.
    pub grace: Option<Millis>,
    /// Why, for people.
    pub reason: Option<Box<str>>,
}

impl Cancel {
    /// What is said now, or else what an earlier cancel of the same hold said.
    fn reason(&self, record: &Execution) -> Option<Box<str>> {
        let earlier = match &record.state {
            State::Active { cancel: Some(request), .. } => request.reason.clone(),
            _ => None,
        };
        self.reason.clone().or(earlier)
    }
}

impl Decide for Cancel {
    fn facts(&self) -> Facts<'_> {
        Facts::stop(&self.target, Verb::Cancel)
    }

    fn check(&self) -> Result<(), Refusal> {
        if let Some(grace) = self.grace {
            grace.within("grace", bounds::SPAN_MIN, bounds::GRACE_MAX)?;
        }
        check_message("reason", self.reason.as_deref().unwrap_or(""))
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.target.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = context.found(&self.target)?;
        if record.is_flow() && record.outcome().is_none() {
            let held = self.grace.map_or(HeldMembers::Cancel, HeldMembers::Grace);
            return Ok(context.cancel_flow(record, held, self.reason.clone()));
        }
        match (&record.state, self.grace) {
            (State::Finished { outcome: Outcome::Cancelled { .. }, .. }, _) => {
                Ok(Step::answer(Cancelled::Finished))
            }
            (State::Finished { .. }, _) => Err(Refusal::WrongState {
                command: "cancel",
                state: record.public_state(),
                needs: "unfinished",
            }),
            (State::Active { lease, cancel }, Some(grace)) => {
                let asked = context.now + grace;
                let by = cancel.as_ref().map_or(asked, |earlier| earlier.by.min(asked));
                let answer = Cancelled::Cancelling { by };
                let request = Some(CancelRequest { by, reason: self.reason(record) });
                if *cancel == request {
                    return Ok(Step::answer(answer));
                }
                let mut after = record.clone();
                after.state = State::Active { lease: lease.clone(), cancel: request };
                context.sign(&mut after, Deed::Cancel);
                Ok(Step::write(context.update(record, after, EventKind::Cancelling), answer))
            }
            _ => {
                let mut leave = context.cancelled(record, self.reason(record));
                context.sign(&mut leave.after, Deed::Cancel);
                let write = context.update(record, leave.after, leave.what);
                Ok(Step::write(write, Cancelled::Finished))
            }
        }
    }
}
