//! Block and unblock: an execution leaves its queue while a budget or a quota has no room for it.

use super::{Context, Decide, ReadSet, Reply, Settling, Step, WriteSet};
use crate::control::Blocker;
use crate::event::What;
use crate::id::{ExecutionId, LeaseId};
use crate::name::ResourceName;
use crate::record::Execution;
use crate::refusal::Refusal;
use crate::state::State;
use crate::time::Time;

/// Takes a queued execution out of its queue. It belongs to no tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Which execution.
    pub execution: ExecutionId,
    /// What has no room for it.
    pub on: Blocker,
    /// More about it, for people.
    pub detail: Box<str>,
    /// The moment that is booked for it.
    pub until: Option<Time>,
}

impl Decide for Block {
    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let Some(record) = context.loaded.record(self.execution) else {
            return Ok(Step::answer(Reply::Unblocked(false)));
        };
        let why = match &record.state {
            State::Queued { why } if record.admission.is_none() => *why,
            State::Blocked { on, .. } => {
                return Ok(Step::answer(Reply::Unblocked(*on == self.on)));
            }
            _ => return Ok(Step::answer(Reply::Unblocked(false))),
        };
        let (on, detail, until) = (self.on.clone(), self.detail.clone(), self.until);
        let mut after = record.clone();
        after.state = State::Blocked { on, why, detail, until };
        let write = context.update(record, after, What::Blocked);
        Ok(Step::write(write, Reply::Unblocked(true)))
    }
}

/// Puts a blocked execution back into its place, or notes that a queued one is admitted. It belongs
/// to no tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unblock {
    /// Which execution.
    pub execution: ExecutionId,
    /// What it waits for; one that waits for something else stays. `None` means a queued one.
    pub on: Option<Blocker>,
    /// The name under which it is admitted; `None` lets it ask again.
    pub admission: Option<LeaseId>,
}

impl Decide for Unblock {
    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let Some(record) = context.loaded.record(self.execution) else {
            return Ok(Step::answer(Reply::Unblocked(false)));
        };
        if record.admission.is_some() {
            return Ok(Step::answer(Reply::Unblocked(record.admission == self.admission)));
        }
        let (state, what) = match (&record.state, &self.on) {
            (State::Blocked { on, why, .. }, Some(cleared)) if on == cleared => {
                let what = What::Unblocked { resumes: !why.starts_attempt() };
                (State::Queued { why: *why }, Some(what))
            }
            (State::Queued { .. }, None) if self.admission.is_some() => {
                (record.state.clone(), None)
            }
            (State::Blocked { .. }, _) => return Ok(Step::answer(Reply::Unblocked(false))),
            // It waits for nothing; there is nothing to be admitted to.
            _ => return Ok(Step::answer(Reply::Unblocked(self.admission.is_none()))),
        };
        let mut after = record.clone();
        after.state = state;
        after.admission = self.admission;
        Ok(Step::write(context.update(record, after, what), Reply::Unblocked(true)))
    }
}

/// Takes an admission that nobody used from a queued execution. It belongs to no tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unadmit {
    /// Which execution.
    pub execution: ExecutionId,
    /// The name of the admission.
    pub admission: LeaseId,
}

impl Decide for Unadmit {
    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = context.loaded.record(self.execution);
        let idle = |record: &&Execution| {
            record.admission == Some(self.admission) && matches!(record.state, State::Queued { .. })
        };
        let Some(record) = record.filter(idle) else {
            let keeps = record.is_some_and(|record| record.admission == Some(self.admission));
            return Ok(Step::answer(Reply::Unblocked(!keeps)));
        };
        let mut after = record.clone();
        after.admission = None;
        let mut write = context.update(record, after, None);
        write.settlings.push(Settling::stopped(record, self.admission));
        Ok(Step::write(write, Reply::Unblocked(true)))
    }
}

impl Context<'_> {
    /// Takes the admission of what no longer runs or waits to, and has it settled.
    pub(super) fn leave_house(
        &self,
        before: &Execution,
        after: &mut Execution,
        write: &mut WriteSet,
    ) {
        let Some(admission) = after.admission else { return };
        let runs = |record: &Execution| matches!(record.state, State::Active { .. });
        let waits = matches!(after.state, State::Queued { .. } | State::Granted { .. });
        if (runs(before) && !runs(after)) || !(runs(after) || waits) {
            after.admission = None;
            write.settlings.push(Settling::stopped(after, admission));
        }
    }
}

impl Settling {
    /// The settlement of an execution that was admitted under a name and has stopped.
    pub fn stopped(record: &Execution, admission: LeaseId) -> Settling {
        let mut control = record.spec.control.clone();
        if control.is_empty() {
            // Only its lane can have admitted it.
            control.quotas.insert(ResourceName::of_lane(&record.spec.lane));
        }
        Settling {
            namespace: record.spec.namespace.clone(),
            execution: record.id,
            admission,
            control,
            used: record.used.clone(),
            seen: record.version.counter(),
            goes_on: None,
        }
    }
}
