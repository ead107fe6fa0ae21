//! Schemas of text and of words in the OpenAPI document: types that are described and never made. The
//! bounds are those of `ff_core::bounds`, the words those of the enums.
#![allow(dead_code, reason = "descriptions")]

use ff_core::view;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// A name: a letter or digit, then letters, digits, `_`, `-` and `.`, at most 64 in total.
#[derive(ToSchema)]
#[schema(value_type = String, min_length = 1, max_length = 64, pattern = r"^[A-Za-z0-9][A-Za-z0-9_.\-]*$")]
pub struct Name(String);

/// The id of an execution: a UUIDv7.
#[derive(ToSchema)]
#[schema(
    value_type = String,
    format = "uuid",
    pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"
)]
pub struct Id(String);

/// The id of one call: a random UUID.
#[derive(ToSchema)]
#[schema(
    value_type = String,
    format = "uuid",
    pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
)]
pub struct Call(String);

/// The id of a lease, as the claim gave it.
#[derive(ToSchema)]
#[schema(
    value_type = String,
    pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}[.][0-9]{1,4}$"
)]
pub struct LeaseName(String);

/// The id of an event: that of its execution, and the version that the execution got with it.
#[derive(ToSchema)]
#[schema(
    value_type = String,
    pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}-[0-9a-f]{16}$"
)]
pub struct EventId(String);

/// An amount in whole units.
#[derive(ToSchema)]
#[schema(value_type = u64, maximum = 9007199254740992u64)]
pub struct Amount(u64);

/// An idempotency key: visible ASCII characters.
#[derive(ToSchema)]
#[schema(value_type = String, min_length = 1, max_length = 256, pattern = "^[!-~]+$")]
pub struct Key(String);

/// The value of a tag: text of at most 256 bytes without control characters.
#[derive(ToSchema)]
#[schema(value_type = String, max_length = 256, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
pub struct TagText(String);

/// A capability: a word without commas, spaces or control characters.
#[derive(ToSchema)]
#[schema(value_type = String, min_length = 1, max_length = 4096, pattern = "^[!-+\\--~]+$")]
pub struct Capability(String);

/// A media type: visible ASCII characters.
#[derive(ToSchema)]
#[schema(value_type = String, min_length = 1, max_length = 128, pattern = "^[!-~]([ -~]*[!-~])?$")]
pub struct MediaType(String);

/// Any bytes, in base64 with padding.
#[derive(ToSchema)]
#[schema(
    value_type = String,
    max_length = 1398104,
    pattern = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
)]
pub struct Base64(String);

/// Text for people, at most 4096 bytes.
#[derive(ToSchema)]
#[schema(value_type = String, max_length = 4096)]
pub struct Message(String);

/// The name of a step, sleep or wait: text without control characters, at most 256 bytes.
#[derive(ToSchema)]
#[schema(value_type = String, min_length = 1, max_length = 256, pattern = "^[^\\x00-\\x1f\\x7f-\\x9f]+$")]
pub struct StepText(String);

/// Any bytes.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
pub struct Bytes(String);

/// Six views of one state.
#[derive(ToSchema)]
pub struct StateVector {
    /// Which part of its life.
    #[schema(value_type = LifecyclePhase)]
    lifecycle_phase: view::LifecyclePhase,
    /// Who owns it.
    #[schema(value_type = OwnershipState)]
    ownership_state: view::OwnershipState,
    /// Whether it could be claimed.
    #[schema(value_type = EligibilityState)]
    eligibility_state: view::EligibilityState,
    /// What it waits for.
    #[schema(value_type = BlockingReason)]
    blocking_reason: view::BlockingReason,
    /// How it ended.
    #[schema(value_type = TerminalOutcome)]
    terminal_outcome: view::TerminalOutcome,
    /// The state of its newest attempt.
    #[schema(value_type = AttemptState)]
    attempt_state: view::AttemptState,
}

/// The schema of text that is one of some words.
fn one_of(words: impl Iterator<Item = &'static str>, description: &str) -> RefOr<Schema> {
    let schema = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words));
    schema.description(Some(description.trim())).into()
}

/// The state of an execution, as a listing can filter by it.
pub enum StateFilter {}

impl PartialSchema for StateFilter {
    fn schema() -> RefOr<Schema> {
        let states = view::PublicState::ALL.iter().map(|state| state.as_str());
        let words = states.chain([view::BlockingReason::WaitingForCapableWorker.as_str()]);
        let description = "The state of an execution, as a listing can filter by it: a public state, or \
                           `waiting_for_capable_worker`, which is queued while no live worker can run it.";
        one_of(words, description)
    }
}

