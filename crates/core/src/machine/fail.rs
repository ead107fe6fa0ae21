//! Fail: a holder could not do it.

use super::hold::check_message;
use super::{Context, Decide, Facts, LeaseRef, ReadSet, Step};
use crate::digest::Digest;
use crate::id::LeaseId;
use crate::record::EndReason;
use crate::refusal::Refusal;
use crate::state::Failure;
use crate::table::Verb;

/// Ends the attempt. The failure and the retry policy decide whether another follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fail {
    /// What is held.
    pub hold: LeaseRef,
    /// What went wrong.
    pub failure: Failure,
}

impl Decide for Fail {
    fn facts(&self) -> Facts<'_> {
        Facts::stop(&self.hold.target, Verb::Fail)
    }

    fn lease_mut(&mut self) -> Option<&mut LeaseId> {
        Some(&mut self.hold.fence.lease)
    }

    fn check(&self) -> Result<(), Refusal> {
        check_message("failure.message", &self.failure.message)
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.hold.target.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let failure = &self.failure;
        let digest = Digest::of(|fields| {
            fields.text("fail");
            fields.text(failure.category.as_str());
            fields.number(failure.retryable.into());
            fields.text(&failure.message);
        });
        context.exit(&self.hold, digest, |held| match held.cancel {
            Some(request) => context.cancelled(held.record, request.reason.clone()),
            None => {
                let reason = EndReason::Failed(failure.clone());
                context.failed(held.record, failure.clone(), reason)
            }
        })
    }
}
