//! Calls of the holder of an execution.

use ff_core::id::LeaseId;
use ff_core::machine::{CancelHeld, Complete, Delay, Fail, LeaseRef, ReportProgress, Target};
use ff_core::record::{Exited, Progress};
use ff_core::state::Failure;
use ff_core::view::ExitOutcome;
use ff_core::{Category, ExecutionId, Fence, Millis, Namespace, Refusal, StepName, When};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::content::{Content, RESULT};
use super::{schema, strict};
use crate::{ErrorView, Timestamp};

/// What a holder sends with every call, as the claim gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FenceBody {
    /// The lease.
    #[schema(value_type = schema::LeaseName)]
    pub lease: String,
    /// Its epoch.
    #[schema(format = "uint64")]
    pub epoch: u64,
    /// The attempt it runs.
    #[schema(format = "uint32")]
    pub attempt: u32,
}

impl FenceBody {
    /// The fence.
    pub fn fence(&self) -> Result<Fence, Refusal> {
        let lease: LeaseId = self.lease.parse()?;
        Ok(Fence { lease, epoch: self.epoch, attempt: self.attempt })
    }

    /// The hold.
    pub fn hold(&self, target: Target) -> Result<LeaseRef, Refusal> {
        Ok(LeaseRef { target, fence: self.fence()? })
    }
}

impl From<Fence> for FenceBody {
    fn from(fence: Fence) -> FenceBody {
        let lease = fence.lease.to_string();
        FenceBody { lease, epoch: fence.epoch, attempt: fence.attempt }
    }
}

/// An execution and the lease on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HoldBody {
    /// The execution.
    #[schema(value_type = schema::Id)]
    pub execution: ExecutionId,
    /// The lease on it.
    #[serde(deserialize_with = "strict::object")]
    pub fence: FenceBody,
}

impl HoldBody {
    /// The hold.
    pub fn hold(&self, namespace: &Namespace) -> Result<LeaseRef, Refusal> {
        let target = Target { namespace: namespace.clone(), execution: self.execution };
        self.fence.hold(target)
    }
}

impl From<&LeaseRef> for HoldBody {
    fn from(hold: &LeaseRef) -> HoldBody {
        HoldBody { execution: hold.target.execution, fence: hold.fence.into() }
    }
}

/// The result of an execution.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CompleteRequest {
    /// The execution; must be the one in the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Id>)]
    pub execution: Option<ExecutionId>,
    /// The lease on it.
    #[serde(deserialize_with = "strict::object")]
    pub fence: FenceBody,
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

impl CompleteRequest {
    /// The command.
    pub fn command(self, target: Target) -> Result<Complete, Refusal> {
        let Self { fence, result: json, result_base64: base64, content_type, .. } = self;
        let result = Content { json, base64, content_type }.payload(RESULT)?;
        Ok(Complete { hold: fence.hold(target)?, result })
    }
}

impl From<&Complete> for CompleteRequest {
    fn from(complete: &Complete) -> CompleteRequest {
        let content = Content::from(&complete.result);
        CompleteRequest {
            execution: Some(complete.hold.target.execution),
            fence: complete.hold.fence.into(),
            result: content.json,
            result_base64: content.base64,
            content_type: content.content_type,
        }
    }
}

/// Several results at once; each gets a separate answer.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchComplete {
    /// The results, each with its execution: 1 to 1000.
    #[serde(deserialize_with = "strict::list")]
    #[schema(min_items = 1, max_items = 1000)]
    pub completions: Vec<CompleteRequest>,
}

/// The answers to several holder calls, in their order.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ExitAnswers {
    /// One answer per call: `exit`, or `error`.
    pub answers: Vec<ExitAnswer>,
}

/// The answer to one of several holder calls. Exactly one field is set.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ExitAnswer {
    /// How the lease ended.
    pub exit: Option<ExitView>,
    /// The call was not accepted.
    pub error: Option<ErrorView>,
}

/// A failure.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FailRequest {
    /// The lease.
    #[serde(deserialize_with = "strict::object")]
    pub fence: FenceBody,
    /// The kind of failure; `error` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Name>)]
    pub category: Option<Category>,
    /// Whether trying again can help; yes when absent.
    #[serde(default = "yes")]
    pub retryable: bool,
    /// What happened, for people.
    #[serde(default)]
    #[schema(value_type = schema::Message)]
    pub message: String,
}

fn yes() -> bool {
    true
}

impl FailRequest {
    /// The command.
    pub fn command(self, target: Target) -> Result<Fail, Refusal> {
        let failure = Failure {
            category: self.category.unwrap_or_else(Category::error),
            retryable: self.retryable,
            message: self.message.into(),
        };
        Ok(Fail { hold: self.fence.hold(target)?, failure })
    }
}

impl From<&Fail> for FailRequest {
    fn from(fail: &Fail) -> FailRequest {
        FailRequest {
            fence: fail.hold.fence.into(),
            category: Some(fail.failure.category.clone()),
            retryable: fail.failure.retryable,
            message: fail.failure.message.to_string(),
        }
    }
}

