//! Tick of a resource: let time do what is due.

use super::admission::TICKET_TTL;
use super::spread::SPREAD;
use super::{Context, Decide, Facts, ReadSet, Step};
use crate::feed::Trim;
use crate::refusal::Refusal;
use crate::resource::{Body, Resource, ResourceKey, Ticket};
use crate::time::Millis;
use crate::webhook::Webhook;

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
    /// This must be copied to every partition; the timer fires again until that is done.
    Spread(Box<Body>),
    /// The log of a feed must be trimmed.
    Trim {
        /// What is removed.
        trim: Trim,
        /// The feed is off as of this generation: once its log is empty, that must be said.
        off: Option<u64>,
    },
    /// The turn of a webhook has begun: whoever is answered this delivers.
    Deliver(Box<Webhook>),
    /// Moments of a schedule have come: they must be decided.
    Fire,
    /// The period of a budget is over, and what was used is forgotten.
    BudgetReset,
    /// The engine must check whether the execution still has this ticket.
    CheckTicket(Box<Ticket>),
    /// A quota may have room for executions that wait for its rate.
    Release {
        /// How soon it may have room for more.
        next: Option<Millis>,
    },
}

impl Decide for TickResource {
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
        let due = before.filter(|resource| resource.timer().is_some_and(|at| at <= context.now));
        let Some(resource) = due else {
            return Ok(Step::answer(ResourceTicked::Nothing));
        };
        Ok(match &resource.body {
            // Keys have no timer: each says until when it verifies.
            Body::SigningKeys(_) => Step::answer(ResourceTicked::Nothing),
            Body::Worker(_) => Step::write(context.discard(resource), ResourceTicked::WorkerGone),
            Body::Quota(quota) => {
                let mut after = quota.clone();
                after.release(context.now);
                let next = after.release_at.map(|at| at.since(context.now));
                let write = context.put(&self.key, before, Body::Quota(after));
                Step::write(write, ResourceTicked::Release { next })
            }
            Body::Budget(budget) => {
                let mut after = budget.clone();
                after.reset(context.now);
                let write = context.put(&self.key, before, Body::Budget(after));
                Step::write(write, ResourceTicked::BudgetReset)
            }
            Body::Ticket(ticket) => {
                // It is settled or kept by then, or checked once more.
                let after = Ticket { until: context.now + TICKET_TTL, ..ticket.clone() };
                let answer = ResourceTicked::CheckTicket(Box::new(after.clone()));
                Step::write(context.put(&self.key, before, Body::Ticket(after)), answer)
            }
            // It has no timer.
            Body::Credential(_) => Step::answer(ResourceTicked::Nothing),
            Body::Webhook(webhook) => {
                let mut after = webhook.clone();
                after.next_turn(context.now);
                let answer = ResourceTicked::Deliver(Box::new(after.clone()));
                Step::write(context.put(&self.key, before, Body::Webhook(after)), answer)
            }
            // Deciding its moments is a command of its own, which reads more.
            Body::Schedule(_) => Step::answer(ResourceTicked::Fire),
            Body::Lane(_) => self.spread(context, resource),
            Body::Feed(_) if resource.body.spread_by().is_some_and(|by| by <= context.now) => {
                self.spread(context, resource)
            }
            Body::Feed(feed) => {
                let mut after = feed.clone();
                if after.is_unread(context.now) {
                    after.switch(false, context.now);
                    after.generation += 1;
                    // Copies are made by the next tick.
                    after.spread_by = Some(context.now);
                }
                after.trim_at = Some(context.now + after.trim_step());
                let off = (!after.on).then_some(after.generation);
                let answer = ResourceTicked::Trim { trim: after.trimming(context.now), off };
                Step::write(context.put(&self.key, before, Body::Feed(after)), answer)
            }
        })
    }
}

impl TickResource {
    /// Has the resource copied to every partition, again until that is done.
    fn spread(&self, context: &Context<'_>, resource: &Resource) -> Step {
        let after = resource.body.clone().spreading(Some(context.now + SPREAD));
        let answer = ResourceTicked::Spread(Box::new(after.clone()));
        Step::write(context.put(&self.key, Some(resource), after), answer)
    }
}
