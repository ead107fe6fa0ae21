//! Suspensions, waitpoints and signals as clients read them.

use ff_core::condition::{Condition, CountOf, Counted};
use ff_core::machine::Signalled;
use ff_core::signal::{ReceivedSignal, SignalEffect};
use ff_core::suspension::{OnTimeout, SuspendReason, Suspension, Waitpoint};
use ff_core::{Category, ExecutionId, SignalName, Source, StepName, WaitpointKey};
use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{AdditionalProperties, ArrayBuilder, ObjectBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::http::schema;
use crate::payload::PayloadView;
use crate::timestamp::Timestamp;

/// A wait that holds no worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SuspensionView {
    /// Which suspension of the execution it is, from 0.
    pub number: u32,
    /// The name under which the journal keeps how it ended.
    #[schema(value_type = Option<String>)]
    pub step: Option<StepName>,
    /// What kind of answer it waits for.
    #[schema(value_type = schema::SuspendReason)]
    pub reason: SuspendReason,
    /// What is asked, for people.
    pub message: Option<String>,
    /// What ends it.
    pub condition: ConditionView,
    /// What has counted towards that so far.
    pub counted: Vec<CountedView>,
    /// When it began.
    pub since: Timestamp,
    /// When it ends by itself.
    pub until: Option<Timestamp>,
    /// What happens then.
    #[schema(value_type = schema::OnTimeout)]
    pub on_timeout: OnTimeout,
}

/// What ends a suspension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ConditionView {
    /// A signal at a waitpoint.
    Signal(SignalConditionView),
    /// All of these.
    All(Vec<ConditionView>),
    /// One of these.
    Any(Vec<ConditionView>),
    /// So many of something.
    Count(CountConditionView),
}

/// An object with one field: generators of clients make no type of an enum that contains itself.
impl PartialSchema for ConditionView {
    fn schema() -> RefOr<Schema> {
        let parts = |what: &str| {
            let parts = ArrayBuilder::new().items(Ref::from_schema_name("ConditionView"));
            parts.min_items(Some(1)).description(Some(what)).build()
        };
        ObjectBuilder::new()
            .description(Some("What ends a suspension: one of these."))
            .property("signal", Ref::from_schema_name("SignalConditionView"))
            .property("all", parts("All of these."))
            .property("any", parts("One of these."))
            .property("count", Ref::from_schema_name("CountConditionView"))
            .additional_properties(Some(AdditionalProperties::FreeForm(false)))
            .min_properties(Some(1))
            .max_properties(Some(1))
            .into()
    }
}

impl ToSchema for ConditionView {}

/// A signal at a waitpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignalConditionView {
    /// Where.
    #[schema(value_type = schema::Name)]
    pub waitpoint: WaitpointKey,
    /// Of this name; of any when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Name>)]
    pub name: Option<SignalName>,
}

/// So many of something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CountConditionView {
    /// How many.
    #[schema(minimum = 1, maximum = 256)]
    pub n: u32,
    /// Of what; a second signal by the same source does not count among `sources`.
    #[schema(value_type = schema::CountOf)]
    pub of: CountOf,
    /// At which waitpoints; at every one of the suspension when absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::Name>, max_items = 16)]
    pub waitpoints: Vec<WaitpointKey>,
    /// Only signals of this name; of any when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Name>)]
    pub name: Option<SignalName>,
}

/// What a part of a condition has counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CountedView {
    /// Which part, in the order in which the condition is written, from 0.
    pub node: u8,
    /// The fingerprint of what was counted.
    #[schema(pattern = "^[0-9a-f]{16}$")]
    pub digest: String,
    /// The number of the signal by which it was counted.
    pub signal: u64,
}

impl From<&Condition> for ConditionView {
    fn from(condition: &Condition) -> Self {
        match condition {
            Condition::Signal { waitpoint, name } => ConditionView::Signal(SignalConditionView {
                waitpoint: waitpoint.clone(),
                name: name.clone(),
            }),
            Condition::All(parts) => ConditionView::All(parts.iter().map(Into::into).collect()),
            Condition::Any(parts) => ConditionView::Any(parts.iter().map(Into::into).collect()),
            Condition::Count { n, of, waitpoints, name } => {
                ConditionView::Count(CountConditionView {
                    n: *n,
                    of: *of,
                    waitpoints: waitpoints.clone(),
                    name: name.clone(),
                })
            }
        }
    }
}

impl From<ConditionView> for Condition {
    fn from(view: ConditionView) -> Self {
        match view {
            ConditionView::Signal(SignalConditionView { waitpoint, name }) => {
                Condition::Signal { waitpoint, name }
            }
            ConditionView::All(parts) => {
                Condition::All(parts.into_iter().map(Into::into).collect())
            }
            ConditionView::Any(parts) => {
                Condition::Any(parts.into_iter().map(Into::into).collect())
            }
            ConditionView::Count(CountConditionView { n, of, waitpoints, name }) => {
                Condition::Count { n, of, waitpoints, name }
            }
        }
    }
}

impl From<&Suspension> for SuspensionView {
    fn from(suspension: &Suspension) -> Self {
        let counted = |one: &Counted| CountedView {
            node: one.node,
            digest: format!("{:016x}", one.digest),
            signal: one.signal,
        };
        SuspensionView {
            number: suspension.number,
            step: suspension.step.clone(),
            reason: suspension.reason,
            message: suspension.message.as_deref().map(str::to_owned),
            condition: (&suspension.condition).into(),
            counted: suspension.counted.iter().map(counted).collect(),
            since: suspension.since.into(),
            until: suspension.until.map(Timestamp),
            on_timeout: suspension.on_timeout,
        }
    }
}

