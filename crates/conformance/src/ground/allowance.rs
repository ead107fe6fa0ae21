//! Words for budgets and quotas, and for what they let through.

use ff_core::budget::{BudgetLimits, BudgetView, DimensionLimits, OnBreach};
use ff_core::control::{Amounts, Control};
use ff_core::machine::{Assignment, ReportUsage, Submit};
use ff_core::quota::{QuotaLimits, QuotaView};
use ff_core::resource::Ticket;
use ff_core::{Dimension, ExecutionId, Millis, ResourceName, When};
use ff_store::roles::Answer;

use super::{Ground, failure, key, ms, permanent};

pub(crate) fn named(name: &str) -> ResourceName {
    ResourceName::new(name).unwrap()
}

/// So many tokens.
pub(crate) fn tokens(amount: u64) -> Amounts {
    [(Dimension::new("tokens").unwrap(), amount)].into()
}

/// At most so many at once.
pub(crate) fn at_once(most: u32) -> QuotaLimits {
    QuotaLimits {
        max_requests: None,
        window: ms(1_000),
        max_active: Some(most),
        jitter: Millis::ZERO,
    }
}

/// At most so many in any ten seconds.
pub(crate) fn in_ten_seconds(most: u32) -> QuotaLimits {
    QuotaLimits {
        max_requests: Some(most),
        window: ms(10_000),
        max_active: None,
        jitter: Millis::ZERO,
    }
}

/// So many tokens, for ever.
pub(crate) fn of_tokens(hard: u64) -> BudgetLimits {
    let limits = DimensionLimits { soft: None, hard: Some(hard) };
    BudgetLimits {
        dimensions: [(Dimension::new("tokens").unwrap(), limits)].into(),
        period: None,
        on_breach: OnBreach::Block,
    }
}

impl Ground {
    pub(crate) async fn put_quota(&self, name: &str, limits: QuotaLimits) -> QuotaView {
        self.backend().put_quota(&self.namespace, &named(name), limits).await.unwrap()
    }

    pub(crate) async fn put_budget(&self, name: &str, limits: BudgetLimits) -> BudgetView {
        self.backend().put_budget(&self.namespace, &named(name), limits).await.unwrap()
    }

    pub(crate) async fn quota(&self, name: &str) -> QuotaView {
        self.backend().quota(&self.namespace, &named(name)).await.unwrap()
    }

    pub(crate) async fn budget(&self, name: &str) -> BudgetView {
        self.backend().budget(&self.namespace, &named(name)).await.unwrap()
    }

    /// Work that these quotas must let through.
    pub(crate) async fn under(&self, quotas: &[&str]) -> ExecutionId {
        self.controlled(&[], quotas, Amounts::new()).await
    }

    /// Work that spends from these budgets.
    pub(crate) async fn spending(&self, budgets: &[&str]) -> ExecutionId {
        self.controlled(budgets, &[], Amounts::new()).await
    }

    pub(crate) async fn controlled(
        &self,
        budgets: &[&str],
        quotas: &[&str],
        estimate: Amounts,
    ) -> ExecutionId {
        let names = |names: &[&str]| names.iter().map(|name| named(name)).collect();
        let control = Control { budgets: names(budgets), quotas: names(quotas), estimate };
        self.submit(Submit { control, ..self.work() }).await
    }

    pub(crate) async fn report(
        &self,
        of: &Assignment,
        name: &str,
        amounts: Amounts,
    ) -> Answer<Amounts> {
        let report = ReportUsage { hold: of.hold(), key: key(name), amounts, release: false };
        self.backend().report_usage(report).await
    }

    /// Usage that was reported is taken back.
    pub(crate) async fn release_usage(
        &self,
        of: &Assignment,
        name: &str,
        amounts: Amounts,
    ) -> Answer<Amounts> {
        let report = ReportUsage { hold: of.hold(), key: key(name), amounts, release: true };
        self.backend().report_usage(report).await
    }

    /// Of `ids`, of which one may run at a time, six stop, each in another way; the seventh then runs.
    pub(crate) async fn stop_in_every_way(&self, ids: &[ExecutionId]) {
        let held = self.claimed().await;
        assert_eq!(held.execution, ids[0]);
        assert!(self.nothing_to_claim().await);
        self.complete(&held, "done").await.unwrap();
        let held = self.claimed().await;
        assert_eq!(held.execution, ids[1], "the first that waits is served first");
        self.fail(&held, permanent("broken")).await.unwrap();
        let held = self.claimed().await;
        self.cancel_held(&held, None).await.unwrap();
        let held = self.claimed().await;
        self.cancel(held.execution, None).await.unwrap();
        let held = self.claimed().await;
        self.delay(&held, When::After(Millis::from_hours(1))).await.unwrap();
        let held = self.claimed().await;
        self.fail(&held, failure("again")).await.unwrap();
        let held = self.claimed().await;
        assert_eq!(held.execution, ids[6]);
    }

    /// The tickets there are.
    pub(crate) async fn tickets(&self) -> Vec<Ticket> {
        let all = self.snapshot().await.resources;
        all.iter().filter_map(|resource| resource.as_ticket().cloned()).collect()
    }
}
