//! Random commands on budgets, quotas and admissions.

use std::collections::BTreeMap;

use ff_core::budget::{BudgetLimits, DimensionLimits, OnBreach};
use ff_core::limits::Blocker;
use ff_core::machine::{
    Action, AdmissionBatch, AdmissionRequest, Admissions, Admit, Admitted, Block, Discard, Home,
    NeedsAdmission, Phase, PutBudget, PutQuota, ReportUsage, ResetBudget, SetWaiters, Settlement,
    Unblock,
};
use ff_core::placement::AdmissionClass;
use ff_core::quota::QuotaLimits;
use ff_core::record::Version;
use ff_core::resource::LaneState;
use ff_core::state::State;
use ff_core::table::{Node, Verb};
use ff_core::{
    AdmissionId, Code, Dimension, Execution, IdempotencyKey, Lane, Namespace, ResourceKind,
    ResourceName,
};
use ff_store::BlockedScan;

use super::Theme;
use crate::history::generate::Generator;
use crate::history::make::{self, chance, millis, one};
use crate::history::pair::View;
use crate::history::read::Read;

/// Budgets and quotas admit work, make it wait, and learn what it used.
pub(super) const THEME: Theme = Theme {
    name: "admission",
    histories: 900,
    least: 20,
    owns: |(from, verb, to)| {
        matches!(verb, Verb::Usage) || *from == Node::Blocked || *to == Node::Blocked
    },
    refusals: &[Code::IdempotencyConflict, Code::LimitReached],
    kinds: &[
        (3, |g, _| Some(g.limit())),
        (10, |g, v| g.admit(v)),
        (5, |g, v| g.settle(v)),
        (7, |g, v| g.block(v)),
        (4, |g, v| g.unblock(v)),
        (8, |g, v| g.usage(v)),
    ],
    beginnings: &[],
};

fn name(name: &str) -> ResourceName {
    ResourceName::new(name).unwrap()
}

impl Generator {
    fn home(&self, namespace: &Namespace) -> Home {
        Home { namespace: namespace.clone(), partitions: self.partitions }
    }

    /// Creates, changes, resets or removes a budget or a quota.
    pub(crate) fn limit(&mut self) -> Action {
        let namespace = make::namespace(&mut self.rng);
        let (home, rng) = (self.home(&namespace), &mut self.rng);
        let budget = home.key(ResourceKind::Budget, &name(one(rng, &["money", "tokens"])));
        let quota = home.key(ResourceKind::Quota, &name(one(rng, &["api", "slots"])));
        match rng.u8(..14) {
            0..5 => {
                let dimensions = ["cents", "words"].into_iter().filter(|_| chance(rng, 80));
                let dimensions: Vec<_> = dimensions.collect();
                let limit = |rng: &mut fastrand::Rng| DimensionLimits {
                    soft: one(rng, &[None, Some(5)]),
                    hard: one(rng, &[None, Some(20), Some(60), Some(0)]),
                };
                let limits =
                    dimensions.into_iter().map(|d| (Dimension::new(d).unwrap(), limit(rng)));
                let limits = BudgetLimits {
                    dimensions: limits.collect::<BTreeMap<_, _>>(),
                    period: one(rng, &[None, Some(1_000), Some(60_000)]).map(ff_core::Millis::new),
                    on_breach: one(rng, &[OnBreach::Block, OnBreach::Cancel]),
                };
                PutBudget { key: budget, limits }.into()
            }
            5..10 => {
                let limits = QuotaLimits {
                    max_requests: one(rng, &[None, Some(1), Some(3)]),
                    window: millis(rng, &[1, 300, 2_000]),
                    max_active: one(rng, &[None, Some(1), Some(2)]),
                    jitter: millis(rng, &[0, 0, 50]),
                };
                PutQuota { key: quota, limits }.into()
            }
            10 => ResetBudget { key: budget }.into(),
            11..13 => {
                let key = if rng.bool() { budget } else { quota };
                SetWaiters { key, waiting: rng.bool() }.into()
            }
            _ => Discard { key: if rng.bool() { budget } else { quota } }.into(),
        }
    }

