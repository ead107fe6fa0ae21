//! Revoke: an operator takes a lease away.

use super::guard::Leave;
use super::hand_back::requeued;
use super::{Context, Decide, Facts, ReadSet, Step, Target};
use crate::act::Deed;
use crate::digest::Digest;
use crate::event::EventKind;
use crate::id::LeaseId;
use crate::record::Exited;
use crate::refusal::{Refusal, Stale};
use crate::state::{Intent, State};
use crate::table::Verb;

/// Ends the named lease, so that a repeated call never ends a later one. The execution returns to
/// its old place, to continue the same attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revoke {
    /// Which execution.
    pub target: Target,
    /// Which lease.
    pub lease: LeaseId,
}

impl Decide for Revoke {
    fn facts(&self) -> Facts<'_> {
        Facts::stop(&self.target, Verb::Revoke)
    }

    fn lease_mut(&mut self) -> Option<&mut LeaseId> {
        Some(&mut self.lease)
    }

    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.target.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = context.found(&self.target)?;
        let stale = |why| Err(Refusal::StaleLease { why });
        let revoked = record.last_exit.as_ref();
        let revoked = revoked.filter(|exit| exit.lease == self.lease && exit.digest == digest());
        match &record.state {
            State::Active { lease, cancel } if lease.id == self.lease => {
                let mut leave = match cancel {
                    Some(request) => context.cancelled(record, request.reason.clone()),
                    None => Leave {
                        after: requeued(record, Intent::Revoke),
                        what: EventKind::Revoked,
                        answer: Exited::Revoked,
                        result: None,
                        entry: None,
                    },
                };
                context.sign(&mut leave.after, Deed::Revoke);
                Ok(context.leave(record, lease, digest(), leave))
            }
            state => match (revoked, state) {
                (Some(exit), _) => Ok(Step::answer(exit.answer)),
                (None, State::Finished { .. }) => stale(Stale::Finished),
                (None, _) => stale(Stale::Replaced),
            },
        }
    }
}

/// The fingerprint of a revocation: the lease's holder did not ask for it.
pub(super) fn digest() -> Digest {
    Digest::of(|fields| fields.text("revoke"))
}
