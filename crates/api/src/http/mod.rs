//! The bodies of HTTP requests and answers that `--json` does not print.
//!
//! Requests refuse unknown and repeated fields. A user's `input` or `result` is kept as the bytes
//! it came in; it is never decoded and encoded again.

mod assignment;
mod bulk;
mod content;
mod event;
mod flow;
mod holder;
mod lane;
mod limit;
mod named_token;
mod operator;
mod patch;
mod policy;
mod problem;
mod registration;
mod schedule;
pub mod schema;
mod step;
mod stops;
mod stream;
mod strict;
mod submit;
mod suspend;
mod tags;
mod token;
mod webhook;
mod worker;

pub use assignment::AssignmentView;
pub use bulk::{BulkFilter, BulkRequest};
pub(crate) use content::Content;
#[cfg(feature = "client")]
pub(crate) use content::RESULT;
pub use event::{EventsFrom, FeedRequest};
pub use flow::{CancelFlowRequest, FlowRequest, JoinWord, NodeRequest, ReplayFlowRequest};
pub use holder::{
    BatchComplete, CancelHeldRequest, CompleteRequest, DelayRequest, ExitAnswer, ExitAnswers,
    ExitView, FailRequest, FenceBody, HoldBody, ProgressRequest,
};
pub use lane::LaneRequest;
pub use limit::{
    BudgetRequest, DimensionRequest, LimitsRequest, QuotaRequest, ResetRequest, UsageRequest,
    UsedView,
};
pub use named_token::NamedTokenRequest;
pub use operator::{CancelRequest, PriorityRequest, ReplayRequest, RevokeRequest, TagsRequest};
pub use policy::{BackoffRequest, PolicyRequest};
pub use problem::Problem;
pub use registration::{BeatenView, Kept, RegisterRequest, RegisteredView, SessionBody};
pub use schedule::{
    BackfillRequest, PauseScheduleRequest, ResumeScheduleRequest, RunScheduleRequest,
    ScheduleRequest, ScheduledWorkBody,
};
pub use step::{RecordedStepView, StepRequest};
pub use stops::StopsView;
pub use stream::{FrameBody, FramesRequest, NextView, SummaryRequest};
pub use strict::Object;
pub use submit::{BatchAnswer, SubmitAnswer, SubmitBatch, SubmitRequest};
pub use suspend::{
    CloseWaitpointRequest, OpenWaitpointRequest, OpenedView, ResumeRequest, SignalRequest,
    SuspendRequest, SuspendedView, WaitpointBody,
};
pub use tags::{read_tags, write_tags};
pub use token::{TokenPurpose, TokenRequest, TokenSignalRequest, TokenView};
pub use webhook::{SecretText, WebhookRequest};
pub use worker::{
    BeatStatus, BeatView, ClaimGrantedRequest, ClaimRequest, ClaimedView, GrantRequest, GrantView,
    GrantedView, HeartbeatView, Leases,
};
