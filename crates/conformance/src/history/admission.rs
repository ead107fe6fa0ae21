//! Random commands on budgets, quotas and what they let through.

use std::collections::BTreeMap;

use ff_core::budget::{BudgetLimits, DimensionLimits, OnBreach};
use ff_core::control::Blocker;
use ff_core::machine::{
    Action, Admission, Attend, Block, Candidate, Discard, House, Party, PutBudget, PutQuota,
    ReportUsage, ResetBudget, Settling, Unadmit, Unblock, Wanted,
};
use ff_core::quota::QuotaLimits;
use ff_core::resource::LaneState;
use ff_core::state::State;
use ff_core::{
    Dimension, Execution, IdempotencyKey, Lane, LeaseId, Namespace, Resource, ResourceKey,
    ResourceKind, ResourceName,
};

use super::generate::Generator;
use super::look::Look;
use super::make::{self, chance, millis, one};
use super::pair::View;

fn house(namespace: &Namespace) -> House {
    House { namespace: namespace.clone(), partitions: 1 }
}

fn name(name: &str) -> ResourceName {
    ResourceName::new(name).unwrap()
}

impl Generator {
    /// A budget or a quota is made, changed, reset or removed.
    pub(super) fn allowance(&mut self) -> Action {
        let rng = &mut self.rng;
        let house = house(&make::namespace(rng));
        let budget = house.key(ResourceKind::Budget, &name(one(rng, &["money", "tokens"])));
        let quota = house.key(ResourceKind::Quota, &name(one(rng, &["api", "slots"])));
        match rng.u8(..12) {
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
            _ => Discard { key: if rng.bool() { budget } else { quota } }.into(),
        }
    }

    /// Queued executions ask to be admitted.
    pub(super) fn admit(&mut self, view: View<'_>) -> Option<Action> {
        let asks = |record: &Execution| {
            let waits = matches!(record.state, State::Queued { .. } | State::Blocked { .. });
            let wanted = Wanted::of(record, is_limited(record, view)).filter(|_| waits);
            wanted.map(|wanted| (record.spec.namespace.clone(), wanted))
        };
        let wanted: Vec<_> = view.held.records.iter().filter_map(asks).collect();
        if wanted.is_empty() {
            return None;
        }
        let namespace = one(&mut self.rng, &wanted).0.clone();
        let mine = wanted.into_iter().filter(|(whose, _)| *whose == namespace);
        let some = mine.take(self.rng.usize(1..4));
        let candidates = some.map(|(_, Wanted { execution, control, used })| Candidate {
            execution,
            admission: self.admission(),
            control,
            used,
        });
        let candidates: Vec<_> = candidates.collect();
        let mut parties = vec![Party { candidates, most: self.rng.usize(1..4) }];
        if chance(&mut self.rng, 20) {
            // Another call asks for the same at the same time.
            let mut other = parties[0].clone();
            other.candidates.iter_mut().for_each(|one| one.admission = self.admission());
            parties.push(other);
        }
        let settling = self.settling(view).filter(|one| one.namespace == namespace);
        let settlings = settling.filter(|_| chance(&mut self.rng, 50)).into_iter().collect();
        Some(Attend { house: house(&namespace), settlings, parties }.into())
    }

    /// What a call was told to be admitted: mostly what asks to be.
    pub(super) fn admitted(&mut self, view: View<'_>) -> Option<Vec<Admission>> {
        if chance(&mut self.rng, 60) {
            return None;
        }
        let asks = |record: &&Execution| {
            let queued = matches!(record.state, State::Queued { .. });
            (queued && Wanted::of(record, is_limited(record, view)).is_some())
                || self.rng.u8(..10) == 0
        };
        let records: Vec<_> = view.held.records.iter().filter(asks).collect();
        let some = records.into_iter().filter(|_| chance(&mut self.rng, 60)).take(3);
        let some: Vec<_> = some.map(|record| record.id).collect();
        let mut admitted = Vec::new();
        for execution in some {
            let until = view.now + millis(&mut self.rng, &[0, 1, 5_000, 5_000, 5_000]);
            admitted.push(Admission { execution, name: self.admission(), until });
        }
        Some(admitted)
    }

    /// The queue of what was admitted, mostly.
    pub(super) fn queue_of(
        &mut self,
        admitted: Option<&[Admission]>,
        view: View<'_>,
    ) -> (Namespace, Lane) {
        let first = admitted.and_then(|admitted| admitted.first());
        let record = first.and_then(|first| view.held.record(first.execution));
        match record.filter(|_| chance(&mut self.rng, 90)) {
            Some(record) => (record.spec.namespace.clone(), record.spec.lane.clone()),
            None => (make::namespace(&mut self.rng), make::lane(&mut self.rng)),
        }
    }

    fn admission(&mut self) -> LeaseId {
        LeaseId { request: make::request(&mut self.rng), index: self.rng.u16(..3) }
    }