    /// Requests admission of queued executions.
    pub(crate) fn admit(&mut self, view: View<'_>) -> Option<Action> {
        let asks = |record: &Execution| {
            let waits = matches!(record.state, State::Queued { .. } | State::Blocked { .. });
            let needs = NeedsAdmission::of(record, is_limited(record, view)).filter(|_| waits);
            needs.map(|needs| (record.spec.namespace.clone(), needs))
        };
        let needs: Vec<_> = view.held.records.values().filter_map(asks).collect();
        if needs.is_empty() {
            return None;
        }
        let namespace = one(&mut self.rng, &needs).0.clone();
        let mine = needs.into_iter().filter(|(whose, _)| *whose == namespace);
        let some = mine.take(self.rng.usize(1..4));
        let requests: Vec<_> =
            some.map(|(_, needs)| AdmissionRequest { id: self.admission(), needs }).collect();
        let reserved_for = millis(&mut self.rng, &[0, 0, 500]);
        let mut batches =
            vec![AdmissionBatch { requests, max: self.rng.usize(1..4), reserved_for }];
        if chance(&mut self.rng, 20) {
            // Another call requests the same at the same time.
            let mut other = batches[0].clone();
            other.requests.iter_mut().for_each(|one| one.id = self.admission());
            batches.push(other);
        }
        let settlement = self.settlement(view).filter(|one| one.namespace == namespace);
        let settlements = settlement.filter(|_| chance(&mut self.rng, 50)).into_iter().collect();
        Some(Admit { home: self.home(&namespace), settlements, batches }.into())
    }

    /// The admissions of a call: mostly of executions that need them.
    pub(crate) fn admissions(&mut self, view: View<'_>) -> Admissions {
        match self.rng.u8(..10) {
            0..6 => return Admissions::Any,
            6 => return Admissions::SkipLimited,
            _ => {}
        }
        let asks = |record: &&Execution| {
            let queued = matches!(record.state, State::Queued { .. });
            (queued && NeedsAdmission::of(record, is_limited(record, view)).is_some())
                || self.rng.u8(..10) == 0
        };
        let records: Vec<_> = view.held.records.values().filter(asks).collect();
        let some = records.into_iter().filter(|_| chance(&mut self.rng, 60));
        let mut some: Vec<_> = some.cloned().collect();
        if let Some(first) = some.first().map(|record| view.partition(record.id)) {
            some.retain(|record| view.partition(record.id) == first);
        }
        some.truncate(3);
        let mut admitted = Vec::new();
        for record in some {
            let usable_until = view.now + millis(&mut self.rng, &[0, 1, 5_000, 5_000, 5_000]);
            let mut needs = NeedsAdmission {
                execution: record.id,
                version: record.version,
                limits: record.spec.limits.clone(),
                used: record.used.clone(),
            };
            if chance(&mut self.rng, 10) {
                // It was seen before its last change.
                needs.version = Version::first(7);
            }
            let request = AdmissionRequest { id: self.admission(), needs };
            admitted.push(Admitted { request, usable_until, counts_start: false });
        }
        match admitted.is_empty() {
            true => Admissions::SkipLimited,
            false => Admissions::Only(admitted),
        }
    }

    /// The queue of an admitted execution, mostly.
    pub(crate) fn queue_of(
        &mut self,
        admissions: &Admissions,
        view: View<'_>,
    ) -> (Namespace, Lane) {
        let first = admissions.only().into_iter().flatten().next();
        let record = first.and_then(|first| view.held.record(first.request.needs.execution));
        match record.filter(|_| chance(&mut self.rng, 90)) {
            Some(record) => (record.spec.namespace.clone(), record.spec.lane.clone()),
            None => (make::namespace(&mut self.rng), make::lane(&mut self.rng)),
        }
    }

    fn admission(&mut self) -> AdmissionId {
        AdmissionId { batch: make::request(&mut self.rng), index: self.rng.u16(..3) }
    }

    /// Settles a ticket.
    pub(crate) fn settle(&mut self, view: View<'_>) -> Option<Action> {
        let settlement = self.settlement(view)?;
        let home = self.home(&settlement.namespace);
        Some(Admit { home, settlements: vec![settlement], batches: Vec::new() }.into())
    }

