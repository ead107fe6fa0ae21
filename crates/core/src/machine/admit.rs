//! Admission: budgets and quotas let executions through, all or none for each, and take back what
//! they held when these stop.

use std::collections::{BTreeMap, BTreeSet};

use super::{Context, Decide, ReadSet, Step, WriteSet};
use crate::budget::{Budget, OnBreach};
use crate::control::{Amounts, Blocker, Control, add, subtract};
use crate::id::{ExecutionId, LeaseId};
use crate::limits;
use crate::name::{Dimension, Namespace, ResourceName};
use crate::quota::Quota;
use crate::refusal::Refusal;
use crate::resource::{Body, Held, Resource, ResourceKey, ResourceKind, Ticket};
use crate::time::{Millis, Time};

/// How long an admission waits to be used, and a booked moment to be asked for.
pub const RESERVED: Millis = Millis::from_secs(10);

/// How long an admission may be used. It is looked at when [`RESERVED`] is over: so far the clocks
/// of two partitions may differ.
pub const USABLE: Millis = Millis::from_secs(5);

/// The resources of a namespace, in a store of so many partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct House {
    /// The tenant.
    pub namespace: Namespace,
    /// How many partitions the store has.
    pub partitions: u16,
}

impl House {
    /// Where a resource of it lies.
    pub fn key(&self, kind: ResourceKind, name: &ResourceName) -> ResourceKey {
        ResourceKey::at_home(kind, &self.namespace, name, self.partitions)
    }

    /// Where the ticket of an execution lies.
    pub fn ticket(&self, execution: ExecutionId) -> ResourceKey {
        self.key(ResourceKind::Ticket, &execution.into())
    }

    fn limits<'a>(&'a self, control: &'a Control) -> impl Iterator<Item = ResourceKey> + 'a {
        let budgets = control.budgets.iter().map(|name| self.key(ResourceKind::Budget, name));
        budgets.chain(control.quotas.iter().map(|name| self.key(ResourceKind::Quota, name)))
    }
}

/// Tells budgets and quotas what running executions have used, takes back what those that stopped
/// have held, then asks for others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attend {
    /// Whose.
    pub house: House,
    /// Which are settled.
    pub settlings: Vec<Settling>,
    /// Which ask, one call after the other.
    pub parties: Vec<Party>,
}

/// Executions that one call asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    /// Which, best first.
    pub candidates: Vec<Candidate>,
    /// How many at most.
    pub most: usize,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attended {
    /// What the settlements changed.
    pub settled: Settled,
    /// What became of each candidate of each party.
    pub verdicts: Vec<Vec<Verdict>>,
}

/// An execution that asks to be admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Which one.
    pub execution: ExecutionId,
    /// The name of this admission.
    pub admission: LeaseId,
    /// What must let it through.
    pub control: Control,
    /// What it has used so far.
    pub used: Amounts,
}

impl Candidate {
    fn admitted(&self, now: Time) -> Verdict {
        let (execution, name) = (self.execution, self.admission);
        Verdict::Admitted(Admission { execution, name, until: now + USABLE })
    }
}

/// Leave to take an execution that budgets and quotas have admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission {
    /// Which one.
    pub execution: ExecutionId,
    /// The name it is admitted under.
    pub name: LeaseId,
    /// From then on it is not used.
    pub until: Time,
}

/// What a budget or a quota lacks for an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lack {
    /// There is none of that name.
    Missing,
    /// This dimension of a budget is used up.
    Budget(Dimension),
    /// As many run as may.
    Concurrency,
    /// As many have started as may.
    Rate,
}

/// What became of a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Enough others were admitted.
    Unasked,
    /// It is admitted under the name it brought.
    Admitted(Admission),
    /// It is admitted under another name, of which another call was told: that one takes it, gives
    /// it back, or leaves it until its ticket is looked at. Nobody else is told that name, so who
    /// was may give it back without asking who else might use it.
    Elsewhere,
    /// It has to wait.
    Wait {
        /// What is lacking.
        lack: Lack,
        /// For what.
        on: Blocker,
        /// More about it, for people.
        detail: Box<str>,
        /// The moment that is booked for it.
        until: Option<Time>,
    },
}

/// One execution that is settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settling {
    /// The tenant.
    pub namespace: Namespace,
    /// Which one.
    pub execution: ExecutionId,
    /// The name it was admitted under; another's ticket is left alone.
    pub admission: LeaseId,
    /// What limits it; what its ticket holds besides is found there.
    pub control: Control,
    /// All it has used.
    pub used: Amounts,
    /// How long it goes on at least; `None` means that it has stopped.
    pub goes_on: Option<Millis>,
}

