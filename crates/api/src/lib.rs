//! Wire types: what `--json` prints and what HTTP carries.
//!
//! A view is made from a record and holds nothing that a caller could not act on: no version, no
//! index entries, no fingerprints. Times are [`Timestamp`]s, lengths of time are integers whose
//! name ends in `_ms`, and a field that does not apply is null, never absent.

pub mod act;
pub mod approval;
pub mod attempt;
pub mod audit;
pub mod bulk;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "client")]
pub mod described;
pub mod error;
pub mod event;
pub mod execution;
pub mod explanation;
pub mod flow;
pub mod flow_page;
pub mod http;
pub mod lane;
pub mod limit;
pub mod listing;
pub mod named_token;
pub mod operator;
pub mod payload;
pub mod policy;
pub mod registration;
pub mod schedule;
pub mod signing;
pub mod step;
pub mod stream;
pub mod submitted;
pub mod suspension;
pub mod timestamp;
pub mod webhook;
pub mod worker;

pub use act::{ActView, ChangedView};
pub use approval::ApprovalView;
pub use attempt::{AttemptView, AttemptsView, ProgressView};
pub use audit::{AuditView, RepairedView, ViolationView};
pub use bulk::{BulkRefusalView, BulkView};
pub use error::ErrorView;
pub use event::{EventView, EventsView, FeedView};
pub use execution::{
    BlockedView, CancelView, ExecutionView, FailureView, LeaseView, LimitsView, ReservationView,
    RunView, TimerView,
};
pub use explanation::{ExplanationView, NearestView, ReasonView, RunOfView};
pub use flow_page::{
    FlowCancelledView, FlowCountsView, FlowMemberView, FlowSubmittedView, FlowView,
    PendingMemberView,
};
pub use lane::{LanePageView, LaneView, LaneWorkView};
pub use limit::{BudgetPageView, BudgetView, DimensionView, QuotaPageView, QuotaView};
pub use listing::ListPageView;
pub use named_token::{CreatedTokenView, NamedTokenPageView, NamedTokenView, SecretView};
pub use operator::{CancelledView, ReplayedView, RevokedView};
pub use payload::{PayloadShapeView, PayloadView};
pub use policy::{BackoffView, PolicyView};
pub use registration::{WorkerPageView, WorkerView};
pub use schedule::{BackfillView, PausedView, SchedulePageView, ScheduleView, ScheduledRunView};
pub use signing::{SigningKeyView, SigningKeysView};
pub use step::{StepView, StepsView};
pub use stream::{FrameView, FramesView, SummaryView};
pub use submitted::{SubmittedView, WarningView};
pub use suspension::{
    ConditionView, CountConditionView, CountedView, ResumedView, SignalConditionView, SignalView,
    SignalledView, SignalsView, SuspensionView, WaitpointView, WaitpointsView,
};
pub use timestamp::Timestamp;
pub use webhook::{DeadLetterView, FailingView, WebhookView, WebhooksView};
pub use worker::WorkerReportView;

#[cfg(test)]
mod sample;
