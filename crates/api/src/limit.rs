//! Budgets and quotas.

use std::collections::BTreeMap;

use ff_core::act::Changed;
use ff_core::budget::{self, BudgetLimits, DimensionLimits, DimensionState, OnBreach};
use ff_core::quota::{self, QuotaLimits};
use ff_core::{Dimension, Millis, ResourceName};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::act::ChangedView;
use crate::http::schema;
use crate::timestamp::Timestamp;

/// A budget and what was used of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BudgetView {
    /// Its name.
    #[schema(value_type = String)]
    pub budget: ResourceName,
    /// What it allows, and what was used, by dimension.
    #[schema(value_type = BTreeMap<String, DimensionView>)]
    pub dimensions: BTreeMap<Dimension, DimensionView>,
    /// Usage is reset at this interval; null is never.
    pub period_ms: Option<u64>,
    /// What happens to running executions when a hard limit is reached.
    #[schema(value_type = schema::OnBreach)]
    pub on_breach: OnBreach,
    /// When the period began.
    pub since: Timestamp,
    /// When usage is reset.
    pub resets: Option<Timestamp>,
    /// Who changed last what it allows, or reset it; null if that is not known.
    #[serde(default)]
    pub changed: Option<ChangedView>,
}

/// One dimension of a budget; a limit of 0 is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DimensionView {
    /// Reaching it is logged and counted.
    pub soft: Option<u64>,
    /// Nothing is admitted once it is reached.
    pub hard: Option<u64>,
    /// What was used in this period.
    pub used: u64,
    /// What running executions may still use.
    pub reserved: u64,
    /// Whether it has room.
    #[schema(value_type = schema::DimensionState)]
    pub state: DimensionState,
}

impl From<&budget::BudgetView> for BudgetView {
    fn from(view: &budget::BudgetView) -> Self {
        let dimension = |(name, limits): (&Dimension, &DimensionLimits)| {
            let used = view.used.get(name).copied().unwrap_or(0);
            let reserved = view.reserved.get(name).copied().unwrap_or(0);
            let DimensionLimits { soft, hard } = *limits;
            let state = limits.state(used, reserved);
            let view = DimensionView { soft, hard, used, reserved, state };
            (name.clone(), view)
        };
        BudgetView {
            budget: view.name.clone(),
            dimensions: view.limits.dimensions.iter().map(dimension).collect(),
            period_ms: view.limits.period.map(Millis::get),
            on_breach: view.limits.on_breach,
            since: view.since.into(),
            resets: view.resets_at().map(Timestamp),
            changed: view.changed.as_ref().map(ChangedView::from),
        }
    }
}

impl BudgetView {
    /// The budget.
    pub fn to_domain(&self) -> budget::BudgetView {
        let limits = self.dimensions.iter().map(|(name, view)| {
            (name.clone(), DimensionLimits { soft: view.soft, hard: view.hard })
        });
        let amounts = |of: fn(&DimensionView) -> u64| {
            let amounts = self.dimensions.iter().map(|(name, view)| (name.clone(), of(view)));
            amounts.filter(|(_, amount)| *amount > 0).collect()
        };
        budget::BudgetView {
            name: self.budget.clone(),
            limits: BudgetLimits {
                dimensions: limits.collect(),
                period: self.period_ms.map(Millis::new),
                on_breach: self.on_breach,
            },
            used: amounts(|view| view.used),
            reserved: amounts(|view| view.reserved),
            since: self.since.0,
            changed: self.changed.as_ref().map(Changed::from),
        }
    }
}

/// A quota and what it has admitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuotaView {
    /// Its name.
    #[schema(value_type = String)]
    pub quota: ResourceName,
    /// How many may start in any window; null is any number.
    pub max_requests: Option<u32>,
    /// How long a window is.
    pub window_ms: u64,
    /// How many may run at once; null is any number.
    pub max_active: Option<u32>,
    /// At most this much is added, at random, to each wait for the rate.
    pub jitter_ms: u64,
    /// How many run.
    pub active: u32,
    /// How many were admitted in the window that ends now.
    pub admitted: u64,
    /// When the window admits one more.
    pub next: Timestamp,
    /// Who changed last what it allows; null if that is not known.
    #[serde(default)]
    pub changed: Option<ChangedView>,
}

