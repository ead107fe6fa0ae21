//! The policy of an execution.

use ff_core::policy::{Backoff, Growth, Policy, Retry};
use ff_core::stream::StreamPolicy;
use ff_core::{Category, Millis};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::schema;

/// The policies of one execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PolicyView {
    /// How many attempts of a run may end by failure.
    pub max_attempts: u32,
    /// How long to wait between them.
    pub backoff: BackoffView,
    /// Which failure categories are retried; null means all of them.
    #[schema(value_type = Option<Vec<String>>)]
    pub retry_on: Option<Vec<Category>>,
    /// How long one hold of an attempt may run.
    pub attempt_timeout_ms: Option<u64>,
    /// How long a run may take.
    pub deadline_ms: Option<u64>,
    /// How long a lease lasts without a renewal.
    pub lease_ttl_ms: u64,
    /// How many leases a run may lose.
    pub max_reclaims: u32,
    /// How long it stays readable after its end.
    pub retention_ms: u64,
    /// How many frames of its stream are kept.
    pub stream_frames: u32,
    /// How many bytes of them.
    pub stream_bytes: u32,
}

/// How the wait grows from one failed attempt to the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackoffView {
    /// How it grows.
    #[schema(value_type = schema::Growth)]
    pub growth: Growth,
    /// The wait after the first failure.
    pub base_ms: u64,
    /// The longest wait.
    pub cap_ms: u64,
    /// Which part of the wait is random.
    pub jitter_percent: u8,
}

impl From<&Policy> for PolicyView {
    fn from(policy: &Policy) -> Self {
        let retry = &policy.retry;
        PolicyView {
            max_attempts: retry.max_attempts,
            backoff: (&retry.backoff).into(),
            retry_on: retry.categories.as_ref().map(|set| set.iter().cloned().collect()),
            attempt_timeout_ms: policy.attempt_timeout.map(Millis::get),
            deadline_ms: policy.deadline.map(Millis::get),
            lease_ttl_ms: policy.lease_ttl.get(),
            max_reclaims: policy.max_reclaims,
            retention_ms: policy.retention.get(),
            stream_frames: policy.stream.frames,
            stream_bytes: policy.stream.bytes,
        }
    }
}

impl From<&Backoff> for BackoffView {
    fn from(backoff: &Backoff) -> Self {
        BackoffView {
            growth: backoff.growth,
            base_ms: backoff.base.get(),
            cap_ms: backoff.cap.get(),
            jitter_percent: backoff.jitter_percent,
        }
    }
}

impl From<PolicyView> for Policy {
    fn from(view: PolicyView) -> Policy {
        let BackoffView { growth, base_ms, cap_ms, jitter_percent } = view.backoff;
        let (base, cap) = (Millis::new(base_ms), Millis::new(cap_ms));
        Policy {
            retry: Retry {
                max_attempts: view.max_attempts,
                backoff: Backoff { growth, base, cap, jitter_percent },
                categories: view.retry_on.map(|list| list.into_iter().collect()),
            },
            attempt_timeout: view.attempt_timeout_ms.map(Millis::new),
            deadline: view.deadline_ms.map(Millis::new),
            lease_ttl: Millis::new(view.lease_ttl_ms),
            max_reclaims: view.max_reclaims,
            retention: Millis::new(view.retention_ms),
            stream: StreamPolicy { frames: view.stream_frames, bytes: view.stream_bytes },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_defaults_read_as_documented() {
        let view = PolicyView::from(&Policy::default());
        assert_eq!(
            serde_json::to_value(view).unwrap(),
            json!({
                "max_attempts": 3,
                "backoff": {
                    "growth": "exponential",
                    "base_ms": 1_000,
                    "cap_ms": 60_000,
                    "jitter_percent": 20,
                },
                "retry_on": null,
                "attempt_timeout_ms": null,
                "deadline_ms": null,
                "lease_ttl_ms": 30_000,
                "max_reclaims": 10,
                "retention_ms": 604_800_000,
                "stream_frames": 10_000,
                "stream_bytes": 4_194_304,
            })
        );
    }

    #[test]
    fn a_policy_is_shown() {
        let mut policy = Policy { deadline: Some(Millis::new(5)), ..Policy::default() };
        policy.retry.backoff = Backoff::fixed(Millis::new(7));
        policy.retry.categories = Some([Category::timeout()].into());
        let view = PolicyView::from(&policy);
        assert_eq!(view.deadline_ms, Some(5));
        assert_eq!((view.backoff.growth, view.backoff.base_ms), (Growth::Fixed, 7));
        assert_eq!(view.retry_on, Some(vec![Category::timeout()]));
    }
}
