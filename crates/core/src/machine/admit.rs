//! Admission: budgets and quotas let executions through, all or none for each, and take back what
//! they held when these stop.

use std::collections::BTreeSet;

use super::desk::Desk;
use super::{Context, Decide, ReadSet, Step};
use crate::control::{Amounts, Blocker, Control};
use crate::id::{ExecutionId, LeaseId};
use crate::limits;
use crate::name::{Dimension, Namespace, ResourceName};
use crate::refusal::Refusal;
use crate::resource::{ResourceKey, ResourceKind};
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
    pub(super) fn admitted(&self, now: Time) -> Verdict {
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
    /// How many writes it had had by then: of two, the later one counts. Nothing comes after the one
    /// of what has stopped.
    pub seen: u64,
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