    /// What a ticket holds is told or taken back.
    pub(super) fn settle(&mut self, view: View<'_>) -> Option<Action> {
        let settling = self.settling(view)?;
        let house = house(&settling.namespace);
        Some(Attend { house, settlings: vec![settling], parties: Vec::new() }.into())
    }

    fn settling(&mut self, view: View<'_>) -> Option<Settling> {
        let tickets = view.held.resources.iter();
        let tickets: Vec<_> = tickets.filter_map(|r| Some((&r.key, r.as_ticket()?))).collect();
        if tickets.is_empty() {
            return None;
        }
        let (key, ticket) = one(&mut self.rng, &tickets);
        let record = view.held.record(ticket.execution);
        let held = ticket.held.as_ref();
        let admission = match held.filter(|_| chance(&mut self.rng, 90)) {
            Some(held) => held.admission,
            None => self.admission(),
        };
        let mut control = held.map(|held| ff_core::control::Control {
            budgets: held.budgets.clone(),
            quotas: held.quotas.clone(),
            estimate: held.reserved.clone(),
        });
        if let Some(control) = control.as_mut().filter(|_| chance(&mut self.rng, 50)) {
            // Who settles need not know of the limit of a lane.
            control.quotas.retain(|name| name.lane().is_none());
        }
        let used = match chance(&mut self.rng, 30) {
            true => make::amounts(&mut self.rng),
            false => record.map(|record| record.used.clone()).unwrap_or_default(),
        };
        Some(Settling {
            namespace: key.namespace.clone(),
            execution: ticket.execution,
            admission,
            control: control.unwrap_or_default(),
            used,
            seen: self.rng.u64(..3),
            goes_on: chance(&mut self.rng, 40).then(|| millis(&mut self.rng, &[100, 20_000])),
        })
    }

    /// A queued execution has to wait.
    pub(super) fn block(&mut self, view: View<'_>) -> Option<Action> {
        let queued = |record: &Execution| matches!(record.state, State::Queued { .. });
        let record = match chance(&mut self.rng, 90) {
            true => self.some(view, queued)?,
            false => self.some(view, |_| true)?,
        };
        let rng = &mut self.rng;
        let until = one(rng, &[None, Some(50), Some(400)]);
        let block = Block {
            execution: record.id,
            on: blocker(rng),
            detail: one(rng, &["", "no room", "größe"]).into(),
            until: until.map(|span| view.now + ff_core::Millis::new(span)),
        };
        Some(block.into())
    }

    /// A blocked execution may go on, a queued one is admitted, an admission was not used.
    pub(super) fn unblock(&mut self, view: View<'_>) -> Option<Action> {
        let admitted = |record: &Execution| record.admission.is_some();
        if chance(&mut self.rng, 25) {
            let record = self.some(view, admitted)?;
            let (execution, admission) = (record.id, record.admission?);
            return Some(Unadmit { execution, admission }.into());
        }
        let waits = |record: &Execution| {
            matches!(record.state, State::Blocked { .. } | State::Queued { .. })
        };
        let record = self.some(view, waits)?;
        let on = match &record.state {
            State::Blocked { on, .. } if chance(&mut self.rng, 90) => Some(on.clone()),
            State::Blocked { .. } => Some(blocker(&mut self.rng)),
            _ => None,
        };
        let ticket = view.held.resources.iter().filter_map(Resource::as_ticket);
        let held = ticket.filter(|ticket| ticket.execution == record.id);
        let held = held.filter_map(|ticket| ticket.held.as_ref()).next();
        let admission = held.map(|held| held.admission);
        let admission = admission.or_else(|| chance(&mut self.rng, 20).then(|| self.admission()));
        Some(Unblock { execution: record.id, on, admission }.into())
    }

    /// Those who wait for the same as something that waits.
    pub(super) fn waiters(&mut self, view: View<'_>, limit: usize) -> Option<Look> {
        let record = self.some(view, |record| matches!(record.state, State::Blocked { .. }))?;
        let State::Blocked { on, .. } = &record.state else { return None };
        let (namespace, on) = (record.spec.namespace.clone(), on.clone());
        Some(Look::Blocked { namespace, on, limit })
    }

    /// A holder tells what it has used.
    pub(super) fn usage(&mut self, view: View<'_>) -> Option<Action> {
        let hold = self.hold(view)?;
        let rng = &mut self.rng;
        let key = IdempotencyKey::new(one(rng, &["r1", "r2", "r3"])).unwrap();
        let release = chance(rng, 20);
        Some(ReportUsage { hold, key, amounts: make::amounts(rng), release }.into())
    }
}

/// Whether the lane of `record` has a limit.
fn is_limited(record: &Execution, view: View<'_>) -> bool {
    let key = ResourceKey::lane(&record.spec.namespace, &record.spec.lane, 1);
    let known = view.held.resources.iter().find(|resource| resource.key == key);
    known.and_then(Resource::as_lane).is_some_and(LaneState::is_limited)
}

fn blocker(rng: &mut fastrand::Rng) -> Blocker {
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