impl From<&quota::QuotaView> for QuotaView {
    fn from(view: &quota::QuotaView) -> Self {
        QuotaView {
            quota: view.name.clone(),
            max_requests: view.limits.max_requests,
            window_ms: view.limits.window.get(),
            max_active: view.limits.max_active,
            jitter_ms: view.limits.jitter.get(),
            active: view.active,
            admitted: view.admitted,
            next: view.next.into(),
            changed: view.changed.as_ref().map(ChangedView::from),
        }
    }
}

impl QuotaView {
    /// The quota.
    pub fn to_domain(&self) -> quota::QuotaView {
        quota::QuotaView {
            name: self.quota.clone(),
            limits: QuotaLimits {
                max_requests: self.max_requests,
                window: Millis::new(self.window_ms),
                max_active: self.max_active,
                jitter: Millis::new(self.jitter_ms),
            },
            active: self.active,
            admitted: self.admitted,
            next: self.next.0,
            changed: self.changed.as_ref().map(Changed::from),
        }
    }
}

/// One page of budgets, in the order of their names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BudgetPageView {
    /// The budgets.
    pub budgets: Vec<BudgetView>,
    /// The cursor to continue with; null when there is nothing more.
    pub next: Option<String>,
}

impl BudgetPageView {
    /// The page requested with `limit`.
    pub fn new(found: &[budget::BudgetView], limit: usize) -> Self {
        let full = found.last().filter(|_| found.len() >= limit);
        let next = full.map(|last| last.name.to_string());
        BudgetPageView { budgets: found.iter().map(BudgetView::from).collect(), next }
    }
}

/// One page of quotas, in the order of their names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuotaPageView {
    /// The quotas.
    pub quotas: Vec<QuotaView>,
    /// The cursor to continue with; null when there is nothing more.
    pub next: Option<String>,
}

impl QuotaPageView {
    /// The page requested with `limit`.
    pub fn new(found: &[quota::QuotaView], limit: usize) -> Self {
        let full = found.last().filter(|_| found.len() >= limit);
        let next = full.map(|last| last.name.to_string());
        QuotaPageView { quotas: found.iter().map(QuotaView::from).collect(), next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use ff_core::Actor;

    #[test]
    fn a_budget_reads_back_as_it_was_written() {
        let tokens = Dimension::new("tokens").unwrap();
        let limits = DimensionLimits { soft: Some(5), hard: Some(9) };
        for (period, on_breach) in
            [(None, OnBreach::Block), (Some(Millis::from_secs(60)), OnBreach::Cancel)]
        {
            let budget = budget::BudgetView {
                name: ResourceName::new("team").unwrap(),
                limits: BudgetLimits {
                    dimensions: [(tokens.clone(), limits)].into(),
                    period,
                    on_breach,
                },
                used: [(tokens.clone(), 3)].into(),
                reserved: BTreeMap::new(),
                since: sample::NOW,
                changed: period.map(|_| Changed { at: sample::NOW, by: Actor::root() }),
            };
            let text = serde_json::to_string(&BudgetView::from(&budget)).unwrap();
            let view: BudgetView = serde_json::from_str(&text).unwrap();
            assert_eq!(view.resets.is_some(), period.is_some());
            assert_eq!(view.to_domain(), budget);
        }
    }

    #[test]
    fn a_quota_reads_back_as_it_was_written() {
        let quota = quota::QuotaView {
            name: ResourceName::new("api").unwrap(),
            limits: QuotaLimits {
                max_requests: Some(3),
                window: Millis::from_secs(10),
                max_active: None,
                jitter: Millis::new(5),
            },
            active: 1,
            admitted: 2,
            next: sample::NOW,
            changed: Some(Changed { at: sample::NOW, by: Actor::local() }),
        };
        let text = serde_json::to_string(&QuotaView::from(&quota)).unwrap();
        assert_eq!(serde_json::from_str::<QuotaView>(&text).unwrap().to_domain(), quota);
        assert_eq!(
            QuotaPageView::new(std::slice::from_ref(&quota), 1).next.as_deref(),
            Some("api")
        );
        assert_eq!(QuotaPageView::new(&[quota], 2).next, None);
    }
}
