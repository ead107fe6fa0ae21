//! Budgets and quotas: made, changed, reset, removed.

use super::{Context, Decide, Facts, ReadSet, Reply, Step};
use crate::budget::{Budget, BudgetLimits};
use crate::quota::{Quota, QuotaLimits};
use crate::refusal::Refusal;
use crate::resource::{Body, Resource, ResourceKey};
use crate::time::{Millis, Time};

impl Context<'_> {
    /// The moment from which a limit created now counts: later than all that was admitted before, be
    /// it in the same millisecond.
    pub(super) fn creation(&self) -> Time {
        self.now + Millis::new(1)
    }
}

/// Makes a budget, or changes what it allows. What was used stays, but for dimensions that it no longer
/// counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutBudget {
    /// Where it lies.
    pub key: ResourceKey,
    /// What it allows.
    pub limits: BudgetLimits,
}

impl Decide for PutBudget {
    fn facts(&self) -> Facts<'_> {
        Facts { adds: true, ..Facts::resource(&self.key) }
    }

    fn check(&self) -> Result<(), Refusal> {
        self.key.name.check_free("name")?;
        self.limits.check()
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let before = context.loaded.resource(&self.key);
        let mut after = match before.and_then(Resource::as_budget) {
            Some(budget) => budget.with(self.limits.clone()),
            None => Budget::new(self.limits.clone(), context.now, context.creation()),
        };
        after.changed = context.changed(after.changed.as_ref());
        let answer = Reply::Budget(Box::new(after.clone()));
        Ok(Step::write(context.put(&self.key, before, Body::Budget(after)), answer))
    }
}

/// Forgets what was used of a budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResetBudget {
    /// Where it lies.
    pub key: ResourceKey,
}

impl Decide for ResetBudget {
    fn facts(&self) -> Facts<'_> {
        Facts::resource(&self.key)
    }

    fn check(&self) -> Result<(), Refusal> {
        self.key.name.check_free("name")
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let before = context.loaded.resource(&self.key);
        let budget = before.and_then(Resource::as_budget);
        let mut after = budget.cloned().ok_or(Refusal::NoSuch { what: "budget" })?;
        after.reset(context.now);
        after.since = context.now;
        after.changed = context.changed(after.changed.as_ref());
        let answer = Reply::Budget(Box::new(after.clone()));
        Ok(Step::write(context.put(&self.key, before, Body::Budget(after)), answer))
    }
}

/// Makes a quota, or changes what it allows. What it has let through stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutQuota {
    /// Where it lies.
    pub key: ResourceKey,
    /// What it allows.
    pub limits: QuotaLimits,
}

impl Decide for PutQuota {
    fn facts(&self) -> Facts<'_> {
        Facts { adds: true, ..Facts::resource(&self.key) }
    }

    fn check(&self) -> Result<(), Refusal> {
        self.key.name.check_free("name")?;
        self.limits.check()
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let before = context.loaded.resource(&self.key);
        let mut after = match before.and_then(Resource::as_quota) {
            Some(quota) => Quota { limits: self.limits.clone(), ..quota.clone() },
            None => Quota::new(self.limits.clone(), context.creation()),
        };
        after.changed = context.changed(after.changed.as_ref());
        let answer = Reply::Quota(Box::new(after.clone()));
        Ok(Step::write(context.put(&self.key, before, Body::Quota(after)), answer))
    }
}

/// Removes a budget or a quota. What names it waits until there is one again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discard {
    /// Where it lies.
    pub key: ResourceKey,
}

impl Decide for Discard {
    fn facts(&self) -> Facts<'_> {
        Facts::resource(&self.key)
    }

    fn check(&self) -> Result<(), Refusal> {
        self.key.name.check_free("name")
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let what = self.key.kind.as_str();
        let before = context.loaded.resource(&self.key).ok_or(Refusal::NoSuch { what })?;
        Ok(Step::write(context.discard(before), Reply::Done))
    }
}
