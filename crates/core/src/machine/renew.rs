//! Renew: a holder is alive and keeps its lease.

use super::{Context, Decide, Facts, LeaseRef, ReadSet, Renewed, Step};
use crate::id::LeaseId;
use crate::refusal::Refusal;
use crate::state::State;
use crate::table::Verb;

/// Extends a lease by its whole length from now. The attempt timeout is not extended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renew {
    /// What is held.
    pub hold: LeaseRef,
}

impl Decide for Renew {
    fn facts(&self) -> Facts<'_> {
        Facts::execution(self.hold.target.execution, Verb::Renew)
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
        let held = context.held(&self.hold)?;
        let mut lease = held.lease.clone();
        lease.until = context.now + held.record.spec.policy.lease_ttl;
        let answer =
            Renewed { until: lease.until, cancel_by: held.cancel.map(|request| request.by) };
        let mut after = held.record.clone();
        after.state = State::Active { lease, cancel: held.cancel.cloned() };
        Ok(Step::write(context.update(held.record, after, None), answer))
    }
}
