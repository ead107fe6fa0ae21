//! The limits of budgets and quotas, and the usage that holders report.

use std::collections::BTreeMap;

use ff_core::budget::{BudgetLimits, DimensionLimits, OnBreach};
use ff_core::limits::{Amounts, ExecutionLimits};
use ff_core::machine::{ReportUsage, Target};
use ff_core::quota::QuotaLimits;
use ff_core::{Dimension, IdempotencyKey, Millis, Refusal, ResourceName, bounds};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::holder::FenceBody;
use super::{schema, strict};

/// The default window.
const WINDOW: Millis = Millis::from_secs(60);

/// The budgets and quotas of work.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitsRequest {
    /// The budgets that its usage is charged to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::Name>, max_items = 8)]
    pub budgets: Vec<ResourceName>,
    /// The quotas that must admit it, all or none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::Name>, max_items = 8)]
    pub quotas: Vec<ResourceName>,
    /// What it is expected to use at most, by dimension: reserved when it is admitted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "strict::map")]
    #[schema(value_type = BTreeMap<schema::Name, schema::Amount>)]
    pub estimate: Amounts,
}

impl LimitsRequest {
    /// The limits. A name that is given twice counts once, but a list that is too long is refused.
    pub fn limits(self) -> Result<ExecutionLimits, Refusal> {
        for (field, got, most) in [
            ("budgets", self.budgets.len(), bounds::BUDGETS),
            ("quotas", self.quotas.len(), bounds::QUOTAS),
        ] {
            if got > most {
                return Err(Refusal::TooLarge { field, got, most, unit: "names" });
            }
        }
        Ok(ExecutionLimits {
            budgets: self.budgets.into_iter().collect(),
            quotas: self.quotas.into_iter().collect(),
            estimate: self.estimate,
        })
    }
}

impl From<&ExecutionLimits> for LimitsRequest {
    fn from(limits: &ExecutionLimits) -> LimitsRequest {
        LimitsRequest {
            budgets: limits.budgets.iter().cloned().collect(),
            quotas: limits.quotas.iter().cloned().collect(),
            estimate: limits.estimate.clone(),
        }
    }
}

/// The limits of a budget.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetRequest {
    /// The limits of each dimension: 1 to 16 of them.
    #[serde(deserialize_with = "strict::objects")]
    #[schema(value_type = BTreeMap<schema::Name, DimensionRequest>)]
    pub dimensions: BTreeMap<Dimension, DimensionRequest>,
    /// Usage is reset at this interval, a second or more; absent is never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1000, maximum = 315360000000u64)]
    pub period_ms: Option<u64>,
    /// What happens to running executions when a hard limit is reached; `block` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::OnBreach>)]
    pub on_breach: Option<OnBreach>,
}

/// The limits of one dimension. A limit of 0 is none.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DimensionRequest {
    /// Reaching it is logged and counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 9007199254740992u64)]
    pub soft: Option<u64>,
    /// Nothing is admitted once it is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 9007199254740992u64)]
    pub hard: Option<u64>,
}

impl BudgetRequest {
    /// The limits.
    pub fn limits(self) -> BudgetLimits {
        let dimensions = self.dimensions.into_iter();
        BudgetLimits {
            dimensions: dimensions
                .map(|(name, DimensionRequest { soft, hard })| {
                    (name, DimensionLimits { soft, hard })
                })
                .collect(),
            period: self.period_ms.map(Millis::new),
            on_breach: self.on_breach.unwrap_or_default(),
        }
    }
}

impl From<&BudgetLimits> for BudgetRequest {
    fn from(limits: &BudgetLimits) -> BudgetRequest {
        let dimensions = limits.dimensions.iter();
        BudgetRequest {
            dimensions: dimensions
                .map(|(name, DimensionLimits { soft, hard })| {
                    (name.clone(), DimensionRequest { soft: *soft, hard: *hard })
                })
                .collect(),
            period_ms: limits.period.map(Millis::get),
            on_breach: Some(limits.on_breach),
        }
    }
}

/// A reset, which has no fields: `{}`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResetRequest {}

