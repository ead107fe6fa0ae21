//! Submitting work.

use std::collections::BTreeMap;

use ff_core::machine::Submit;
use ff_core::{
    Capabilities, ExecutionId, IdempotencyKey, Kind, Lane, Millis, Namespace, Refusal, TagKey,
    TagValue, When,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::content::{Content, INPUT};
use super::{LimitsRequest, PolicyRequest, schema, strict};
use crate::{ErrorView, SubmittedView, Timestamp};

/// Work to accept. Everything is optional; what is absent has the documented default.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitRequest {
    /// The id, made by the caller: a UUIDv7. Repeat it when a reply is lost. Without an id and an
    /// idempotency key, a repeated call makes a second execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Id>)]
    pub id: Option<ExecutionId>,
    /// The queue; `default` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Name>)]
    pub lane: Option<Lane>,
    /// The kind of work; `task` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Name>)]
    pub kind: Option<Kind>,
    /// Any JSON value nested at most 128 deep, kept as the bytes it came in.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "strict::json")]
    #[schema(value_type = serde_json::Value)]
    pub input: Option<Box<RawValue>>,
    /// Any bytes, in base64 with padding, instead of `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Base64>)]
    pub input_base64: Option<String>,
    /// The media type of the input; `application/json` when absent with `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::MediaType>)]
    pub content_type: Option<String>,
    /// Labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "strict::map")]
    #[schema(value_type = BTreeMap<schema::Name, schema::TagText>)]
    pub tags: BTreeMap<TagKey, TagValue>,
    /// Higher goes first: -9000 to 9000; 0 when absent.
    #[serde(default)]
    #[schema(minimum = -9000, maximum = 9000)]
    pub priority: i16,
    /// Not before this long from now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 315360000000u64)]
    pub delay_ms: Option<u64>,
    /// Not before this moment; a moment in the past means now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Timestamp>,
    /// The caller's name for the work: the same name with the same body is the same execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Key>)]
    pub idempotency_key: Option<IdempotencyKey>,
    /// What a worker must offer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::Capability>)]
    pub requires: Vec<String>,
    /// The budgets and quotas of it.
    #[serde(default, deserialize_with = "strict::object")]
    pub limits: LimitsRequest,
    /// The policy of the work.
    #[serde(default, deserialize_with = "strict::object")]
    pub policy: PolicyRequest,
}

/// Several submits at once; each gets a separate answer.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitBatch {
    /// The work: 1 to 1000.
    #[serde(deserialize_with = "strict::list")]
    #[schema(min_items = 1, max_items = 1000)]
    pub executions: Vec<SubmitRequest>,
}

/// The answers to a batch, in its order.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct BatchAnswer {
    /// One answer per submit: `submitted`, or `error`.
    pub answers: Vec<SubmitAnswer>,
}

/// The answer to one submit of a batch. Exactly one field is set.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SubmitAnswer {
    /// It was accepted, or had been before.
    pub submitted: Option<SubmittedView>,
    /// It was not.
    pub error: Option<ErrorView>,
}

impl SubmitRequest {
    /// The command. `new_id` makes an id if the caller gave none.
    pub fn into_submit(
        self,
        namespace: Namespace,
        new_id: impl FnOnce(Option<&IdempotencyKey>) -> ExecutionId,
    ) -> Result<Submit, Refusal> {
        let Self { input: json, input_base64: base64, content_type, .. } = self;
        let input = Content { json, base64, content_type }.payload(INPUT)?;
        let start = match (self.delay_ms, self.start) {
            (Some(_), Some(_)) => {
                return Err(Refusal::invalid("start", "is given with delay_ms; give one of them"));
            }
            (Some(ms), None) => When::After(Millis::new(ms)),
            (None, Some(at)) => When::At(at.0),
            (None, None) => When::Now,
        };
        Ok(Submit {
            id: self.id.unwrap_or_else(|| new_id(self.idempotency_key.as_ref())),
            namespace,
            lane: self.lane.unwrap_or_default(),
            kind: self.kind.unwrap_or_default(),
            input,
            tags: self.tags,
            priority: self.priority,
            start,
            key: self.idempotency_key,
            requires: Capabilities::new(&self.requires)?,
            limits: self.limits.limits()?,
            policy: self.policy.ask(),
        })
    }
}

impl From<&Submit> for SubmitRequest {
    fn from(submit: &Submit) -> SubmitRequest {
        let content = Content::from(&submit.input);
        let (delay_ms, start) = match submit.start {
            When::Now => (None, None),
            When::After(span) => (Some(span.get()), None),
            When::At(at) => (None, Some(at.into())),
        };
        SubmitRequest {
            id: Some(submit.id),
            lane: Some(submit.lane.clone()),
            kind: Some(submit.kind.clone()),
            input: content.json,
            input_base64: content.base64,
            content_type: content.content_type,
            tags: submit.tags.clone(),
            priority: submit.priority,
            delay_ms,
            start,
            idempotency_key: submit.key.clone(),
            requires: submit.requires.tokens().map(str::to_owned).collect(),
            limits: (&submit.limits).into(),
            policy: (&submit.policy).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ff_core::policy::Growth;
    use ff_core::{Category, Patch, Payload, Time};

    fn round_trip(submit: &Submit) -> Submit {
        let text = serde_json::to_string(&SubmitRequest::from(submit)).unwrap();
        let request: SubmitRequest = serde_json::from_str(&text).unwrap();
        request.into_submit(submit.namespace.clone(), |_| unreachable!("an id is given")).unwrap()
    }

    #[test]
    fn a_submit_reads_back_as_it_was_written() {
        let mut submit = Submit::new(crate::sample::id());
        assert_eq!(round_trip(&submit), submit);
        submit.input = Payload::json("{\"n\" : 9007199254740993}");
        submit.start = When::After(Millis::new(5));
        submit.key = Some("k".parse().unwrap());
        submit.requires = Capabilities::new(["gpu", "py"]).unwrap();
        submit.limits.budgets = ["team".parse().unwrap()].into();
        submit.limits.estimate = [("tokens".parse().unwrap(), 9)].into();
        submit.policy.deadline = Patch::Set(Millis::new(9));
        submit.policy.categories = Patch::Set([Category::timeout()].into());
        submit.policy.backoff.growth = Some(Growth::Fixed);
        assert_eq!(round_trip(&submit), submit);
        submit.start = When::At(Time::from_ms(1_700_000_000_123));
        submit.input = Payload::bytes(&b"\xff\x00"[..]);
        assert_eq!(round_trip(&submit), submit);
    }

    #[test]
    fn unknown_and_repeated_fields_are_refused() {
        for text in [
            r#"{"lanes":"x"}"#,
            r#"{"lane":"a","lane":"b"}"#,
            r#"{"policy":{"x":1}}"#,
            r#"{"policy":{"backoff":{"growth":"linear"}}}"#,
        ] {
            assert!(serde_json::from_str::<SubmitRequest>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn contradictions_are_refused_by_name() {
        for (text, field) in [
            (r#"{"input":1,"input_base64":""}"#, "input"),
            (r#"{"delay_ms":1,"start":"2026-01-01T00:00:00Z"}"#, "start"),
            (r#"{"requires":["a b"]}"#, "capabilities"),
        ] {
            let request: SubmitRequest = serde_json::from_str(text).unwrap();
            let refusal = request.into_submit(Namespace::default(), |_| crate::sample::id());
            assert_eq!(refusal.unwrap_err().field(), Some(field), "{text}");
        }
    }
}
