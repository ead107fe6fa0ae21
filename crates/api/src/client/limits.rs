//! Budgets and quotas, over HTTP.

use std::time::Duration;

use async_trait::async_trait;
use ff_core::budget::{self, BudgetLimits};
use ff_core::quota::{self, QuotaLimits};
use ff_core::{Namespace, ResourceName};
use ff_store::{LimitsBackend, StoreError};

use super::paths::page_path;
use super::transport::{HttpClient, broken};
use crate::http::{BudgetRequest, QuotaRequest, ResetRequest};
use crate::{BudgetPageView, BudgetView, QuotaPageView, QuotaView};

#[async_trait]
impl LimitsBackend for HttpClient {
    async fn put_budget(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
        limits: BudgetLimits,
    ) -> Result<budget::BudgetView, StoreError> {
        let path = path("budgets", namespace, name, "");
        let view: BudgetView = self.put(&path, &BudgetRequest::from(&limits)).await?;
        Ok(view.to_domain())
    }

    async fn reset_budget(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<budget::BudgetView, StoreError> {
        let path = path("budgets", namespace, name, "/reset");
        let view: Option<BudgetView> = self.post(&path, &ResetRequest {}, Duration::ZERO).await?;
        Ok(view.ok_or_else(|| broken("no content"))?.to_domain())
    }

    async fn budget(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<budget::BudgetView, StoreError> {
        let view: BudgetView = self.get(&path("budgets", namespace, name, "")).await?;
        Ok(view.to_domain())
    }

    async fn budgets(
        &self,
        namespace: &Namespace,
        after: Option<&ResourceName>,
        limit: usize,
    ) -> Result<Vec<budget::BudgetView>, StoreError> {
        let path = page_path("budgets", namespace, after.map(ResourceName::as_str), limit);
        let page: BudgetPageView = self.get(&path).await?;
        Ok(page.budgets.iter().map(BudgetView::to_domain).collect())
    }

    async fn delete_budget(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<(), StoreError> {
        self.delete(&path("budgets", namespace, name, "")).await
    }

    async fn put_quota(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
        limits: QuotaLimits,
    ) -> Result<quota::QuotaView, StoreError> {
        let path = path("quotas", namespace, name, "");
        let view: QuotaView = self.put(&path, &QuotaRequest::from(&limits)).await?;
        Ok(view.to_domain())
    }

    async fn quota(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<quota::QuotaView, StoreError> {
        let view: QuotaView = self.get(&path("quotas", namespace, name, "")).await?;
        Ok(view.to_domain())
    }

    async fn quotas(
        &self,
        namespace: &Namespace,
        after: Option<&ResourceName>,
        limit: usize,
    ) -> Result<Vec<quota::QuotaView>, StoreError> {
        let path = page_path("quotas", namespace, after.map(ResourceName::as_str), limit);
        let page: QuotaPageView = self.get(&path).await?;
        Ok(page.quotas.iter().map(QuotaView::to_domain).collect())
    }

    async fn delete_quota(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<(), StoreError> {
        self.delete(&path("quotas", namespace, name, "")).await
    }
}

fn path(what: &str, namespace: &Namespace, name: &ResourceName, call: &str) -> String {
    format!("/v1/{what}/{name}{call}?namespace={namespace}")
}
