//! Budgets and quotas, as producers and operators set them.

use ff_core::budget::{BudgetLimits, BudgetView};
use ff_core::limits::Amounts;
use ff_core::quota::{QuotaLimits, QuotaView};
use ff_core::{Dimension, Refusal, ResourceName};

use crate::client::Client;
use crate::error::SdkError;

/// Listings and removals are on the [`Self::backend`].
impl Client {
    /// Creates a budget or changes what it allows, and releases executions blocked on it. Usage is
    /// kept.
    pub async fn put_budget(
        &self,
        name: &str,
        limits: BudgetLimits,
    ) -> Result<BudgetView, SdkError> {
        let name = ResourceName::new(name)?;
        Ok(self.backend().put_budget(&self.namespace, &name, limits).await?)
    }

    /// Resets the usage of a budget, and releases executions that wait for it.
    pub async fn reset_budget(&self, name: &str) -> Result<BudgetView, SdkError> {
        let name = ResourceName::new(name)?;
        Ok(self.backend().reset_budget(&self.namespace, &name).await?)
    }

    /// A budget: what it allows, what is used and reserved of it.
    pub async fn budget(&self, name: &str) -> Result<BudgetView, SdkError> {
        let name = ResourceName::new(name)?;
        Ok(self.backend().budget(&self.namespace, &name).await?)
    }

    /// Creates a quota, or replaces its limits, and releases executions that wait for it.
    pub async fn put_quota(&self, name: &str, limits: QuotaLimits) -> Result<QuotaView, SdkError> {
        let name = ResourceName::new(name)?;
        Ok(self.backend().put_quota(&self.namespace, &name, limits).await?)
    }

    /// A quota: what it allows, how many executions run and were admitted.
    pub async fn quota(&self, name: &str) -> Result<QuotaView, SdkError> {
        let name = ResourceName::new(name)?;
        Ok(self.backend().quota(&self.namespace, &name).await?)
    }
}

/// Amounts as callers write them; a dimension that is named twice counts in sum.
pub(crate) fn amounts_of(amounts: &[(&str, u64)]) -> Result<Amounts, Refusal> {
    let mut all = Amounts::new();
    for (dimension, amount) in amounts {
        let sum = all.entry(Dimension::new(*dimension)?).or_default();
        *sum = u64::saturating_add(*sum, *amount);
    }
    Ok(all)
}
