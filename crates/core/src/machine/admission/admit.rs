//! Admit: budgets and quotas admit executions, all or none for each, after what has stopped or
//! gone on is settled with them.

use std::collections::BTreeSet;

use super::super::{Context, Decide, Facts, ReadSet, Step};
use super::ledger::AdmissionLedger;
use super::settle::{Settlement, SettlementEffects};
use crate::bounds;
use crate::id::{AdmissionId, ExecutionId};
use crate::limits::{Amounts, Blocker, ExecutionLimits};
use crate::name::{Dimension, Namespace, ResourceName};
use crate::record::{Execution, Version};
use crate::refusal::Refusal;
use crate::resource::{ResourceKey, ResourceKind};
use crate::time::{Millis, Time};

/// How long after an admission its ticket is checked.
pub const TICKET_TTL: Millis = Millis::from_secs(10);

/// How long an admission may be used. Its ticket is checked when [`TICKET_TTL`] is over: by the
/// difference the clocks of two partitions may differ.
pub const ADMISSION_TTL: Millis = Millis::from_secs(5);

/// The resources of a namespace, in a store of so many partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// The tenant.
    pub namespace: Namespace,
    /// How many partitions the store has.
    pub partitions: u16,
}

impl Home {
    /// Where a resource of it lies.
    pub fn key(&self, kind: ResourceKind, name: &ResourceName) -> ResourceKey {
        ResourceKey::at_home(kind, &self.namespace, name, self.partitions)
    }

    /// Where the ticket of an execution lies.
    pub fn ticket(&self, execution: ExecutionId) -> ResourceKey {
        self.key(ResourceKind::Ticket, &execution.into())
    }

    fn limits<'a>(&'a self, limits: &'a ExecutionLimits) -> impl Iterator<Item = ResourceKey> + 'a {
        self.keys(&limits.budgets, &limits.quotas)
    }

    fn keys<'a>(
        &'a self,
        budgets: &'a BTreeSet<ResourceName>,
        quotas: &'a BTreeSet<ResourceName>,
    ) -> impl Iterator<Item = ResourceKey> + 'a {
        let budgets = budgets.iter().map(|name| self.key(ResourceKind::Budget, name));
        budgets.chain(quotas.iter().map(|name| self.key(ResourceKind::Quota, name)))
    }
}

/// Settles with budgets and quotas, then asks them to admit executions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admit {
    /// Whose budgets and quotas.
    pub home: Home,
    /// What is settled first.
    pub settlements: Vec<Settlement>,
    /// What asks, one call after the other.
    pub batches: Vec<AdmissionBatch>,
}

/// Executions that one call asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionBatch {
    /// Which, best first.
    pub requests: Vec<AdmissionRequest>,
    /// How many are admitted at most.
    pub max: usize,
    /// How long a reservation made under the admission lasts before it is claimed.
    pub reserved_for: Millis,
}

/// A queued execution that must be admitted before it is dispatched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeedsAdmission {
    /// Which one.
    pub execution: ExecutionId,
    /// Its record as it was seen: the admission is for that one.
    pub version: Version,
    /// What must admit it.
    pub limits: ExecutionLimits,
    /// What it has used so far.
    pub used: Amounts,
}

impl NeedsAdmission {
    /// `record`, if it must be admitted before it is dispatched: by the limits that it names, and by
    /// its lane if that has a limit.
    pub fn of(record: &Execution, lane_is_limited: bool) -> Option<NeedsAdmission> {
        let mut limits = record.spec.limits.clone();
        if lane_is_limited {
            limits.quotas.insert(ResourceName::of_lane(&record.spec.lane));
        }
        let (execution, version) = (record.id, record.version);
        (!limits.is_empty()).then(|| NeedsAdmission {
            execution,
            version,
            limits,
            used: record.used.clone(),
        })
    }
}

/// An execution that asks to be admitted under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionRequest {
    /// The name of the admission.
    pub id: AdmissionId,
    /// What is asked for.
    pub needs: NeedsAdmission,
}

/// Permission to take an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    /// What was asked for.
    pub request: AdmissionRequest,
    /// From then on it is not used.
    pub usable_until: Time,
    /// A quota counts its start, and gets a report when it happens.
    pub counts_start: bool,
}

