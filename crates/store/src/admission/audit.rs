//! What budgets and quotas count, compared with what their tickets hold.

use std::collections::BTreeMap;

use ff_core::limits::Amounts;
use ff_core::{Dimension, Namespace, Resource, ResourceKind, ResourceName};

use crate::violation::Subject;

type Limit = (Namespace, ResourceName);

/// Counts tickets, and what they were taken from.
#[derive(Debug, Default)]
pub(crate) struct LimitsAudit {
    active: BTreeMap<Limit, u64>,
    held: BTreeMap<Limit, u64>,
    reserved: BTreeMap<(Limit, Dimension), u64>,
    may_use: BTreeMap<(Limit, Dimension), u64>,
}

impl LimitsAudit {
    pub(crate) fn add(&mut self, resource: &Resource) {
        let place = (resource.key.namespace.clone(), resource.key.name.clone());
        if let Some(quota) = resource.as_quota() {
            self.active.insert(place, quota.active.into());
        } else if let Some(budget) = resource.as_budget() {
            sum(&mut self.reserved, &place, &budget.reserved);
        } else if let Some(ticket) = resource.as_ticket() {
            let (namespace, _) = place;
            for name in &ticket.quotas {
                *self.held.entry((namespace.clone(), name.clone())).or_default() += 1;
            }
            for name in &ticket.budgets {
                let limit = (namespace.clone(), name.clone());
                sum(&mut self.may_use, &limit, &ticket.reserved());
            }
        }
    }

    /// What is counted and no ticket holds.
    pub(crate) fn leaks(self) -> impl Iterator<Item = (Subject, String)> {
        let LimitsAudit { active, held, reserved, may_use } = self;
        let places = active.into_iter().filter_map(move |(place, active)| {
            let held = held.get(&place).copied().unwrap_or(0);
            let detail = || format!("counts {active}, {held} hold it");
            (active > held).then(|| (limit(ResourceKind::Quota, place), detail()))
        });
        let amounts = reserved.into_iter().filter_map(move |(key, reserved)| {
            let held = may_use.get(&key).copied().unwrap_or(0);
            let (place, dimension) = key;
            let detail = format!("reserves {reserved} {dimension}, {held} are held");
            (reserved > held).then(|| (limit(ResourceKind::Budget, place), detail))
        });
        places.chain(amounts)
    }
}

fn limit(kind: ResourceKind, (namespace, name): Limit) -> Subject {
    Subject::Limit { kind, namespace, name }
}

fn sum(sums: &mut BTreeMap<(Limit, Dimension), u64>, place: &Limit, amounts: &Amounts) {
    for (dimension, amount) in amounts {
        let total = sums.entry((place.clone(), dimension.clone())).or_default();
        *total = total.saturating_add(*amount);
    }
}