    fn settlement(&mut self, view: View<'_>) -> Option<Settlement> {
        let resources = view.held.resources.iter();
        let tickets: Vec<_> =
            resources.filter_map(|(key, r)| Some((key, r.as_ticket()?))).collect();
        if tickets.is_empty() {
            return None;
        }
        let (key, ticket) = one(&mut self.rng, &tickets);
        let record = view.held.record(ticket.execution);
        let admission = match chance(&mut self.rng, 90) {
            true => ticket.admission,
            false => self.admission(),
        };
        let mut limits = ff_core::limits::ExecutionLimits {
            budgets: ticket.budgets.clone(),
            quotas: ticket.quotas.clone(),
            estimate: ticket.estimate.clone(),
        };
        if chance(&mut self.rng, 50) {
            // A settlement need not name the limit of a lane.
            limits.quotas.retain(|name| name.lane().is_none());
        }
        let phase = match self.rng.u8(..10) {
            0..4 => Phase::Running {
                started: chance(&mut self.rng, 50).then_some(view.now),
                at_least: millis(&mut self.rng, &[100, 20_000]),
            },
            4..6 => Phase::Unused,
            _ => Phase::Stopped { started: None },
        };
        let used = match chance(&mut self.rng, 30) {
            true => make::amounts(&mut self.rng),
            false => record.map(|record| record.used.clone()).unwrap_or_default(),
        };
        Some(Settlement {
            namespace: key.namespace.clone(),
            execution: ticket.execution,
            admission,
            limits,
            used,
            revision: self.rng.u64(..3),
            phase,
        })
    }

    /// Blocks a queued execution.
    pub(crate) fn block(&mut self, view: View<'_>) -> Option<Action> {
        let queued = |record: &Execution| matches!(record.state, State::Queued { .. });
        let record = match chance(&mut self.rng, 90) {
            true => self.some(view, queued)?,
            false => self.some(view, |_| true)?,
        };
        let rng = &mut self.rng;
        let block = Block {
            execution: record.id,
            on: blocker(rng),
            detail: one(rng, &["", "no room", "größe"]).into(),
        };
        Some(block.into())
    }

    /// Returns a blocked execution to its queue.
    pub(crate) fn unblock(&mut self, view: View<'_>) -> Option<Action> {
        let waits = |record: &Execution| matches!(record.state, State::Blocked { .. });
        let record = match chance(&mut self.rng, 90) {
            true => self.some(view, waits)?,
            false => self.some(view, |_| true)?,
        };
        let on = match &record.state {
            State::Blocked { on, .. } if chance(&mut self.rng, 90) => on.clone(),
            _ => blocker(&mut self.rng),
        };
        Some(Unblock { execution: record.id, on }.into())
    }

    /// Executions blocked on the same limit as one of them.
    pub(crate) fn waiters(&mut self, view: View<'_>, limit: usize) -> Option<Read> {
        let record = self.some(view, |record| matches!(record.state, State::Blocked { .. }))?;
        let State::Blocked { on, .. } = &record.state else { return None };
        let (namespace, on) = (record.spec.namespace.clone(), on.clone());
        let from = match self.rng.bool() {
            true => AdmissionClass::FIRST,
            false => AdmissionClass::of(&record.spec),
        };
        let classes = self.rng.usize(1..4);
        Some(Read::Blocked(BlockedScan { namespace, on, from, classes, each: limit.min(64) }))
    }

    /// A holder reports usage.
    pub(crate) fn usage(&mut self, view: View<'_>) -> Option<Action> {
        let hold = self.hold(view)?;
        let rng = &mut self.rng;
        let key = IdempotencyKey::new(one(rng, &["r1", "r2", "r3"])).unwrap();
        let release = chance(rng, 20);
        Some(ReportUsage { hold, key, amounts: make::amounts(rng), release }.into())
    }
}

/// Whether the lane of `record` has a limit.
fn is_limited(record: &Execution, view: View<'_>) -> bool {
    let (namespace, lane) = (&record.spec.namespace, &record.spec.lane);
    let settings = view.lane(view.partition(record.id), namespace, lane);
    settings.is_some_and(LaneState::is_limited)
}

pub(super) fn blocker(rng: &mut fastrand::Rng) -> Blocker {
    let (kind, word) = one(
        rng,
        &[
            (ResourceKind::Budget, "money"),
            (ResourceKind::Quota, "api"),
            (ResourceKind::Quota, "slots"),
            (ResourceKind::Quota, "@default"),
        ],
    );
    Blocker { kind, name: name(word) }
}