/// A delay: exactly one of `delay_ms` and `until`, or neither for at once.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayRequest {
    /// The lease.
    #[serde(deserialize_with = "strict::object")]
    pub fence: FenceBody,
    /// Continue this long from now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 315360000000u64)]
    pub delay_ms: Option<u64>,
    /// Continue at this moment; one in the past means now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// The name of the sleep that this is: its end is written to the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::StepText>)]
    pub step: Option<StepName>,
}

impl DelayRequest {
    /// The command.
    pub fn command(&self, target: Target) -> Result<Delay, Refusal> {
        let until = match (self.delay_ms, self.until) {
            (Some(_), Some(_)) => {
                return Err(Refusal::invalid("until", "is given with delay_ms; give one of them"));
            }
            (Some(ms), None) => When::After(Millis::new(ms)),
            (None, Some(at)) => When::At(at.0),
            (None, None) => When::Now,
        };
        Ok(Delay { hold: self.fence.hold(target)?, until, step: self.step.clone() })
    }
}

impl From<&Delay> for DelayRequest {
    fn from(delay: &Delay) -> DelayRequest {
        let (delay_ms, until) = match delay.until {
            When::Now => (None, None),
            When::After(span) => (Some(span.get()), None),
            When::At(at) => (None, Some(at.into())),
        };
        DelayRequest { fence: delay.hold.fence.into(), delay_ms, until, step: delay.step.clone() }
    }
}

/// A cancel by the holder.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelHeldRequest {
    /// The lease.
    #[serde(deserialize_with = "strict::object")]
    pub fence: FenceBody,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Message>)]
    pub reason: Option<String>,
}

impl CancelHeldRequest {
    /// The command.
    pub fn command(self, target: Target) -> Result<CancelHeld, Refusal> {
        Ok(CancelHeld { hold: self.fence.hold(target)?, reason: self.reason.map(Into::into) })
    }
}

impl From<&CancelHeld> for CancelHeldRequest {
    fn from(cancel: &CancelHeld) -> CancelHeldRequest {
        CancelHeldRequest {
            fence: cancel.hold.fence.into(),
            reason: cancel.reason.as_deref().map(str::to_owned),
        }
    }
}

/// How far the work is.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgressRequest {
    /// The lease.
    #[serde(deserialize_with = "strict::object")]
    pub fence: FenceBody,
    /// 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 100)]
    pub percent: Option<u8>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Message>)]
    pub message: Option<String>,
}

impl ProgressRequest {
    /// The command.
    pub fn command(self, target: Target) -> Result<ReportProgress, Refusal> {
        let progress = Progress { percent: self.percent, message: self.message.map(Into::into) };
        Ok(ReportProgress { hold: self.fence.hold(target)?, progress })
    }
}

impl From<&ReportProgress> for ProgressRequest {
    fn from(report: &ReportProgress) -> ProgressRequest {
        ProgressRequest {
            fence: report.hold.fence.into(),
            percent: report.progress.percent,
            message: report.progress.message.as_deref().map(str::to_owned),
        }
    }
}

/// How a lease ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExitView {
    /// What became of the execution.
    #[schema(value_type = schema::ExitOutcome)]
    pub outcome: ExitOutcome,
    /// When the execution continues, if it is `retrying` or `delayed`; when its time is over, if it is
    /// `suspended` and has one.
    pub at: Option<Timestamp>,
}

impl From<Exited> for ExitView {
    fn from(exited: Exited) -> ExitView {
        let at = match exited {
            Exited::Retrying { from: at } | Exited::Delayed { until: at } => Some(at.into()),
            Exited::Suspended { until } => until.map(Timestamp),
            _ => None,
        };
        ExitView { outcome: exited.outcome(), at }
    }
}

impl ExitView {
    /// The answer; `None` if it lacks the time that goes with its outcome.
    pub fn exited(&self) -> Option<Exited> {
        let at = self.at.map(|at| at.0);
        Some(match self.outcome {
            ExitOutcome::Completed => Exited::Completed,
            ExitOutcome::Retrying => Exited::Retrying { from: at? },
            ExitOutcome::Failed => Exited::Failed,
            ExitOutcome::Delayed => Exited::Delayed { until: at? },
            ExitOutcome::Suspended => Exited::Suspended { until: at },
            ExitOutcome::Cancelled => Exited::Cancelled,
            ExitOutcome::HandedBack => Exited::HandedBack,
            ExitOutcome::Revoked => Exited::Revoked,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ff_core::Time;

    #[test]
    fn every_exit_reads_back_as_written() {
        let at = Time::from_ms(7);
        for exited in [
            Exited::Completed,
            Exited::Retrying { from: at },
            Exited::Failed,
            Exited::Delayed { until: at },
            Exited::Suspended { until: None },
            Exited::Suspended { until: Some(at) },
            Exited::Cancelled,
            Exited::HandedBack,
            Exited::Revoked,
        ] {
            assert_eq!(ExitView::from(exited).exited(), Some(exited));
        }
    }
}