impl SuspensionView {
    /// The suspension; `None` if a fingerprint is none.
    pub fn suspension(self) -> Option<Suspension> {
        let counted = |one: CountedView| {
            let digest = u64::from_str_radix(&one.digest, 16).ok()?;
            Some(Counted { node: one.node, digest, signal: one.signal })
        };
        Some(Suspension {
            number: self.number,
            step: self.step,
            reason: self.reason,
            message: self.message.map(Into::into),
            condition: self.condition.into(),
            counted: self.counted.into_iter().map(counted).collect::<Option<_>>()?,
            since: self.since.0,
            until: self.until.map(|at| at.0),
            on_timeout: self.on_timeout,
        })
    }
}

/// Where signals for an execution arrive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WaitpointView {
    /// Its id. One that is opened again under the same key has another.
    #[schema(value_type = schema::Call)]
    pub id: String,
    /// The holder's name for it.
    #[schema(value_type = String)]
    pub key: WaitpointKey,
    /// When it closes by itself.
    pub until: Option<Timestamp>,
    /// How many signals have arrived.
    pub signals: u32,
    /// The number of the suspension that waits for it; null while it is pending.
    pub suspension: Option<u32>,
}

impl From<&Waitpoint> for WaitpointView {
    fn from(waitpoint: &Waitpoint) -> Self {
        WaitpointView {
            id: waitpoint.id.to_string(),
            key: waitpoint.key.clone(),
            until: waitpoint.until.map(Timestamp),
            signals: waitpoint.signals,
            suspension: waitpoint.of,
        }
    }
}

impl WaitpointView {
    /// The waitpoint.
    pub fn waitpoint(self) -> Result<Waitpoint, ff_core::Refusal> {
        Ok(Waitpoint {
            id: self.id.parse()?,
            key: self.key,
            until: self.until.map(|at| at.0),
            signals: self.signals,
            of: self.suspension,
        })
    }
}

/// The open waitpoints of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WaitpointsView {
    /// The execution.
    #[schema(value_type = schema::Id)]
    pub id: ExecutionId,
    /// Its open waitpoints, at most 16.
    pub waitpoints: Vec<WaitpointView>,
}

/// What a signal did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignalledView {
    /// The execution.
    #[schema(value_type = schema::Id)]
    pub id: ExecutionId,
    /// What it did.
    #[schema(value_type = schema::SignalEffect)]
    pub effect: SignalEffect,
    /// Its number among the signals of the execution; null if it is not recorded.
    pub number: Option<u64>,
}

impl SignalledView {
    /// What a signal to execution `id` did.
    pub fn new(id: ExecutionId, Signalled { effect, number }: Signalled) -> Self {
        SignalledView { id, effect, number }
    }

    /// The answer.
    pub fn signalled(&self) -> Signalled {
        Signalled { effect: self.effect, number: self.number }
    }
}

/// A signal that an execution has received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignalView {
    /// Its number among the signals of the execution, from 0.
    pub number: u64,
    /// The id of the waitpoint at which it has arrived.
    #[schema(value_type = schema::Call)]
    pub waitpoint: String,
    /// The holder's name for that.
    #[schema(value_type = String)]
    pub key: WaitpointKey,
    /// Its name.
    #[schema(value_type = Option<String>)]
    pub name: Option<SignalName>,
    /// The kind of signal, in its sender's words.
    #[schema(value_type = Option<String>)]
    pub category: Option<Category>,
    /// Who sent it, as the server knows it.
    #[schema(value_type = String)]
    pub source: Source,
    /// When it has arrived.
    pub at: Timestamp,
    /// What it carries.
    pub payload: PayloadView,
}

impl From<&ReceivedSignal> for SignalView {
    fn from(signal: &ReceivedSignal) -> Self {
        SignalView {
            number: signal.number,
            waitpoint: signal.waitpoint.to_string(),
            key: signal.key.clone(),
            name: signal.name.clone(),
            category: signal.category.clone(),
            source: signal.source.clone(),
            at: signal.at.into(),
            payload: (&signal.payload).into(),
        }
    }
}

impl SignalView {
    /// The signal.
    pub fn received(self) -> Result<ReceivedSignal, ff_core::Refusal> {
        Ok(ReceivedSignal {
            number: self.number,
            waitpoint: self.waitpoint.parse()?,
            key: self.key,
            name: self.name,
            category: self.category,
            source: self.source,
            at: self.at.0,
            payload: self.payload.payload()?,
        })
    }
}

/// One page of the signals of an execution, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignalsView {
    /// The execution.
    #[schema(value_type = schema::Id)]
    pub id: ExecutionId,
    /// The signals.
    pub signals: Vec<SignalView>,
    /// Where to continue; null when there was nothing.
    pub next: Option<u64>,
}

impl SignalsView {
    /// A page of the signals of execution `id`.
    pub fn new(id: ExecutionId, signals: &[ReceivedSignal]) -> Self {
        let next = signals.last().map(|last| last.number + 1);
        SignalsView { id, signals: signals.iter().map(SignalView::from).collect(), next }
    }
}

/// What a resume did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResumedView {
    /// The execution.
    #[schema(value_type = schema::Id)]
    pub id: ExecutionId,
    /// Whether it was suspended and continues now.
    pub resumed: bool,
}
