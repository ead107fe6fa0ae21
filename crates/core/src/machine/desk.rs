//! The desk of a namespace: its budgets, quotas and tickets while they are decided on.

use std::collections::{BTreeMap, BTreeSet};

use super::admit::{Candidate, House, Lack, Party, RESERVED, Settled, Settling, Verdict};
use super::{Context, Step, WriteSet};
use crate::budget::{Budget, OnBreach};
use crate::control::{Amounts, Blocker, Control, add, subtract};
use crate::id::ExecutionId;
use crate::name::ResourceName;
use crate::quota::Quota;
use crate::resource::{Body, Held, Resource, ResourceKey, ResourceKind, Ticket};
use crate::time::{Millis, Time};

/// The loaded resources while they are decided on.
pub(super) struct Desk<'a> {
    house: &'a House,
    context: &'a Context<'a>,
    bodies: BTreeMap<ResourceKey, Option<Body>>,
}

impl<'a> Desk<'a> {
    pub(super) fn open(house: &'a House, context: &'a Context<'a>) -> Desk<'a> {
        let loaded = context.loaded.resources.iter();
        let body = |resource: &Option<Resource>| resource.as_ref().map(|r| r.body.clone());
        let bodies = loaded.map(|(key, resource)| (key.clone(), body(resource))).collect();
        Desk { house, context, bodies }
    }

    /// Everything that has changed, and the answer.
    pub(super) fn close(self, reply: impl Into<super::Reply>) -> Step {
        let mut write = WriteSet::default();
        for (key, body) in self.bodies {
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
        match self.bodies.get_mut(&self.house.key(ResourceKind::Budget, name)) {
            Some(Some(Body::Budget(budget))) => Some(budget),
            _ => None,
        }
    }

    fn quota(&mut self, name: &ResourceName) -> Option<&mut Quota> {
        match self.bodies.get_mut(&self.house.key(ResourceKind::Quota, name)) {
            Some(Some(Body::Quota(quota))) => Some(quota),
            _ => None,
        }
    }

    fn ticket(&self, execution: ExecutionId) -> Option<Ticket> {
        match self.bodies.get(&self.house.ticket(execution)) {
            Some(Some(Body::Ticket(ticket))) => Some(ticket.clone()),
            _ => None,
        }
    }

    fn put(&mut self, ticket: Ticket) {
        let key = self.house.ticket(ticket.execution);
        self.bodies.insert(key, Some(Body::Ticket(ticket)));
    }

    pub(super) fn serve(&mut self, party: &Party) -> Vec<Verdict> {
        let mut left = party.most;
        let mut verdicts = Vec::with_capacity(party.candidates.len());
        for candidate in &party.candidates {
            let verdict = if left == 0 { Verdict::Unasked } else { self.admit(candidate) };
            left -= usize::from(matches!(verdict, Verdict::Admitted(_)));
            verdicts.push(verdict);
        }
        verdicts
    }

    fn admit(&mut self, candidate: &Candidate) -> Verdict {
        let now = self.context.now;
        let fresh = Ticket {
            execution: candidate.execution,
            held: None,
            booked: Vec::new(),
            until: now + RESERVED,
        };
        let mut ticket = self.ticket(candidate.execution).unwrap_or(fresh);
        if let Some(held) = &ticket.held {
            if held.admission != candidate.admission {
                return Verdict::Elsewhere;
            }
            // The answer was lost: it is told once more.
            ticket.until = now + RESERVED;
            self.put(ticket);
            return candidate.admitted(now);
        }
        if let Some(wait) = self.refusal(candidate, &mut ticket) {
            if !ticket.booked.is_empty() {
                self.put(ticket);
            }
            return wait;
        }
        let Control { budgets, quotas, estimate } = &candidate.control;
        let mut since = now;
        for name in quotas {
            let booked = ticket.booked.iter().find(|(quota, _)| quota == name).map(|(_, at)| *at);
            if let Some(quota) = self.quota(name) {
                booked.inspect(|at| quota.take_back(*at));
                quota.note(now, now);
                quota.active += 1;
                since = since.max(quota.made);
            }
        }
        for name in budgets {
            if let Some(budget) = self.budget(name) {
                budget.reserve(estimate);
                since = since.max(budget.made);
            }
        }
        ticket.booked.clear();
        ticket.until = now + RESERVED;
        ticket.held = Some(Held {
            admission: candidate.admission,
            quotas: quotas.clone(),
            budgets: budgets.clone(),
            reserved: estimate.clone(),
            charged: candidate.used.clone(),
            seen: 0,
            since,
        });
        self.put(ticket);
        candidate.admitted(now)
    }

    /// What has no room for a candidate: the first budget, else the first quota. A quota whose window
    /// is full books a moment.
    fn refusal(&mut self, candidate: &Candidate, ticket: &mut Ticket) -> Option<Verdict> {
        for name in &candidate.control.budgets {
            let estimate = &candidate.control.estimate;
            let Some(budget) = self.budget(name) else {
                return Some(missing(ResourceKind::Budget, name));
            };
            if let Some((dimension, detail)) = budget.shortage(estimate) {
                budget.waited = true;
                let lack = Lack::Budget(dimension);
                return Some(wait(lack, ResourceKind::Budget, name, &detail, None));
            }
        }
        for name in &candidate.control.quotas {
            let Some(quota) = self.quota(name) else {
                return Some(missing(ResourceKind::Quota, name));
            };
            if let Some(detail) = quota.crowd() {
                quota.waited = true;
                return Some(wait(Lack::Concurrency, ResourceKind::Quota, name, &detail, None));
            }
        }
        self.too_early(&candidate.control.quotas, ticket)
    }

    /// Whether the window of a quota is full. Then one moment is booked with all of them, unless one
    /// is: two that wait for each other's moments would wait for ever.
    fn too_early(
        &mut self,
        quotas: &BTreeSet<ResourceName>,
        ticket: &mut Ticket,
    ) -> Option<Verdict> {
        let now = self.context.now;
        let last = ticket.booked.iter().max_by_key(|(_, at)| *at).cloned();
        let (name, at) = match last {
            Some((name, at)) if at > now => (name, at),
            _ => {
                let booked = std::mem::take(&mut ticket.booked);
                for (name, at) in &booked {
                    if let Some(quota) = self.quota(name) {
                        quota.take_back(*at);
                    }
                }
                let mut latest: Option<(&ResourceName, Time)> = None;
                for name in quotas {
                    let was_booked = booked.iter().any(|(quota, _)| quota == name);
                    let Some(quota) = self.quota(name) else { continue };
                    let fits = was_booked && quota.fits(now);
                    let free = if fits { now } else { quota.next_free(now) };
                    if free > now && latest.is_none_or(|(_, at)| free > at) {
                        latest = Some((name, free));
                    }
                }
                let Some((name, at)) = latest else {
                    // They count as booked until it is admitted.
                    booked.iter().for_each(|(name, at)| self.book(name, *at, ticket));
                    return None;
                };
                quotas.iter().for_each(|name| self.book(name, at, ticket));
                (name.clone(), at)
            }
        };
        ticket.until = ticket.until.max(at + RESERVED);
        let jitter = u64::from(self.context.jitter);
        let quota = self.quota(&name)?;
        let spread = quota.limits.jitter.get() * jitter / u64::from(u16::MAX);
        let detail = quota.pace().unwrap_or_default();
        let until = Some(at + Millis::new(spread));
        Some(wait(Lack::Rate, ResourceKind::Quota, &name, &detail, until))
    }

    /// Books a moment with a quota, if it counts starts.
    fn book(&mut self, name: &ResourceName, at: Time, ticket: &mut Ticket) {
        let now = self.context.now;
        if let Some(quota) = self.quota(name)
            && quota.limits.max_requests.is_some()
        {
            quota.note(at, now);
            ticket.booked.push((name.clone(), at));
        }
    }

    pub(super) fn settle(&mut self, settling: &Settling, settled: &mut Settled) {
        let Some(mut ticket) = self.ticket(settling.execution) else { return };
        let Some(held) = ticket.held.as_mut().filter(|h| h.admission == settling.admission) else {
            return;
        };
        let stops = settling.goes_on.is_none();
        if !stops && settling.seen < held.seen {
            return;
        }
        held.seen = settling.seen;
        let since = held.since;
        let (mut more, mut less) = (settling.used.clone(), held.charged.clone());
        subtract(&mut more, &held.charged);
        subtract(&mut less, &settling.used);
        held.charged = settling.used.clone();
        let mut spent = held.reserved.clone();
        subtract(&mut held.reserved, &more);
        subtract(&mut spent, &held.reserved);
        if stops {
            add(&mut spent, &held.reserved);
        }
        let (budgets, quotas) = (held.budgets.clone(), held.quotas.clone());
        for name in &budgets {
            let Some(budget) = self.budget(name) else { continue };
            let (more, less, spent) =
                (budget.counted(&more), budget.counted(&less), budget.counted(&spent));
            let (warned, breached) = budget.charge(&more);
            budget.refund(&less);
            if budget.made <= since {
                subtract(&mut budget.reserved, &spent);
            }
            settled.warned.extend(warned.into_iter().map(|dimension| (name.clone(), dimension)));
            if breached && budget.limits.on_breach == OnBreach::Cancel {
                settled.breached.insert(name.clone());
            }
            if budget.waited && budget.exhausted(&Amounts::new()).is_none() {
                settled.eased.insert(Blocker { kind: ResourceKind::Budget, name: name.clone() });
            }
        }
        match settling.goes_on {
            Some(span) => {
                ticket.until = self.context.now + span;
                self.put(ticket);
            }
            None => {
                for name in &quotas {
                    if let Some(quota) = self.quota(name).filter(|quota| quota.made <= since) {
                        quota.active = quota.active.saturating_sub(1);
                        if quota.waited {
                            let name = name.clone();
                            settled.eased.insert(Blocker { kind: ResourceKind::Quota, name });
                        }
                    }
                }
                self.bodies.insert(self.house.ticket(settling.execution), None);
            }
        }
    }
}

fn missing(kind: ResourceKind, name: &ResourceName) -> Verdict {
    wait(Lack::Missing, kind, name, &format!("there is no such {}", kind.as_str()), None)
}

fn wait(
    lack: Lack,
    kind: ResourceKind,
    name: &ResourceName,
    detail: &str,
    until: Option<Time>,
) -> Verdict {
    Verdict::Wait { lack, on: Blocker { kind, name: name.clone() }, detail: detail.into(), until }
}
