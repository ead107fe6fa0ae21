//! Budgets and quotas.

use std::collections::BTreeMap;
use std::time::Duration;

use ff_core::Dimension;
use ff_core::budget::{BudgetLimits, DimensionLimits, OnBreach};
use ff_core::quota::QuotaLimits;
use ff_sdk::millis;

use crate::Error;
use crate::flowfabric::FlowFabric;

/// Describes a budget. Made by [`FlowFabric::budget`]; checked and written by [`BudgetBuilder::set`].
#[must_use = "nothing is written before `set()`"]
pub struct BudgetBuilder {
    flowfabric: FlowFabric,
    name: String,
    dimensions: Vec<(String, u64)>,
    period: Option<Duration>,
}

impl BudgetBuilder {
    pub(crate) fn new(flowfabric: FlowFabric, name: &str) -> BudgetBuilder {
        BudgetBuilder { flowfabric, name: name.to_owned(), dimensions: Vec::new(), period: None }
    }

    /// How much of a dimension its tasks may use, for example 1000 `tokens`. It may be called again for
    /// more dimensions.
    pub fn limit(mut self, dimension: &str, most: u64) -> BudgetBuilder {
        self.dimensions.push((dimension.to_owned(), most));
        self
    }

    /// The length of a period: usage is reset at its end. Without one it never is.
    pub fn period(mut self, span: Duration) -> BudgetBuilder {
        self.period = Some(span);
        self
    }

    /// Creates the budget, or changes what it allows. Usage is kept, and waiting tasks that now fit
    /// are released.
    pub async fn set(self) -> Result<(), Error> {
        let mut dimensions = BTreeMap::new();
        for (dimension, most) in self.dimensions {
            let limits = DimensionLimits { soft: None, hard: Some(most) };
            dimensions.insert(Dimension::new(dimension)?, limits);
        }
        let period = self.period.map(millis);
        let limits = BudgetLimits { dimensions, period, on_breach: OnBreach::Block };
        self.flowfabric.client().put_budget(&self.name, limits).await.map(drop)
    }

    /// What its tasks have used in this period, by dimension.
    pub async fn used(&self) -> Result<BTreeMap<String, u64>, Error> {
        let budget = self.flowfabric.client().budget(&self.name).await?;
        Ok(budget.used.into_iter().map(|(name, used)| (name.to_string(), used)).collect())
    }

    /// Resets the usage, and releases waiting tasks that now fit.
    pub async fn reset(&self) -> Result<(), Error> {
        self.flowfabric.client().reset_budget(&self.name).await.map(drop)
    }
}

/// Describes a quota. Made by [`FlowFabric::quota`]; checked and written by [`QuotaBuilder::set`].
#[must_use = "nothing is written before `set()`"]
pub struct QuotaBuilder {
    flowfabric: FlowFabric,
    name: String,
    starts: Option<(u32, Duration)>,
    active: Option<u32>,
}

impl QuotaBuilder {
    pub(crate) fn new(flowfabric: FlowFabric, name: &str) -> QuotaBuilder {
        QuotaBuilder { flowfabric, name: name.to_owned(), starts: None, active: None }
    }

    /// How many of its tasks may start in any window of this length.
    pub fn starts(mut self, most: u32, window: Duration) -> QuotaBuilder {
        self.starts = Some((most, window));
        self
    }

    /// How many of its tasks may run at once.
    pub fn active(mut self, most: u32) -> QuotaBuilder {
        self.active = Some(most);
        self
    }

    /// Creates the quota, or changes what it allows. Waiting tasks that it now admits are released.
    pub async fn set(self) -> Result<(), Error> {
        let window = self.starts.map_or(Duration::from_secs(1), |(_, window)| window);
        let limits = QuotaLimits {
            max_requests: self.starts.map(|(most, _)| most),
            window: millis(window),
            max_active: self.active,
            jitter: millis(Duration::ZERO),
        };
        self.flowfabric.client().put_quota(&self.name, limits).await.map(drop)
    }
}