/// What a settlement changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    /// Budgets and quotas that may have room now for those that wait.
    pub eased: BTreeSet<Blocker>,
    /// Budgets that have reached a soft limit, and in which dimension.
    pub warned: Vec<(ResourceName, Dimension)>,
    /// Budgets that have reached a hard limit and cancel what runs.
    pub breached: BTreeSet<ResourceName>,
}

impl Decide for Attend {
    fn check(&self) -> Result<(), Refusal> {
        let candidates = self.parties.iter().map(|party| party.candidates.len()).sum();
        Refusal::cap("candidates", candidates, limits::CLAIM, "candidates")?;
        Refusal::cap("settlings", self.settlings.len(), limits::BATCH, "executions")
    }

    fn reads(&self) -> ReadSet {
        let house = &self.house;
        let candidates = self.parties.iter().flat_map(|party| &party.candidates);
        let asked = candidates.map(|candidate| (&candidate.control, candidate.execution));
        let told = self.settlings.iter().map(|settling| (&settling.control, settling.execution));
        let keys = asked.chain(told).flat_map(|(control, execution)| {
            house.limits(control).chain([house.ticket(execution)])
        });
        let keys: BTreeSet<_> = keys.collect();
        ReadSet { resources: keys.into_iter().collect(), ..ReadSet::default() }
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let resources = self.unread(context);
        if !resources.is_empty() {
            return Ok(Step::NeedMore(ReadSet { resources, ..ReadSet::default() }));
        }
        let mut desk = Desk::open(&self.house, context);
        let mut settled = Settled::default();
        for settling in &self.settlings {
            desk.settle(settling, &mut settled);
        }
        let verdicts = self.parties.iter().map(|party| desk.serve(party)).collect();
        Ok(desk.close(Attended { settled, verdicts }))
    }
}

impl Attend {
    /// Quotas that a place must be given back to and that were not read: their limit is of a lane,
    /// which the execution does not name.
    fn unread(&self, context: &Context<'_>) -> Vec<ResourceKey> {
        let loaded = context.loaded;
        let stopped = self.settlings.iter().filter(|settling| settling.goes_on.is_none());
        let held = stopped.filter_map(|settling| {
            let ticket = loaded.resource(&self.house.ticket(settling.execution))?.as_ticket()?;
            ticket.held.as_ref().filter(|held| held.admission == settling.admission)
        });
        let quotas = held.flat_map(|held| &held.quotas);
        let keys = quotas.map(|name| self.house.key(ResourceKind::Quota, name));
        let unread = keys.filter(|key| !loaded.resources.contains_key(key));
        unread.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// The loaded resources while they are decided on.
struct Desk<'a> {
    house: &'a House,
    context: &'a Context<'a>,
    bodies: BTreeMap<ResourceKey, Option<Body>>,
}

impl<'a> Desk<'a> {
    fn open(house: &'a House, context: &'a Context<'a>) -> Desk<'a> {
        let loaded = context.loaded.resources.iter();
        let body = |resource: &Option<Resource>| resource.as_ref().map(|r| r.body.clone());
        let bodies = loaded.map(|(key, resource)| (key.clone(), body(resource))).collect();
        Desk { house, context, bodies }
    }

    /// Everything that has changed, and the answer.
    fn close(self, reply: impl Into<super::Reply>) -> Step {
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

    fn serve(&mut self, party: &Party) -> Vec<Verdict> {
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
        for name in quotas {
            let booked = ticket.booked.iter().find(|(quota, _)| quota == name).map(|(_, at)| *at);
            if let Some(quota) = self.quota(name) {
                booked.inspect(|at| quota.take_back(*at));
                quota.note(now, now);
                quota.active += 1;
            }
        }
        for name in budgets {
            if let Some(budget) = self.budget(name) {
                budget.reserve(estimate);
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

    fn settle(&mut self, settling: &Settling, settled: &mut Settled) {
        let Some(mut ticket) = self.ticket(settling.execution) else { return };
        let Some(held) = ticket.held.as_mut().filter(|h| h.admission == settling.admission) else {
            return;
        };
        let (mut more, mut less) = (settling.used.clone(), held.charged.clone());
        subtract(&mut more, &held.charged);
        subtract(&mut less, &settling.used);
        held.charged = settling.used.clone();
        let mut spent = held.reserved.clone();
        subtract(&mut held.reserved, &more);
        subtract(&mut spent, &held.reserved);
        let stops = settling.goes_on.is_none();
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
            subtract(&mut budget.reserved, &spent);
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
                    if let Some(quota) = self.quota(name) {
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
