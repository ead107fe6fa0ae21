//! The bodies of calls that park an execution and wake it.

use std::fmt;

use ff_core::machine::{
    CloseWaitpoint, NewWaitpoint, OpenWaitpoint, Signal, Suspend, Target, WaitpointRef,
};
use ff_core::suspension::{OnTimeout, SuspendReason};
use ff_core::{
    Category, IdempotencyKey, Millis, Refusal, SignalName, Source, StepName, WaitpointKey, When,
};
use ff_store::mint;
use ff_store::ring::SignedToken;
use ff_store::roles::{OpenedWaitpoint, Parked};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::content::{Content, PAYLOAD};
use super::holder::{ExitView, FenceBody};
use super::{schema, strict};
use crate::suspension::{ConditionView, WaitpointView};
use crate::timestamp::Timestamp;

/// A waitpoint that is to be open: at most one of `timeout_ms` and `until`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitpointBody {
    /// The holder's name for it. One of this key that is open stays as it is.
    #[schema(value_type = schema::Name)]
    pub key: WaitpointKey,
    /// Close this long from now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 315360000000u64)]
    pub timeout_ms: Option<u64>,
    /// Close at this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl WaitpointBody {
    fn new_waitpoint(self) -> Result<NewWaitpoint, Refusal> {
        let until = when(self.timeout_ms, self.until)?;
        Ok(NewWaitpoint { id: mint::waitpoint_id(), key: self.key, until })
    }
}

impl From<&NewWaitpoint> for WaitpointBody {
    fn from(new: &NewWaitpoint) -> Self {
        let (timeout_ms, until) = span(new.until);
        WaitpointBody { key: new.key.clone(), timeout_ms, until }
    }
}

fn when(ms: Option<u64>, at: Option<Timestamp>) -> Result<Option<When>, Refusal> {
    match (ms, at) {
        (Some(_), Some(_)) => {
            Err(Refusal::invalid("until", "is given with timeout_ms; give one of them"))
        }
        (Some(ms), None) => Ok(Some(When::After(Millis::new(ms)))),
        (None, at) => Ok(at.map(|at| When::At(at.0))),
    }
}

fn span(when: Option<When>) -> (Option<u64>, Option<Timestamp>) {
    match when {
        None => (None, None),
        Some(When::Now) => (Some(0), None),
        Some(When::After(span)) => (Some(span.get()), None),
        Some(When::At(at)) => (None, Some(at.into())),
    }
}

/// A waitpoint to open before anything waits for it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenWaitpointRequest {
    /// The lease.
    #[serde(deserialize_with = "strict::object")]
    pub fence: FenceBody,
    /// The waitpoint.
    #[serde(deserialize_with = "strict::object")]
    pub waitpoint: WaitpointBody,
}

impl OpenWaitpointRequest {
    /// The command.
    pub fn command(self, target: Target) -> Result<OpenWaitpoint, Refusal> {
        let hold = self.fence.hold(target)?;
        Ok(OpenWaitpoint { hold, waitpoint: self.waitpoint.new_waitpoint()? })
    }
}

impl From<&OpenWaitpoint> for OpenWaitpointRequest {
    fn from(open: &OpenWaitpoint) -> Self {
        OpenWaitpointRequest { fence: open.hold.fence.into(), waitpoint: (&open.waitpoint).into() }
    }
}

/// A waitpoint to close.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CloseWaitpointRequest {
    /// The lease.
    #[serde(deserialize_with = "strict::object")]
    pub fence: FenceBody,
}

impl CloseWaitpointRequest {
    /// The command.
    pub fn command(self, target: Target, key: WaitpointKey) -> Result<CloseWaitpoint, Refusal> {
        Ok(CloseWaitpoint { hold: self.fence.hold(target)?, key })
    }
}

/// A suspension: at most one of `timeout_ms` and `until`, or neither to wait for as long as it takes.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SuspendRequest {
    /// The lease.
    #[serde(deserialize_with = "strict::object")]
    pub fence: FenceBody,
    /// Every waitpoint of the suspension: those that are open are used, others are opened. 1 to 16.
    #[serde(deserialize_with = "strict::list")]
    #[schema(min_items = 1, max_items = 16)]
    pub waitpoints: Vec<WaitpointBody>,
    /// What ends it; nested at most 4 deep, of at most 32 parts.
    pub condition: ConditionView,
    /// End it this long from now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 315360000000u64)]
    pub timeout_ms: Option<u64>,
    /// End it at this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// What happens then; `resume` when absent.
    #[serde(default = "resumes")]
    #[schema(value_type = Option<schema::OnTimeout>)]
    pub on_timeout: OnTimeout,
    /// What kind of answer it waits for; `signal` when absent.
    #[serde(default = "waits_for_signal")]
    #[schema(value_type = Option<schema::SuspendReason>)]
    pub reason: SuspendReason,
    /// What is asked, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Message>)]
    pub message: Option<String>,
    /// The name under which the journal keeps how it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 256)]
    pub step: Option<StepName>,
    /// Keep the lease if the condition is satisfied already.
    #[serde(default)]
    pub keep_if_satisfied: bool,
}

