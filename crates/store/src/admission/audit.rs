//! What budgets and quotas count, compared with what their tickets hold.

use std::collections::BTreeMap;

use ff_core::limits::Amounts;
use ff_core::machine::{Held, Recount, Reply};
use ff_core::record::Version;
use ff_core::{Dimension, Namespace, Resource, ResourceKey, ResourceKind, ResourceName};

use crate::audit::Row;
use crate::error::StoreError;
use crate::mint;
use crate::store::Store;
use crate::violation::Subject;

type Limit = (Namespace, ResourceName);

/// Counts tickets, and what they were taken from.
#[derive(Debug, Default)]
pub(crate) struct LimitsAudit {
    active: BTreeMap<Limit, u64>,
    held: BTreeMap<Limit, u64>,
    reserved: BTreeMap<(Limit, Dimension), u64>,
    may_use: BTreeMap<(Limit, Dimension), u64>,
    /// Every limit, with the version that was read.
    seen: BTreeMap<ResourceKey, Version>,
}

impl LimitsAudit {
    pub(crate) fn add(&mut self, resource: &Resource) {
        let place = (resource.key.namespace.clone(), resource.key.name.clone());
        if let Some(quota) = resource.as_quota() {
            self.seen.insert(resource.key.clone(), resource.version);
            self.active.insert(place, quota.active.into());
        } else if let Some(budget) = resource.as_budget() {
            self.seen.insert(resource.key.clone(), resource.version);
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
        let LimitsAudit { active, held, reserved, may_use, .. } = self;
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

    /// The corrections of what is counted and no ticket holds.
    fn recounts(self) -> Vec<Recount> {
        let LimitsAudit { active, held, reserved, may_use, seen } = self;
        let recount = |(key, seen): (ResourceKey, Version)| {
            let place = (key.namespace.clone(), key.name.clone());
            let slots = held.get(&place).copied().unwrap_or(0);
            let of_place = |sums: &BTreeMap<(Limit, Dimension), u64>| -> Amounts {
                let mine = sums.iter().filter(|((limit, _), _)| *limit == place);
                mine.map(|((_, dimension), amount)| (dimension.clone(), *amount)).collect()
            };
            let held = match key.kind {
                ResourceKind::Quota if active.get(&place).is_some_and(|active| *active > slots) => {
                    Held::Slots(slots.try_into().unwrap_or(u32::MAX))
                }
                ResourceKind::Budget => {
                    let (counted, may_use) = (of_place(&reserved), of_place(&may_use));
                    let least = |(dimension, amount): (Dimension, u64)| {
                        let held = may_use.get(&dimension).copied().unwrap_or(0);
                        (held > 0).then(|| (dimension, amount.min(held)))
                    };
                    let held: Amounts = counted.clone().into_iter().filter_map(least).collect();
                    if held == counted {
                        return None;
                    }
                    Held::Reserved(held)
                }
                _ => return None,
            };
            Some(Recount { key, seen, held })
        };
        seen.into_iter().filter_map(recount).collect()
    }
}

/// Corrects budgets and quotas that count more than their tickets hold; answers how many. One that
/// changes meanwhile is left alone: rows have limits before tickets, as their kinds are in order, so
/// what was counted is of the version that was read or of a later one.
pub async fn recount(store: &dyn Store) -> Result<u64, StoreError> {
    let (mut rows, mut limits) = (store.rows().await?, LimitsAudit::default());
    while let Some(row) = rows.next().await {
        if let Row::Resource(resource) = row? {
            limits.add(&resource);
        }
    }
    let commands = limits.recounts().into_iter().map(mint::command).collect();
    let mut corrected = 0;
    for answer in store.execute(commands).await {
        corrected += u64::from(answer? == Reply::Applied(true));
    }
    Ok(corrected)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_limits_before_tickets() {
        let kinds = [ResourceKind::Budget, ResourceKind::Quota, ResourceKind::Ticket];
        assert!(kinds.map(ResourceKind::as_str).is_sorted());
    }
}
