//! Delay: a holder puts its execution off and gives the worker free.

use super::guard::Leave;
use super::{Context, Decide, Facts, LeaseRef, ReadSet, Step};
use crate::digest::Digest;
use crate::event::EventKind;
use crate::id::LeaseId;
use crate::record::{Execution, Exited};
use crate::refusal::Refusal;
use crate::state::{DelayReason, Intent, State};
use crate::table::Verb;
use crate::time::When;

/// Ends the lease and continues the same attempt later. A moment in the past means at once, behind
/// what is already queued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delay {
    /// What is held.
    pub hold: LeaseRef,
    /// When it is to continue.
    pub until: When,
}

impl Delay {
    fn leave(&self, before: &Execution, context: &Context<'_>) -> Leave {
        let until = self.until.resolve(context.now);
        let mut after = before.clone();
        match until {
            Some(until) => after.state = State::Delayed { until, why: DelayReason::Hold },
            None => {
                after.queued_at = context.now;
                after.state = State::Queued { why: Intent::Resume };
            }
        }
        Leave {
            after,
            what: EventKind::Delayed { until },
            answer: Exited::Delayed { until: until.unwrap_or(context.now) },
            result: None,
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
        ReadSet::record(self.hold.target.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let digest = Digest::of(|fields| {
            fields.text("delay");
            self.until.fingerprint(fields);
        });
        context.exit(&self.hold, digest, |held| match held.cancel {
            Some(request) => context.cancelled(held.record, request.reason.clone()),
            None => self.leave(held.record, context),
        })
    }
}