fn resumes() -> OnTimeout {
    OnTimeout::Resume
}

fn waits_for_signal() -> SuspendReason {
    SuspendReason::Signal
}

impl SuspendRequest {
    /// The command.
    pub fn command(self, target: Target) -> Result<Suspend, Refusal> {
        let waitpoints = self.waitpoints.into_iter().map(WaitpointBody::new_waitpoint);
        Ok(Suspend {
            hold: self.fence.hold(target)?,
            waitpoints: waitpoints.collect::<Result<_, _>>()?,
            condition: self.condition.into(),
            timeout: when(self.timeout_ms, self.until)?,
            on_timeout: self.on_timeout,
            reason: self.reason,
            message: self.message.map(Into::into),
            step: self.step,
            keep_if_satisfied: self.keep_if_satisfied,
        })
    }
}

impl From<&Suspend> for SuspendRequest {
    fn from(suspend: &Suspend) -> Self {
        let (timeout_ms, until) = span(suspend.timeout);
        SuspendRequest {
            fence: suspend.hold.fence.into(),
            waitpoints: suspend.waitpoints.iter().map(WaitpointBody::from).collect(),
            condition: (&suspend.condition).into(),
            timeout_ms,
            until,
            on_timeout: suspend.on_timeout,
            reason: suspend.reason,
            message: suspend.message.as_deref().map(str::to_owned),
            step: suspend.step.clone(),
            keep_if_satisfied: suspend.keep_if_satisfied,
        }
    }
}

/// What a suspend did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SuspendedView {
    /// How the lease ended; null if the condition is satisfied already and the holder keeps it.
    pub exit: Option<ExitView>,
    /// Those of its waitpoints that are open, with a token for each.
    pub waitpoints: Vec<OpenedView>,
}

/// A waitpoint that is open, and a token that sends signals to it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OpenedView {
    /// The waitpoint.
    #[serde(flatten)]
    pub waitpoint: WaitpointView,
    /// A token for nobody in particular; the same call gives the same one. Null if the server has no
    /// signing key.
    pub token: Option<String>,
}

impl From<&OpenedWaitpoint> for OpenedView {
    fn from(opened: &OpenedWaitpoint) -> OpenedView {
        let token = opened.token.as_ref().map(|token| token.reveal().to_owned());
        OpenedView { waitpoint: (&opened.waitpoint).into(), token }
    }
}

impl OpenedView {
    /// The waitpoint and its token, for a client.
    pub fn opened(self) -> Result<OpenedWaitpoint, Refusal> {
        let token = self.token.map(SignedToken::received);
        Ok(OpenedWaitpoint { waitpoint: self.waitpoint.waitpoint()?, token })
    }
}

impl fmt::Debug for OpenedView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenedView").field("waitpoint", &self.waitpoint).finish_non_exhaustive()
    }
}

impl From<&Parked> for SuspendedView {
    fn from(parked: &Parked) -> SuspendedView {
        SuspendedView {
            exit: parked.exited.map(ExitView::from),
            waitpoints: parked.waitpoints.iter().map(OpenedView::from).collect(),
        }
    }
}

/// A signal from an authorised caller. Who sends it is whom the caller's credential names.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignalRequest {
    /// The key of the waitpoint.
    #[schema(value_type = schema::Name)]
    pub waitpoint: WaitpointKey,
    /// The sender's name for this signal: the same one again changes nothing. By default all that it
    /// carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Key>)]
    pub idempotency_key: Option<IdempotencyKey>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Name>)]
    pub name: Option<SignalName>,
    /// The kind of signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Name>)]
    pub category: Option<Category>,
    /// Any JSON value nested at most 128 deep, kept as the bytes it came in.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "strict::json")]
    #[schema(value_type = serde_json::Value)]
    pub payload: Option<Box<RawValue>>,
    /// Any bytes, in base64 with padding, instead of `payload`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Base64>)]
    pub payload_base64: Option<String>,
    /// The media type of the payload; `application/json` when absent with `payload`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::MediaType>)]
    pub content_type: Option<String>,
}

impl SignalRequest {
    /// The command of a caller that is known as `source`.
    pub fn command(self, target: Target, source: Source) -> Result<Signal, Refusal> {
        let Self { payload: json, payload_base64: base64, content_type, .. } = self;
        Ok(Signal {
            target,
            waitpoint: WaitpointRef::ByKey(self.waitpoint),
            key: self.idempotency_key,
            name: self.name,
            category: self.category,
            source,
            payload: Content { json, base64, content_type }.payload(PAYLOAD)?,
        })
    }

    /// The body that delivers `signal` to the waitpoint of this key.
    pub fn new(waitpoint: WaitpointKey, signal: &Signal) -> SignalRequest {
        let content = Content::from(&signal.payload);
        SignalRequest {
            waitpoint,
            idempotency_key: signal.key.clone(),
            name: signal.name.clone(),
            category: signal.category.clone(),
            payload: content.json,
            payload_base64: content.base64,
            content_type: content.content_type,
        }
    }
}

/// A resume carries nothing.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeRequest {}
