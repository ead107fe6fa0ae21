//! Hand back: a holder gives up what it has not finished, without spending a retry.

use super::guard::Leave;
use super::{Context, Decide, Facts, LeaseRef, ReadSet, Step};
use crate::digest::Digest;
use crate::event::EventKind;
use crate::id::LeaseId;
use crate::record::{Execution, Exited};
use crate::refusal::Refusal;
use crate::state::{Intent, State};
use crate::table::Verb;

/// Ends the lease and returns the execution to its old place, to continue the same attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandBack {
    /// What is held.
    pub hold: LeaseRef,
}

impl Decide for HandBack {
    fn facts(&self) -> Facts<'_> {
        Facts::stop(&self.hold.target, Verb::HandBack)
    }

    fn lease_mut(&mut self) -> Option<&mut LeaseId> {
        Some(&mut self.hold.fence.lease)
    }

    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.hold.target.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let digest = Digest::of(|fields| fields.text("hand_back"));
        context.exit(&self.hold, digest, |held| match held.cancel {
            Some(request) => context.cancelled(held.record, request.reason.clone()),
            None => Leave {
                after: requeued(held.record, Intent::HandBack),
                what: EventKind::HandedBack,
                answer: Exited::HandedBack,
                result: None,
                entry: None,
            },
        })
    }
}

/// `before`, back in its old place to continue its attempt.
pub(super) fn requeued(before: &Execution, why: Intent) -> Execution {
    let mut after = before.clone();
    after.state = State::Queued { why };
    after
}
