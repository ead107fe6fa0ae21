//! Tick of a resource: let time do what is due.

use super::admit::RESERVED;
use super::lane::SPREAD;
use super::{Context, Decide, ReadSet, Step};
use crate::name::ResourceName;
use crate::refusal::Refusal;
use crate::resource::{Body, LaneState, Resource, ResourceKey, ResourceKind, Ticket};

/// Does what is due to a resource, if anything is. It belongs to no tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TickResource {
    /// Which one.
    pub key: ResourceKey,
}

/// What a tick of a resource did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceTicked {
    /// Nothing was due.
    Nothing,
    /// A worker was silent for too long: its registration is removed.
    WorkerGone,
    /// This must be copied to every partition; somebody looks to it again if that is not done.
    Spread(LaneState),
    /// The period of a budget is over, and what was used is forgotten.
    BudgetReset,
    /// Somebody must look whether the execution still has this ticket.
    Look(Ticket),
    /// A moment that was booked was not asked for, and is free again.
    Unbooked,
}

impl TickResource {
    /// Frees what is booked under a ticket, and the ticket with it.
    fn unbook(&self, context: &Context<'_>, resource: &Resource, ticket: &Ticket) -> Step {
        let key = |name: &ResourceName| ResourceKey {
            kind: ResourceKind::Quota,
            name: name.clone(),
            ..self.key.clone()
        };
        let keys: Vec<_> = ticket.booked.iter().map(|(name, _)| key(name)).collect();
        if keys.iter().any(|key| !context.loaded.resources.contains_key(key)) {
            return Step::NeedMore(ReadSet { resources: keys, ..ReadSet::default() });
        }
        let mut write = context.discard(resource);
        for (name, at) in &ticket.booked {
            let before = context.loaded.resource(&key(name));
            if let Some(mut quota) = before.and_then(Resource::as_quota).cloned() {
                quota.take_back(*at);
                let changed = context.put(&key(name), before, Body::Quota(quota));
                write.resources.extend(changed.resources);
            }
        }
        Step::write(write, ResourceTicked::Unbooked)
    }
}

impl Decide for TickResource {
    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let before = context.loaded.resource(&self.key);
        let due = before.filter(|resource| resource.timer().is_some_and(|at| at <= context.now));
        let Some(resource) = due else {
            return Ok(Step::answer(ResourceTicked::Nothing));
        };
        Ok(match &resource.body {
            Body::Worker(_) => Step::write(context.discard(resource), ResourceTicked::WorkerGone),
            Body::Quota(_) => Step::answer(ResourceTicked::Nothing),
            Body::Budget(budget) => {
                let mut after = budget.clone();
                after.reset(context.now);
                let write = context.put(&self.key, before, Body::Budget(after));
                Step::write(write, ResourceTicked::BudgetReset)
            }
            Body::Ticket(ticket) if ticket.held.is_some() => {
                // It is settled or kept by then, or looked at once more.
                let after = Ticket { until: context.now + RESERVED, ..ticket.clone() };
                let answer = ResourceTicked::Look(after.clone());
                Step::write(context.put(&self.key, before, Body::Ticket(after)), answer)
            }
            Body::Ticket(ticket) => return Ok(self.unbook(context, resource, ticket)),
            Body::Lane(lane) => {
                let after = LaneState { spread_by: Some(context.now + SPREAD), ..lane.clone() };
                let answer = ResourceTicked::Spread(after.clone());
                Step::write(context.put(&self.key, before, Body::Lane(after)), answer)
            }
        })
    }
}
