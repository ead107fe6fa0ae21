//! Record a step: a holder keeps the result of a step for all later attempts.

use super::journal::{check_room, entry_of};
use super::{Context, Decide, Facts, LeaseRef, ReadSet, RecordedStep, Step};
use crate::id::LeaseId;
use crate::journal::{Recorded, says};
use crate::name::StepName;
use crate::payload::Payload;
use crate::refusal::Refusal;
use crate::table::Verb;

/// Adds the result of a step to the journal. The same result again is answered as the first time; an
/// entry with another content stands, whoever wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordStep {
    /// What is held.
    pub hold: LeaseRef,
    /// The name of the step.
    pub name: StepName,
    /// What it has come to.
    pub result: Payload,
}

impl Decide for RecordStep {
    /// It runs when memory is full: what a step has done would be done again.
    fn facts(&self) -> Facts<'_> {
        Facts {
            payload_bytes: self.result.bytes.len(),
            ..Facts::execution(self.hold.target.execution, Verb::RecordStep)
        }
    }

    fn lease_mut(&mut self) -> Option<&mut LeaseId> {
        Some(&mut self.hold.fence.lease)
    }

    fn check(&self) -> Result<(), Refusal> {
        self.result.check("result")
    }

    fn reads(&self) -> ReadSet {
        let execution = self.hold.target.execution;
        ReadSet { elements: vec![entry_of(execution, &self.name)], ..ReadSet::record(execution) }
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = context.held(&self.hold)?.record;
        let what = Recorded::Step(self.result.clone());
        if let Some(first) = context.entry(record, &self.name) {
            return match says(first, &what) {
                true => Ok(Step::answer(RecordedStep { number: first.number })),
                false => Err(Refusal::StepConflict),
            };
        }
        check_room(record, self.result.bytes.len())?;
        let mut after = record.clone();
        let entry = after.record_entry(self.name.clone(), context.now, what);
        let number = entry.number;
        let write = context.update(record, after, None).with_entry(Some(entry));
        Ok(Step::write(write, RecordedStep { number }))
    }
}
