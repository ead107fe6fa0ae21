//! Budgets and quotas: create, read, change, remove.

use async_trait::async_trait;
use ff_core::budget::{BudgetLimits, BudgetView};
use ff_core::limits::Blocker;
use ff_core::machine::{Action, Discard, PutBudget, PutQuota, Reply, ResetBudget};
use ff_core::quota::{QuotaLimits, QuotaView};
use ff_core::{Namespace, Refusal, Resource, ResourceKey, ResourceKind, ResourceName, Time};

use super::{Engine, done, give, only};
use crate::admission::release;
use crate::error::StoreError;
use crate::store::Store;

/// Say what may be used, and how much of it at a time.
#[async_trait]
pub trait LimitsBackend: Send + Sync {
    /// Creates a budget or changes what it allows, and releases executions blocked on it. Usage is
    /// kept.
    async fn put_budget(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
        limits: BudgetLimits,
    ) -> Result<BudgetView, StoreError>;

    /// Forgets what was used of a budget, and releases executions blocked on it.
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

    /// Creates a quota or changes what it allows, and releases executions blocked on it.
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
impl<S: Store + ?Sized> LimitsBackend for Engine<S> {
    async fn put_budget(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
        limits: BudgetLimits,
    ) -> Result<BudgetView, StoreError> {
        let key = self.limit(ResourceKind::Budget, namespace, name);
        let budget = self.change(PutBudget { key: key.clone(), limits }, key).await?;
        Ok(only!(Budget)(budget)?.view(name))
    }

    async fn reset_budget(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<BudgetView, StoreError> {
        let key = self.limit(ResourceKind::Budget, namespace, name);
        let budget = self.change(ResetBudget { key: key.clone() }, key).await?;
        Ok(only!(Budget)(budget)?.view(name))
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
        let key = self.limit(ResourceKind::Quota, namespace, name);
        let quota = self.change(PutQuota { key: key.clone(), limits }, key).await?;
        Ok(only!(Quota)(quota)?.view(name, self.now().await?))
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
            // Those that keep the limits of lanes are internal.
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

impl<S: Store + ?Sized> Engine<S> {
    /// The store's time.
    pub(super) async fn now(&self) -> Result<Time, StoreError> {
        self.store().now().await
    }

    pub(super) fn limit(
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
        let found = self.store().resource(&self.limit(kind, namespace, name)).await?;
        found.ok_or_else(|| no_such(kind))
    }

    async fn discard(
        &self,
        kind: ResourceKind,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<(), StoreError> {
        let key = self.limit(kind, namespace, name);
        self.one(Discard { key }).await.and_then(done)
    }

    /// Changes a budget or a quota, and releases executions blocked on it. The change is answered
    /// even where the release fails, which the unblock scanner repeats.
    async fn change(
        &self,
        action: impl Into<Action>,
        key: ResourceKey,
    ) -> Result<Reply, StoreError> {
        let (process, command) = (self.0.clone(), self.command(action));
        let change = async move {
            let reply = give(&*process.store, command).await?;
            let on = Blocker { kind: key.kind, name: key.name };
            release::release_or_warn(&process, &key.namespace, &on).await;
            Ok(reply)
        };
        self.0.call(change).await
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
