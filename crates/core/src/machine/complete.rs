//! Complete: a holder has the result.

use super::guard::Leave;
use super::{Context, Decide, Facts, LeaseRef, ReadSet, Step};
use crate::digest::Digest;
use crate::event::EventKind;
use crate::id::LeaseId;
use crate::payload::{BlobPart, Payload};
use crate::record::{EndReason, Exited};
use crate::refusal::Refusal;
use crate::state::Outcome;
use crate::table::Verb;

/// Ends the execution with a result, also while a cancel leaves the holder time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complete {
    /// What is held.
    pub hold: LeaseRef,
    /// The result.
    pub result: Payload,
}

impl Complete {
    /// The fingerprint of the call, by which a repeated one is known.
    pub fn digest(&self) -> Digest {
        Digest::of(|fields| {
            fields.text("complete");
            self.result.fingerprint(fields);
        })
    }
}

impl Decide for Complete {
    fn facts(&self) -> Facts<'_> {
        Facts {
            payload_bytes: self.result.bytes.len(),
            ..Facts::stop(&self.hold.target, Verb::Complete)
        }
    }

    fn lease_mut(&mut self) -> Option<&mut LeaseId> {
        Some(&mut self.hold.fence.lease)
    }

    fn check(&self) -> Result<(), Refusal> {
        self.result.check("result")
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.hold.target.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let step = context.exit(&self.hold, self.digest(), |held| {
            let outcome = Outcome::Success { result: self.result.shape() };
            Leave {
                after: context.finished(held.record, outcome, EndReason::Completed),
                what: EventKind::Completed,
                answer: Exited::Completed,
                result: Some((BlobPart::Result(held.record.run.number), self.result.bytes.clone())),
                entry: None,
            }
        })?;
        Ok(context.cascade_at_once(context.found(&self.hold.target)?, step))
    }
}
