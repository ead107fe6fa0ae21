//! Claim what was granted: turn a reservation into a lease.

use super::{
    Claimed, Context, Decide, Facts, Phase, ReadSet, Settlement, Step, TICKET_TTL, Target,
};
use crate::id::{LeaseId, RequestId};
use crate::payload::{BlobKey, BlobPart};
use crate::record::Execution;
use crate::refusal::Refusal;
use crate::state::{Intent, State, Worker};
use crate::table::Verb;
use crate::time::Millis;
use crate::timer;

/// Turns a grant into a lease, which is named after the grant's request, so that a repeated call finds
/// it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimGranted {
    /// The execution that was reserved.
    pub target: Target,
    /// The request that reserved it.
    pub request: RequestId,
    /// Who claims: the worker it was reserved for.
    pub worker: Worker,
}

impl ClaimGranted {
    fn why(&self, record: &Execution, context: &Context<'_>) -> Result<Intent, Refusal> {
        match &record.state {
            State::Granted { grant, why }
                if grant.request == self.request && timer::due(record, context.now).is_none() =>
            {
                if grant.to == self.worker {
                    Ok(*why)
                } else {
                    Err(Refusal::WrongWorker)
                }
            }
            _ => Err(Refusal::StaleGrant),
        }
    }

    fn already_held(&self, record: &Execution, context: &Context<'_>) -> bool {
        let mine = |request| request == self.request;
        timer::due(record, context.now).is_none()
            && record
                .lease()
                .is_some_and(|held| mine(held.id.request) && held.worker == self.worker)
    }
}

impl Decide for ClaimGranted {
    fn facts(&self) -> Facts<'_> {
        Facts::execution(self.target.execution, Verb::ClaimGranted)
    }

    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        let blobs = vec![BlobKey { execution: self.target.execution, part: BlobPart::Input }];
        ReadSet { blobs, ..ReadSet::record(self.target.execution) }
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = context.found(&self.target)?;
        if self.already_held(record, context) {
            let assignments = context.assignment(record).into_iter().collect();
            return Ok(Step::answer(Claimed { assignments, ..Claimed::default() }));
        }
        let why = self.why(record, context)?;
        let lane = (record.spec.namespace.clone(), record.spec.lane.clone());
        if context.loaded.lane.is_none() {
            return Ok(Step::NeedMore(ReadSet { lane: Some(lane), ..ReadSet::default() }));
        }
        let records = context.missing_flows([record].into_iter());
        if !records.is_empty() {
            return Ok(Step::NeedMore(ReadSet { records, ..ReadSet::default() }));
        }
        if context.is_barred(record) {
            return Err(Refusal::StaleGrant);
        }
        if context.withheld().is_some() {
            return Err(Refusal::LanePaused);
        }
        let lease = LeaseId::new(self.request, 0, record.epoch);
        let (mut write, after) = context.hold(record, why, &self.worker, lease);
        if let Some(admission) = after.admitted_under() {
            let at_least = Millis::new(after.spec.policy.lease_ttl.get() + TICKET_TTL.get());
            let phase = Phase::Running { started: Some(context.now), at_least };
            write.settlements.push(Settlement::of(&after, admission, phase));
        }
        let assignment = context.assignment(&after).ok_or(Refusal::StaleGrant)?;
        let claimed = Claimed { assignments: vec![assignment], ..Claimed::default() };
        Ok(Step::write(context.guarded(write), claimed))
    }
}
