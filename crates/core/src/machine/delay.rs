//! Delay: a holder puts its execution off and gives the worker free.

use super::guard::Leave;
use super::journal::entry_of;
use super::{Context, Decide, Facts, LeaseRef, ReadSet, Step};
use crate::digest::Digest;
use crate::event::EventKind;
use crate::id::LeaseId;
use crate::journal::Recorded;
use crate::name::StepName;
use crate::record::{Execution, Exited};
use crate::refusal::Refusal;
use crate::state::{DelayReason, Intent, State};
use crate::table::Verb;
use crate::time::When;

/// Ends the lease and continues the same attempt later. A moment in the past means at once, behind
/// what is already queued. With a step it is a durable sleep: whatever ends it writes its entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delay {
    /// What is held.
    pub hold: LeaseRef,
    /// When it is to continue.
    pub until: When,
    /// The name of the sleep that this is: its end is written to the journal.
    pub step: Option<StepName>,
}

impl Delay {
    fn leave(&self, before: &Execution, context: &Context<'_>) -> Leave {
        let until = self.until.resolve(context.now);
        let mut after = before.clone();
        let (mut entry, step) = (None, self.step.clone());
        match until {
            Some(until) => after.state = State::Delayed { until, why: DelayReason::Hold, step },
            None => {
                after.queued_at = context.now;
                after.state = State::Queued { why: Intent::Resume };
                entry = step.map(|step| after.record_entry(step, context.now, Recorded::Sleep));
            }
        }
        Leave {
            after,
            what: EventKind::Delayed { until },
            answer: Exited::Delayed { until: until.unwrap_or(context.now) },
            result: None,
            entry,
        }
    }
}

impl Decide for Delay {
    fn facts(&self) -> Facts<'_> {
        Facts::stop(&self.hold.target, Verb::Delay)
    }

    fn lease_mut(&mut self) -> Option<&mut LeaseId> {
        Some(&mut self.hold.fence.lease)
    }

    fn check(&self) -> Result<(), Refusal> {
        self.until.check("until")
    }

    fn reads(&self) -> ReadSet {
        let execution = self.hold.target.execution;
        let elements = self.step.iter().map(|step| entry_of(execution, step)).collect();
        ReadSet { elements, ..ReadSet::record(execution) }
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let digest = Digest::of(|fields| {
            fields.text("delay");
            self.until.fingerprint(fields);
            self.step.iter().for_each(|step| fields.text(step.as_str()));
        });
        context.try_exit(&self.hold, digest, |held| {
            if let Some(request) = held.cancel {
                return Ok(context.cancelled(held.record, request.reason.clone()));
            }
            if let Some(step) = &self.step {
                context.check_unrecorded(held.record, step)?;
            }
            Ok(self.leave(held.record, context))
        })
    }
}
