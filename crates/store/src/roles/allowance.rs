//! Budgets and quotas: made, looked at, changed, removed.

use async_trait::async_trait;
use ff_core::budget::{BudgetLimits, BudgetView};
use ff_core::control::Blocker;
use ff_core::machine::{Discard, PutBudget, PutQuota, ResetBudget};
use ff_core::quota::{QuotaLimits, QuotaView};
use ff_core::{Namespace, Refusal, Resource, ResourceKey, ResourceKind, ResourceName, Time};

use super::{Backend, done, one, only};
use crate::easing;
use crate::error::StoreError;
use crate::share::Share;
use crate::store::Store;

/// Say what may be used, and how much of it at a time.
#[async_trait]
pub trait AllowanceBackend: Send + Sync {
    /// Makes a budget, or changes what it allows, and lets go who waited for it. What was used stays.
    async fn put_budget(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
        limits: BudgetLimits,
    ) -> Result<BudgetView, StoreError>;

    /// Forgets what was used of a budget, and lets go who waited for it.
    async fn reset_budget(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<BudgetView, StoreError>;

    /// One budget.
    async fn budget(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<BudgetView, StoreError>;

    /// Budgets in the order of their names, after `after`, at most `limit`.
    async fn budgets(
        &self,
        namespace: &Namespace,
        after: Option<&ResourceName>,
        limit: usize,
    ) -> Result<Vec<BudgetView>, StoreError>;

    /// Removes a budget. What names it waits until there is one again.
    async fn delete_budget(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<(), StoreError>;

    /// Makes a quota, or changes what it allows, and lets go who waited for it.
    async fn put_quota(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
        limits: QuotaLimits,
    ) -> Result<QuotaView, StoreError>;

    /// One quota.
    async fn quota(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<QuotaView, StoreError>;

    /// Quotas in the order of their names, after `after`, at most `limit`.
    async fn quotas(
        &self,
        namespace: &Namespace,
        after: Option<&ResourceName>,
        limit: usize,
    ) -> Result<Vec<QuotaView>, StoreError>;

    /// Removes a quota. What names it waits until there is one again.
    async fn delete_quota(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<(), StoreError>;
}

#[async_trait]
impl<S: Store> AllowanceBackend for Backend<S> {
    async fn put_budget(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
        limits: BudgetLimits,
    ) -> Result<BudgetView, StoreError> {
        let key = self.allowance(ResourceKind::Budget, namespace, name);
        let answer = one(&**self.store(), PutBudget { key, limits }).await;
        let budget = answer.and_then(only!(Budget))?;
        self.let_go(ResourceKind::Budget, namespace, name).await?;
        Ok(budget.view(name))
    }

    async fn reset_budget(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<BudgetView, StoreError> {
        let key = self.allowance(ResourceKind::Budget, namespace, name);
        let budget = one(&**self.store(), ResetBudget { key }).await.and_then(only!(Budget))?;
        self.let_go(ResourceKind::Budget, namespace, name).await?;
        Ok(budget.view(name))
    }

    async fn budget(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<BudgetView, StoreError> {
        let found = self.found(ResourceKind::Budget, namespace, name).await?;
        budget(&found).ok_or_else(|| no_such(ResourceKind::Budget))
    }

    async fn budgets(
        &self,
        namespace: &Namespace,
        after: Option<&ResourceName>,
        limit: usize,
    ) -> Result<Vec<BudgetView>, StoreError> {
        let found = self.resources(namespace, ResourceKind::Budget, after.cloned(), limit).await?;
        Ok(found.iter().filter_map(budget).collect())
    }

    async fn delete_budget(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<(), StoreError> {
        self.discard(ResourceKind::Budget, namespace, name).await
    }

    async fn put_quota(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
        limits: QuotaLimits,
    ) -> Result<QuotaView, StoreError> {
        let key = self.allowance(ResourceKind::Quota, namespace, name);
        let quota = one(&**self.store(), PutQuota { key, limits }).await.and_then(only!(Quota))?;
        self.let_go(ResourceKind::Quota, namespace, name).await?;
        Ok(quota.view(name, self.now().await?))
    }

    async fn quota(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<QuotaView, StoreError> {
        let found = self.found(ResourceKind::Quota, namespace, name).await?;
        let now = self.now().await?;
        quota(&found, now).ok_or_else(|| no_such(ResourceKind::Quota))
    }

    async fn quotas(
        &self,
        namespace: &Namespace,
        after: Option<&ResourceName>,
        limit: usize,
    ) -> Result<Vec<QuotaView>, StoreError> {
        let (mut quotas, mut after) = (Vec::new(), after.cloned());
        let now = self.now().await?;
        loop {
            let page = self.resources(namespace, ResourceKind::Quota, after, limit).await?;
            after = page.last().map(|last| last.key.name.clone());
            let whole = page.len() == limit;
            // Those that keep the limits of lanes are nobody's business.
            let own = page.iter().filter(|found| found.key.name.lane().is_none());
            quotas.extend(own.filter_map(|found| quota(found, now)));
            if !whole || quotas.len() >= limit {
                quotas.truncate(limit);
                return Ok(quotas);
            }
        }
    }

    async fn delete_quota(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<(), StoreError> {
        self.discard(ResourceKind::Quota, namespace, name).await
    }
}

impl<S: Store> Backend<S> {
    /// The store's time.
    pub(super) async fn now(&self) -> Result<Time, StoreError> {
        Ok(self.store().due(&Share::All, None, 1).await?.now)
    }

    pub(super) fn allowance(
        &self,
        kind: ResourceKind,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> ResourceKey {
        ResourceKey::at_home(kind, namespace, name, self.store().partitions())
    }

    async fn found(
        &self,
        kind: ResourceKind,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<Resource, StoreError> {
        name.check_free("name")?;
        let found = self.store().resource(&self.allowance(kind, namespace, name)).await?;
        found.ok_or_else(|| no_such(kind))
    }

    async fn discard(
        &self,
        kind: ResourceKind,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<(), StoreError> {
        let key = self.allowance(kind, namespace, name);
        one(&**self.store(), Discard { key }).await.and_then(done)
    }

    /// Lets go who waited for a budget or a quota that has changed.
    async fn let_go(
        &self,
        kind: ResourceKind,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<(), StoreError> {
        let on = Blocker { kind, name: name.clone() };
        easing::ease(&**self.store(), namespace, &on).await.map(drop)
    }
}

fn no_such(kind: ResourceKind) -> StoreError {
    Refusal::NoSuch { what: kind.as_str() }.into()
}

fn budget(found: &Resource) -> Option<BudgetView> {
    Some(found.as_budget()?.view(&found.key.name))
}

fn quota(found: &Resource, now: Time) -> Option<QuotaView> {
    Some(found.as_quota()?.view(&found.key.name, now))
}
