//! The budgets, quotas and tickets of a namespace while a command decides on them.

use std::collections::BTreeMap;

use super::super::{Context, Reply, Step, WriteSet};
use super::admit::{
    ADMISSION_TTL, AdmissionBatch, AdmissionRequest, Admitted, Decision, Home, Shortfall,
    TICKET_TTL,
};
use super::settle::{Phase, Settlement, SettlementEffects};
use crate::budget::{Budget, OnBreach};
use crate::id::ExecutionId;
use crate::limits::{Amounts, Blocker, add, subtract};
use crate::name::ResourceName;
use crate::quota::Quota;
use crate::resource::{Body, Resource, ResourceKey, ResourceKind, Ticket};
use crate::time::{Millis, Time};

/// The loaded resources while they are decided on.
pub(super) struct AdmissionLedger<'a> {
    home: &'a Home,
    context: &'a Context<'a>,
    bodies: BTreeMap<ResourceKey, Option<Body>>,
}

impl<'a> AdmissionLedger<'a> {
    pub(super) fn open(home: &'a Home, context: &'a Context<'a>) -> AdmissionLedger<'a> {
        let loaded = context.loaded.resources.iter();
        let body = |resource: &Option<Resource>| resource.as_ref().map(|r| r.body.clone());
        let bodies = loaded.map(|(key, resource)| (key.clone(), body(resource))).collect();
        AdmissionLedger { home, context, bodies }
    }

    /// Everything that has changed, and the answer. What is removed comes first, and tickets are the
    /// last of what is put, so that a fault between two writes leaves a limit that counts too much,
    /// never one that admits too much.
    pub(super) fn close(self, reply: impl Into<Reply>) -> Step {
        let mut write = WriteSet::default();
        let (removed, put): (Vec<_>, Vec<_>) =
            self.bodies.into_iter().partition(|(_, body)| body.is_none());
        for (key, body) in removed.into_iter().chain(put) {
            let before = self.context.loaded.resource(&key);
            let one = match (before, body) {
                (Some(before), None) => self.context.discard(before),
                (before, Some(body)) if before.map(|b| &b.body) != Some(&body) => {
                    self.context.put(&key, before, body)
                }
                _ => continue,
            };
            write.resources.extend(one.resources);
        }
        match write.resources.is_empty() {
            true => Step::answer(reply),
            false => Step::write(write, reply),
        }
    }

    fn budget(&mut self, name: &ResourceName) -> Option<&mut Budget> {
        match self.bodies.get_mut(&self.home.key(ResourceKind::Budget, name)) {
            Some(Some(Body::Budget(budget))) => Some(budget),
            _ => None,
        }
    }

    fn quota(&mut self, name: &ResourceName) -> Option<&mut Quota> {
        match self.bodies.get_mut(&self.home.key(ResourceKind::Quota, name)) {
            Some(Some(Body::Quota(quota))) => Some(quota),
            _ => None,
        }
    }

    fn ticket(&self, execution: ExecutionId) -> Option<Ticket> {
        match self.bodies.get(&self.home.ticket(execution)) {
            Some(Some(Body::Ticket(ticket))) => Some(ticket.clone()),
            _ => None,
        }
    }

    fn put(&mut self, ticket: Ticket) {
        let key = self.home.ticket(ticket.execution);
        self.bodies.insert(key, Some(Body::Ticket(ticket)));
    }

    fn is_unreadable(&self, key: &ResourceKey) -> bool {
        self.context.loaded.unreadable.contains(key)
    }

    pub(super) fn admit_batch(&mut self, batch: &AdmissionBatch) -> Vec<Decision> {
        let mut left = batch.max;
        let mut decisions = Vec::with_capacity(batch.requests.len());
        for request in &batch.requests {
            let decision = match left {
                0 => Decision::NotEvaluated,
                _ => self.admit(request, batch.reserved_for),
            };
            left -= usize::from(matches!(decision, Decision::Admitted(_)));
            decisions.push(decision);
        }
        decisions
    }

    fn admit(&mut self, request: &AdmissionRequest, reserved_for: Millis) -> Decision {
        let now = self.context.now;
        let needs = &request.needs;
        let ticket_key = self.home.ticket(needs.execution);
        if self.is_unreadable(&ticket_key) {
            return Decision::NotEvaluated;
        }
        let usable_until = now + ADMISSION_TTL;
        if let Some(mut ticket) = self.ticket(needs.execution) {
            if ticket.admission != request.id {
                return Decision::AdmittedElsewhere { spent: ticket.is_spent(now) };
            }
            // The answer was lost: it is given again, and no longer than the first one was.
            ticket.until = now + TICKET_TTL + reserved_for;
            let usable_until = ticket.usable_until;
            let counts_start = ticket.starts_by.is_some();
            self.put(ticket);
            return Decision::Admitted(Admitted {
                request: request.clone(),
                usable_until,
                counts_start,
            });
        }
        if let Some(blocked) = self.shortfall(request) {
            return blocked;
        }
        let starts_by = usable_until + reserved_for;
        let (mut admitted_at, mut counts_start) = (now, false);
        for name in &needs.limits.quotas {
            if let Some(quota) = self.quota(name) {
                quota.count_start(starts_by, now);
                quota.active += 1;
                counts_start |= quota.limits_starts();
                admitted_at = admitted_at.max(quota.created_at);
            }
        }
        for name in &needs.limits.budgets {
            if let Some(budget) = self.budget(name) {
                budget.reserve(&needs.limits.estimate);
                admitted_at = admitted_at.max(budget.created_at);
            }
        }
        self.put(Ticket {
            execution: needs.execution,
            admission: request.id,
            quotas: needs.limits.quotas.clone(),
            budgets: needs.limits.budgets.clone(),
            estimate: needs.limits.estimate.clone(),
            baseline: needs.used.clone(),
            used: needs.used.clone(),
            revision: 0,
            admitted_at,
            usable_until,
            starts_by: counts_start.then_some(starts_by),
            started: false,
            charged: BTreeMap::new(),
            until: now + TICKET_TTL + reserved_for,
        });
        Decision::Admitted(Admitted { request: request.clone(), usable_until, counts_start })
    }

    /// What has no room for a request: the first budget, else the first quota.
    fn shortfall(&mut self, request: &AdmissionRequest) -> Option<Decision> {
        let (now, jitter) = (self.context.now, self.context.jitter);
        let limits = &request.needs.limits;
        for name in &limits.budgets {
            let blocker = Blocker { kind: ResourceKind::Budget, name: name.clone() };
            if self.budget(name).is_none() {
                return Some(self.absent(blocker));
            }
            let Some(budget) = self.budget(name) else { continue };
            if let Some((dimension, detail)) = budget.shortage(&limits.estimate) {
                budget.has_waiters = true;
                return Some(blocked(Shortfall::Budget(dimension), blocker, &detail, None));
            }
        }
        for name in &limits.quotas {
            let blocker = Blocker { kind: ResourceKind::Quota, name: name.clone() };
            if self.quota(name).is_none() {
                return Some(self.absent(blocker));
            }
            let Some(quota) = self.quota(name) else { continue };
            if let Some(detail) = quota.crowd() {
                quota.expect_waiters(now, jitter);
                return Some(blocked(Shortfall::Concurrency, blocker, &detail, None));
            }
            if quota.room(now) == 0 {
                quota.expect_waiters(now, jitter);
                let pace = quota.pace().unwrap_or_default();
                let release_in = quota.release_at.map(|at| at.since(now));
                return Some(blocked(Shortfall::Rate, blocker, &pace, release_in));
            }
        }
        None
    }

    /// The decision where a limit is not there or cannot be read: nothing is admitted.
    fn absent(&self, on: Blocker) -> Decision {
        match self.is_unreadable(&self.home.key(on.kind, &on.name)) {
            true => {
                let detail = on.unreadable();
                blocked(Shortfall::Unreadable, on, &detail, None)
            }
            false => {
                let detail = format!("there is no such {}", on.kind.as_str());
                blocked(Shortfall::Missing, on, &detail, None)
            }
        }
    }

    pub(super) fn settle(&mut self, settlement: &Settlement, effects: &mut SettlementEffects) {
        let Some(mut ticket) = self.ticket(settlement.execution) else { return };
        if ticket.admission != settlement.admission {
            return;
        }
        let is_late = !settlement.phase.is_end() && settlement.revision < ticket.revision;
        if !is_late {
            self.charge(&mut ticket, settlement, effects);
        }
        match settlement.phase {
            Phase::Running { started, at_least } => {
                if let Some(at) = started {
                    self.start(&mut ticket, at, effects);
                }
                ticket.until = ticket.until.max(self.context.now + at_least);
                self.put(ticket);
            }
            Phase::Unused | Phase::Stopped { .. } => {
                // An attempt that an earlier admission started does not count for this one.
                if let Phase::Stopped { started: Some(at) } = settlement.phase
                    && at >= ticket.usable_until - ADMISSION_TTL
                {
                    self.start(&mut ticket, at, effects);
                }
                self.free(&ticket, settlement.phase, effects);
                self.bodies.insert(self.home.ticket(settlement.execution), None);
            }
        }
    }

    /// Charges the budgets of a ticket what was used since it was last settled, and reserves what
    /// is left of its estimate.
    fn charge(
        &mut self,
        ticket: &mut Ticket,
        settlement: &Settlement,
        effects: &mut SettlementEffects,
    ) {
        let reserved_before = ticket.reserved();
        let (mut more, mut less) = (settlement.used.clone(), ticket.used.clone());
        subtract(&mut more, &ticket.used);
        subtract(&mut less, &settlement.used);
        ticket.used = settlement.used.clone();
        ticket.revision = settlement.revision;
        let reserved = match settlement.phase.is_end() {
            true => Amounts::new(),
            false => ticket.reserved(),
        };
        for name in &ticket.budgets {
            let Some(budget) = self.budget(name) else { continue };
            let (more, mut less) = (budget.counted(&more), budget.counted(&less));
            let charged = ticket.charged.entry(name.clone()).or_default();
            if charged.0 != budget.since {
                *charged = (budget.since, Amounts::new());
            }
            // Usage of an earlier period, or of an earlier hold, is not refunded: it was not
            // charged here.
            less.retain(|dimension, amount| {
                *amount = (*amount).min(charged.1.get(dimension).copied().unwrap_or(0));
                *amount > 0
            });
            add(&mut charged.1, &more);
            subtract(&mut charged.1, &less);
            let was_breached = budget.is_breached();
            let warned = budget.charge(&more);
            budget.refund(&less);
            // Work that runs on after a breach has not been cancelled yet.
            let breached = budget.is_breached() && (!was_breached || !settlement.phase.is_end());
            if budget.created_at <= ticket.admitted_at {
                budget.unreserve(&reserved_before);
                budget.reserve(&reserved);
            }
            effects.warned.extend(warned.into_iter().map(|dimension| (name.clone(), dimension)));
            if breached && budget.limits.on_breach == OnBreach::Cancel {
                effects.breached.insert(name.clone());
            }
            if budget.has_waiters && budget.exhausted(&Amounts::new()).is_none() {
                effects.freed.insert(Blocker { kind: ResourceKind::Budget, name: name.clone() });
            }
        }
    }

    /// Counts the start of a ticket when it happened.
    fn start(&mut self, ticket: &mut Ticket, at: Time, effects: &mut SettlementEffects) {
        ticket.started = true;
        let Some(by) = ticket.starts_by.take() else { return };
        let now = self.context.now;
        for name in &ticket.quotas {
            let held = |quota: &&mut Quota| quota.created_at <= ticket.admitted_at;
            if let Some(quota) = self.quota(name).filter(held) {
                quota.uncount_start(by);
                quota.count_start(at.min(by), now);
                rearm(quota, name, now, effects);
            }
        }
    }

    /// Frees the slots of a ticket, and its start if it did not happen.
    fn free(&mut self, ticket: &Ticket, phase: Phase, effects: &mut SettlementEffects) {
        let now = self.context.now;
        for name in &ticket.quotas {
            let held = |quota: &&mut Quota| quota.created_at <= ticket.admitted_at;
            let Some(quota) = self.quota(name).filter(held) else { continue };
            quota.active = quota.active.saturating_sub(1);
            if let Some(by) = ticket.starts_by.filter(|_| phase == Phase::Unused) {
                quota.uncount_start(by);
                rearm(quota, name, now, effects);
            }
            if quota.has_waiters && quota.room(now) > 0 {
                effects.freed.insert(Blocker { kind: ResourceKind::Quota, name: name.clone() });
            }
        }
    }
}

/// A start of `quota` was moved or taken back: its next release may come earlier.
fn rearm(quota: &mut Quota, name: &ResourceName, now: Time, effects: &mut SettlementEffects) {
    let before = quota.release_at;
    quota.rearm_release(now);
    if let Some(at) = quota.release_at.filter(|_| quota.release_at != before) {
        let on = Blocker { kind: ResourceKind::Quota, name: name.clone() };
        effects.rearmed.insert(on, at.since(now));
    }
}

fn blocked(
    shortfall: Shortfall,
    on: Blocker,
    detail: &str,
    release_in: Option<Millis>,
) -> Decision {
    Decision::Blocked { shortfall, on, detail: detail.into(), release_in }
}
