//! Block and unblock: an execution leaves its queue while a budget or a quota has no room for it.

use super::super::{Context, Decide, Facts, ReadSet, Reply, Step};
use crate::event::EventKind;
use crate::id::ExecutionId;
use crate::limits::Blocker;
use crate::refusal::Refusal;
use crate::resource::{Body, ResourceKey};
use crate::state::State;
use crate::table::Verb;

/// Takes a queued execution out of its queue. It belongs to no tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Which execution.
    pub execution: ExecutionId,
    /// What has no room for it.
    pub on: Blocker,
    /// More about it, for people.
    pub detail: Box<str>,
}

impl Decide for Block {
    fn facts(&self) -> Facts<'_> {
        Facts::execution(self.execution, Verb::Block)
    }

    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let Some(record) = context.loaded.record(self.execution) else {
            return Ok(Step::answer(Reply::Applied(false)));
        };
        let why = match &record.state {
            State::Queued { why } => *why,
            State::Blocked { on, .. } => {
                return Ok(Step::answer(Reply::Applied(*on == self.on)));
            }
            _ => return Ok(Step::answer(Reply::Applied(false))),
        };
        let (on, detail) = (self.on.clone(), self.detail.clone());
        let mut after = record.clone();
        after.state = State::Blocked { on, why, detail };
        let write = context.update(record, after, EventKind::Blocked);
        Ok(Step::write(write, Reply::Applied(true)))
    }
}

/// Returns a blocked execution to its place in its queue, where it asks again. It belongs to no
/// tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unblock {
    /// Which execution.
    pub execution: ExecutionId,
    /// What it waits for; one that waits for something else stays.
    pub on: Blocker,
}

impl Decide for Unblock {
    fn facts(&self) -> Facts<'_> {
        Facts::execution(self.execution, Verb::Unblock)
    }

    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let Some(record) = context.loaded.record(self.execution) else {
            return Ok(Step::answer(Reply::Applied(false)));
        };
        let why = match &record.state {
            State::Blocked { on, why, .. } if *on == self.on => *why,
            state => {
                let waits = matches!(state, State::Queued { .. });
                return Ok(Step::answer(Reply::Applied(waits)));
            }
        };
        let mut after = record.clone();
        after.state = State::Queued { why };
        let what = EventKind::Unblocked { resumes: !why.starts_attempt() };
        Ok(Step::write(context.update(record, after, what), Reply::Applied(true)))
    }
}

/// Records whether executions are blocked on a budget or a quota: without any, nothing is released
/// for it. A caller that blocks an execution checks afterwards whether the opposite was recorded
/// meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetWaiters {
    /// Which budget or quota.
    pub key: ResourceKey,
    /// Whether executions are blocked on it.
    pub waiting: bool,
}

impl Decide for SetWaiters {
    fn facts(&self) -> Facts<'_> {
        Facts::resource(&self.key)
    }

    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let before = context.loaded.resource(&self.key);
        let body = match before.map(|resource| resource.body.clone()) {
            Some(Body::Quota(mut quota)) if quota.has_waiters != self.waiting => {
                match self.waiting {
                    true => quota.expect_waiters(context.now, context.jitter),
                    false => quota.has_no_waiters(),
                }
                Body::Quota(quota)
            }
            Some(Body::Budget(mut budget)) if budget.has_waiters != self.waiting => {
                budget.has_waiters = self.waiting;
                Body::Budget(budget)
            }
            _ => return Ok(Step::answer(Reply::Applied(false))),
        };
        Ok(Step::write(context.put(&self.key, before, body), Reply::Applied(true)))
    }
}