impl ToSchema for StateFilter {}

/// The schema of an enum: its words.
macro_rules! words {
    ($($(#[doc = $doc:literal])+ $name:ident = $of:ty;)+) => { $(
        $(#[doc = $doc])+
        pub enum $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let words = <$of>::ALL.iter().map(|word| word.as_str());
                one_of(words, concat!($($doc),+))
            }
        }

        impl ToSchema for $name {}
    )+ };
}

words! {
    /// The public state of an execution.
    PublicState = view::PublicState;
    /// Which part of its life an execution is in.
    LifecyclePhase = view::LifecyclePhase;
    /// Who owns an execution.
    OwnershipState = view::OwnershipState;
    /// Whether an execution could be claimed.
    EligibilityState = view::EligibilityState;
    /// What an execution waits for.
    BlockingReason = view::BlockingReason;
    /// How an execution ended.
    TerminalOutcome = view::TerminalOutcome;
    /// The state of the newest attempt of an execution.
    AttemptState = view::AttemptState;
    /// `open` while an attempt runs or is paused, else how it ended.
    AttemptStatus = view::AttemptStatus;
    /// What became of an execution whose lease was ended by a call.
    ExitOutcome = view::ExitOutcome;
    /// What an execution waits to do.
    Intent = ff_core::state::Intent;
    /// How the wait between attempts grows.
    Growth = ff_core::policy::Growth;
    /// What happens to running executions when a hard limit is reached: they continue and nothing
    /// new is admitted, or they are cancelled.
    OnBreach = ff_core::budget::OnBreach;
    /// The state of a dimension of a budget: it has room, it has room and its soft limit is
    /// reached, or nothing more is admitted.
    DimensionState = ff_core::budget::DimensionState;
    /// What a timer does to an execution.
    DueAction = ff_core::timer::DueAction;
    /// What an entry of a journal is about.
    EntryKind = ff_core::journal::EntryKind;
    /// How much of its journal the attempts of a replay find: all that is visible, or nothing.
    KeptJournal = super::operator::KeptJournal;
    /// Where a flow is in its life.
    FlowPhase = crate::flow::PhaseWord;
    /// How a flow ends before its members have.
    FlowEnding = crate::flow::EndingWord;
    /// What becomes of the members that workers hold when their flow is ended.
    HeldMembers = crate::flow::HeldWord;
    /// What a member does when too much of what it depends on has not succeeded.
    OnFailure = ff_core::flow::OnFailure;
    /// How many upstreams of a node must complete before it runs.
    Join = super::JoinWord;
    /// What becomes of the upstreams that a member does not need any more.
    Rest = ff_core::flow::Rest;
    /// What kind of answer a suspended execution waits for.
    SuspendReason = ff_core::suspension::SuspendReason;
    /// What happens to a suspended execution when its time is over.
    OnTimeout = ff_core::suspension::OnTimeout;
    /// What becomes of a moment of a schedule while an earlier run has not ended.
    Overlap = ff_core::schedule::Overlap;
    /// What became of a moment of a schedule.
    RunWord = ff_core::schedule::RunWord;
    /// What a condition counts.
    CountOf = ff_core::condition::CountOf;
    /// What a signal did.
    SignalEffect = ff_core::signal::SignalEffect;
    /// What somebody did to an execution.
    Deed = ff_core::act::Deed;
    /// What a token is good for.
    TokenPurpose = super::token::TokenPurpose;
    /// What happened to an execution.
    EventName = ff_core::event::EventName;
    /// Where to begin to read events.
    EventsFrom = super::event::EventsFrom;
    /// Why waiting work is not dispatched.
    Withheld = ff_core::machine::Withheld;
    /// What the holder of a token may do in its namespaces. Every role may read.
    Role = ff_core::credential::Role;
    /// The kind of warning.
    WarningCode = ff_core::warning::WarningCode;
    /// What an execution is blocked on.
    BlockedOn = crate::execution::BlockedOn;
    /// What is done to many executions.
    BulkVerb = ff_store::roles::BulkVerb;
    /// What a cancel did.
    CancelStatus = crate::operator::CancelStatus;
    /// What became of a lease.
    BeatStatus = super::worker::BeatStatus;
}
