//! Results of durable steps.

use ff_core::machine::{RecordStep, Target};
use ff_core::{Refusal, StepName};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::content::{Content, RESULT};
use super::{FenceBody, schema, strict};

/// The result of a step.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StepRequest {
    /// The lease.
    #[serde(deserialize_with = "strict::object")]
    pub fence: FenceBody,
    /// The name of the step.
    #[schema(value_type = schema::StepText)]
    pub step: StepName,
    /// Any JSON value nested at most 128 deep, kept as the bytes it came in.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "strict::json")]
    #[schema(value_type = serde_json::Value)]
    pub result: Option<Box<RawValue>>,
    /// Any bytes, in base64 with padding, instead of `result`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Base64>)]
    pub result_base64: Option<String>,
    /// The media type of the result; `application/json` when absent with `result`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::MediaType>)]
    pub content_type: Option<String>,
}

impl StepRequest {
    /// The command.
    pub fn command(self, target: Target) -> Result<RecordStep, Refusal> {
        let Self { fence, step, result: json, result_base64: base64, content_type } = self;
        let result = Content { json, base64, content_type }.payload(RESULT)?;
        Ok(RecordStep { hold: fence.hold(target)?, name: step, result })
    }
}

impl From<&RecordStep> for StepRequest {
    fn from(record: &RecordStep) -> StepRequest {
        let content = Content::from(&record.result);
        StepRequest {
            fence: record.hold.fence.into(),
            step: record.name.clone(),
            result: content.json,
            result_base64: content.base64,
            content_type: content.content_type,
        }
    }
}

/// The entry of a step, made by this call or by an earlier one with the same result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecordedStepView {
    /// Its place in the journal.
    pub number: u64,
}
