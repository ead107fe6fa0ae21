//! Hand back: a holder gives up what it has not finished, without spending a retry.

use super::guard::Leave;
use super::{Context, Decide, Hold, ReadSet, Step};
use crate::digest::Digest;
use crate::event::What;
use crate::record::{Execution, Exited};
use crate::refusal::Refusal;
use crate::state::{State, Why};

/// Ends the lease and returns the execution to its old place, to continue the same attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandBack {
    /// What is held.
    pub hold: Hold,
}

impl Decide for HandBack {
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
                after: requeued(held.record, Why::HandBack),
                what: What::HandedBack,
                answer: Exited::HandedBack,
                result: None,
            },
        })
    }
}

/// `before`, back in its old place to continue its attempt.
pub(super) fn requeued(before: &Execution, why: Why) -> Execution {
    let mut after = before.clone();
    after.state = State::Queued { why };
    after
}