/// The limits of a quota: a number of starts in a window, a number at once, or both.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QuotaRequest {
    /// How many may start in any window; absent is any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000000)]
    pub max_requests: Option<u32>,
    /// How long a window is; a minute when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 315360000000u64)]
    pub window_ms: Option<u64>,
    /// How many may run at once; absent is any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000000)]
    pub max_active: Option<u32>,
    /// At most this much is added, at random, to each wait for the rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 60000)]
    pub jitter_ms: Option<u64>,
}

impl QuotaRequest {
    /// The limits.
    pub fn limits(self) -> QuotaLimits {
        QuotaLimits {
            max_requests: self.max_requests,
            window: self.window_ms.map_or(WINDOW, Millis::new),
            max_active: self.max_active,
            jitter: self.jitter_ms.map_or(Millis::ZERO, Millis::new),
        }
    }
}

impl From<&QuotaLimits> for QuotaRequest {
    fn from(limits: &QuotaLimits) -> QuotaRequest {
        QuotaRequest {
            max_requests: limits.max_requests,
            window_ms: Some(limits.window.get()),
            max_active: limits.max_active,
            jitter_ms: Some(limits.jitter.get()),
        }
    }
}

/// Usage that a holder reports.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UsageRequest {
    /// The lease.
    #[serde(deserialize_with = "strict::object")]
    pub fence: FenceBody,
    /// The holder's name for this report: the same one again changes nothing.
    #[schema(value_type = schema::Key)]
    pub key: IdempotencyKey,
    /// How much, by dimension: 1 to 16 of them.
    #[serde(deserialize_with = "strict::map")]
    #[schema(value_type = BTreeMap<schema::Name, schema::Amount>)]
    pub amounts: Amounts,
    /// Takes back instead of adding.
    #[serde(default)]
    pub release: bool,
}

impl UsageRequest {
    /// The command.
    pub fn command(self, target: Target) -> Result<ReportUsage, Refusal> {
        let hold = self.fence.hold(target)?;
        Ok(ReportUsage { hold, key: self.key, amounts: self.amounts, release: self.release })
    }
}

impl From<&ReportUsage> for UsageRequest {
    fn from(report: &ReportUsage) -> UsageRequest {
        UsageRequest {
            fence: report.hold.fence.into(),
            key: report.key.clone(),
            amounts: report.amounts.clone(),
            release: report.release,
        }
    }
}

/// All that an execution has used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsedView {
    /// How much, by dimension.
    #[schema(value_type = BTreeMap<String, u64>)]
    pub used: Amounts,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_read_back_as_they_were_written() {
        let budget = BudgetLimits {
            dimensions: [(
                "tokens".parse().unwrap(),
                DimensionLimits { soft: None, hard: Some(7) },
            )]
            .into(),
            period: Some(Millis::from_secs(5)),
            on_breach: OnBreach::Cancel,
        };
        let text = serde_json::to_string(&BudgetRequest::from(&budget)).unwrap();
        assert_eq!(serde_json::from_str::<BudgetRequest>(&text).unwrap().limits(), budget);
        let quota = QuotaLimits {
            max_requests: Some(1),
            window: Millis::new(9),
            max_active: Some(2),
            jitter: Millis::new(3),
        };
        let text = serde_json::to_string(&QuotaRequest::from(&quota)).unwrap();
        assert_eq!(serde_json::from_str::<QuotaRequest>(&text).unwrap().limits(), quota);
    }

    #[test]
    fn a_name_counts_once_and_too_many_are_refused() {
        let quotas = |count| LimitsRequest {
            quotas: vec!["q".parse().unwrap(); count],
            ..Default::default()
        };
        assert_eq!(quotas(8).limits().unwrap().quotas.len(), 1);
        assert_eq!(quotas(9).limits().unwrap_err().field(), Some("quotas"));
    }

    #[test]
    fn unknown_words_and_repeated_dimensions_are_refused() {
        for text in [
            r#"{"dimensions":{"t":{}},"on_breach":"x"}"#,
            r#"{"dimensions":{"t":{},"t":{}}}"#,
            r#"{"dimensions":{"t":{"limit":1}}}"#,
            r#"{"dimensions":{"t":[1,2]}}"#,
            r#"{"dimensions":{"t":{"hard":-1}}}"#,
            r#"{"dimensions":{"t":{"hard":1.5}}}"#,
        ] {
            assert!(serde_json::from_str::<BudgetRequest>(text).is_err(), "{text}");
        }
    }
}
