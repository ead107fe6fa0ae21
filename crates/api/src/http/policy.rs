//! The policy of work, set by a submit or by a lane.

use ff_core::overrides::{BackoffOverrides, PolicyOverrides, StreamOverrides};
use ff_core::policy::Growth;
use ff_core::{Category, Millis, Patch};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{patch, schema, strict};

/// The policy of work. An absent field has the value of its lane, or the documented default; null
/// sets none, whatever the lane has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyRequest {
    /// How many attempts of a run may end by failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000)]
    pub max_attempts: Option<u32>,
    /// How long to wait between attempts.
    #[serde(default, deserialize_with = "strict::object")]
    #[serde(skip_serializing_if = "BackoffRequest::is_empty")]
    pub backoff: BackoffRequest,
    /// Which failure categories are retried; null is all of them.
    #[serde(default, with = "patch", skip_serializing_if = "Patch::is_unset")]
    #[schema(value_type = Option<Vec<schema::Name>>, max_items = 32)]
    pub retry_on: Patch<Vec<Category>>,
    /// How long one hold of an attempt may run; null is any time.
    #[serde(default, with = "patch", skip_serializing_if = "Patch::is_unset")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 315360000000u64)]
    pub attempt_timeout_ms: Patch<u64>,
    /// How long a run may take; null is any time.
    #[serde(default, with = "patch", skip_serializing_if = "Patch::is_unset")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 315360000000u64)]
    pub deadline_ms: Patch<u64>,
    /// How long a lease lasts without a renewal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 100, maximum = 86400000)]
    pub lease_ttl_ms: Option<u64>,
    /// How many leases a run may lose before it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 1000)]
    pub max_reclaims: Option<u32>,
    /// How long the execution stays readable after its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 315360000000u64)]
    pub retention_ms: Option<u64>,
    /// How many frames of its stream are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100000)]
    pub stream_frames: Option<u32>,
    /// How many bytes of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 65536, maximum = 67108864)]
    pub stream_bytes: Option<u32>,
}

/// How the wait between attempts grows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BackoffRequest {
    /// How it grows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Growth>)]
    pub growth: Option<Growth>,
    /// The wait after the first failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 315360000000u64)]
    pub base_ms: Option<u64>,
    /// The longest wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 315360000000u64)]
    pub cap_ms: Option<u64>,
    /// Which part of the wait is random, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 100)]
    pub jitter_percent: Option<u8>,
}

impl BackoffRequest {
    fn is_empty(&self) -> bool {
        *self == BackoffRequest::default()
    }
}

impl PolicyRequest {
    /// The overrides. The machine checks their bounds.
    pub fn ask(self) -> PolicyOverrides {
        PolicyOverrides {
            max_attempts: self.max_attempts,
            backoff: BackoffOverrides {
                growth: self.backoff.growth,
                base: self.backoff.base_ms.map(Millis::new),
                cap: self.backoff.cap_ms.map(Millis::new),
                jitter_percent: self.backoff.jitter_percent,
            },
            categories: self.retry_on.map(|list| list.into_iter().collect()),
            attempt_timeout: self.attempt_timeout_ms.map(Millis::new),
            deadline: self.deadline_ms.map(Millis::new),
            lease_ttl: self.lease_ttl_ms.map(Millis::new),
            max_reclaims: self.max_reclaims,
            retention: self.retention_ms.map(Millis::new),
            stream: StreamOverrides { frames: self.stream_frames, bytes: self.stream_bytes },
        }
    }
}

impl From<&PolicyOverrides> for PolicyRequest {
    fn from(ask: &PolicyOverrides) -> PolicyRequest {
        let BackoffOverrides { growth, base, cap, jitter_percent } = ask.backoff;
        PolicyRequest {
            max_attempts: ask.max_attempts,
            backoff: BackoffRequest {
                growth,
                base_ms: base.map(Millis::get),
                cap_ms: cap.map(Millis::get),
                jitter_percent,
            },
            retry_on: ask.categories.as_ref().map(|set| set.iter().cloned().collect()),
            attempt_timeout_ms: ask.attempt_timeout.map(Millis::get),
            deadline_ms: ask.deadline.map(Millis::get),
            lease_ttl_ms: ask.lease_ttl.map(Millis::get),
            max_reclaims: ask.max_reclaims,
            retention_ms: ask.retention.map(Millis::get),
            stream_frames: ask.stream.frames,
            stream_bytes: ask.stream.bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ff_core::policy::Policy;

    fn read(text: &str) -> PolicyRequest {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn only_set_fields_are_written() {
        for text in [
            "{}",
            r#"{"max_attempts":5}"#,
            r#"{"backoff":{"growth":"fixed","base_ms":9}}"#,
            r#"{"retry_on":null,"attempt_timeout_ms":null,"deadline_ms":null}"#,
            r#"{"retry_on":["timeout"],"deadline_ms":9,"lease_ttl_ms":500}"#,
        ] {
            let ask = read(text).ask();
            assert_eq!(serde_json::to_string(&PolicyRequest::from(&ask)).unwrap(), text);
        }
    }

    #[test]
    fn null_is_none_and_absence_is_unset() {
        let ask = read(r#"{"deadline_ms":null}"#).ask();
        assert_eq!((ask.deadline, ask.attempt_timeout), (Patch::Clear, Patch::Unset));
        assert!(read("{}").ask().is_empty());
    }

    #[test]
    fn a_whole_policy_reads_back_as_it_was_written() {
        let whole = PolicyOverrides::from(Policy::default());
        let text = serde_json::to_string(&PolicyRequest::from(&whole)).unwrap();
        assert_eq!(read(&text).ask(), whole);
    }
}