/// Which executions that must be admitted a claim or grant takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Admissions {
    /// None; it takes nothing behind one of them in the queue.
    #[default]
    Any,
    /// None; it takes what is behind them.
    SkipLimited,
    /// Exactly these, and nothing else.
    Only(Vec<Admitted>),
}

impl Admissions {
    /// Those it takes and nothing else, if there are any.
    pub fn only(&self) -> Option<&[Admitted]> {
        match self {
            Admissions::Only(admitted) => Some(admitted),
            Admissions::Any | Admissions::SkipLimited => None,
        }
    }
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmitReply {
    /// What the settlements changed.
    pub effects: SettlementEffects,
    /// What was decided on each request of each batch.
    pub decisions: Vec<Vec<Decision>>,
}

/// What was decided on a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Enough others were admitted, or its ticket cannot be read.
    NotEvaluated,
    /// It is admitted under the name it brought.
    Admitted(Admitted),
    /// It is admitted under another name, which only the call that asked for it knows: that call
    /// takes it or settles it as unused.
    AdmittedElsewhere {
        /// Nothing can be claimed under that ticket any more; it is to be checked.
        spent: bool,
    },
    /// It has to wait.
    Blocked {
        /// What is lacking.
        shortfall: Shortfall,
        /// Which limit lacks it.
        on: Blocker,
        /// More about it, for people.
        detail: Box<str>,
        /// How soon executions that wait for this rate are released.
        release_in: Option<Millis>,
    },
}

/// What a budget or a quota lacks for an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shortfall {
    /// There is none of that name.
    Missing,
    /// It cannot be read.
    Unreadable,
    /// This dimension of a budget is used up.
    Budget(Dimension),
    /// As many run as may.
    Concurrency,
    /// As many have started as may.
    Rate,
}

impl Decide for Admit {
    fn facts(&self) -> Facts<'_> {
        Facts { adds: !self.batches.is_empty(), ..Facts::home(&self.home.namespace) }
    }

    fn check(&self) -> Result<(), Refusal> {
        let requests = self.batches.iter().map(|batch| batch.requests.len()).sum();
        Refusal::cap("requests", requests, bounds::CLAIM, "executions")?;
        Refusal::cap("settlements", self.settlements.len(), bounds::BATCH, "executions")
    }

    fn reads(&self) -> ReadSet {
        let home = &self.home;
        let requests = self.batches.iter().flat_map(|batch| &batch.requests);
        let asked = requests.map(|request| (&request.needs.limits, request.needs.execution));
        let settled = self.settlements.iter().map(|one| (&one.limits, one.execution));
        let keys = asked
            .chain(settled)
            .flat_map(|(limits, execution)| home.limits(limits).chain([home.ticket(execution)]));
        let keys: BTreeSet<_> = keys.collect();
        ReadSet { resources: keys.into_iter().collect(), tolerant: true, ..ReadSet::default() }
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let resources = self.unread(context);
        if !resources.is_empty() {
            return Ok(Step::NeedMore(ReadSet { resources, tolerant: true, ..ReadSet::default() }));
        }
        let mut ledger = AdmissionLedger::open(&self.home, context);
        let mut effects = SettlementEffects::default();
        for settlement in &self.settlements {
            ledger.settle(settlement, &mut effects);
        }
        let decisions = self.batches.iter().map(|batch| ledger.admit_batch(batch)).collect();
        Ok(ledger.close(AdmitReply { effects, decisions }))
    }
}

impl Admit {
    /// Limits of the settled tickets that were not read: those of a lane, which the execution does
    /// not name.
    fn unread(&self, context: &Context<'_>) -> Vec<ResourceKey> {
        let loaded = context.loaded;
        let tickets = self.settlements.iter().filter_map(|settlement| {
            let ticket = loaded.resource(&self.home.ticket(settlement.execution))?.as_ticket()?;
            (ticket.admission == settlement.admission).then_some(ticket)
        });
        let keys = tickets.flat_map(|ticket| self.home.keys(&ticket.budgets, &ticket.quotas));
        let unread = keys.filter(|key| !loaded.resources.contains_key(key));
        unread.collect::<BTreeSet<_>>().into_iter().collect()
    }
}
