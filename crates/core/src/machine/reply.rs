//! What commands are answered.

use std::collections::BTreeSet;

use crate::id::{ExecutionId, Fence, RequestId};
use crate::name::{Kind, Lane, Namespace, NodeName, ResourceName};
use crate::payload::Payload;
use crate::record::{Exited, Progress, Tags};
use crate::signal::SignalEffect;
use crate::suspension::Waitpoint;
use crate::time::{Millis, Time};
use crate::view::PublicState;
use crate::warning::Warning;
use crate::words;

use super::admission::{AdmitReply, NeedsAdmission};
use super::continue_::Continued;
use super::read_flow::FlowPage;
use super::schedule::Fired;
use super::tick::Ticked;
use super::tick_resource::ResourceTicked;
use crate::budget::Budget;
use crate::credential::Credential;
use crate::feed::FeedState;
use crate::limits::Amounts;
use crate::quota::Quota;
use crate::resource::LaneState;
use crate::schedule::Schedule;
use crate::signing::SigningKeys;
use crate::webhook::Webhook;

/// The answer to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// To a submit.
    Submitted(Submitted),
    /// To a grant.
    Granted(Granted),
    /// To a claim.
    Claimed(Claimed),
    /// To a renewal.
    Renewed(Renewed),
    /// To a call that ends a lease.
    Exited(Exited),
    /// To an operator's cancel.
    Cancelled(Cancelled),
    /// To a replay: the number of the new run.
    Replayed(u32),
    /// To the submit of a flow, or of a slice of it.
    FlowSubmitted(FlowSubmitted),
    /// To a read of a flow.
    FlowPage(Box<FlowPage>),
    /// To a read of a payload.
    Payload(Payload),
    /// To a tick.
    Ticked(Ticked),
    /// To a worker that registers or says that it is alive.
    Registered(Registered),
    /// To a change of a lane's settings: the settings that hold now.
    Lane(LaneState),
    /// To a change of a feed: its new state.
    Feed(Box<FeedState>),
    /// To a change of a webhook, or a report of its deliveries: as it is now.
    Webhook(Box<Webhook>),
    /// To a change of a schedule: as it is now.
    Schedule(Box<Schedule>),
    /// To the moments of a schedule that have come.
    Fired(Fired),
    /// To a run of a continuation.
    Continued(Continued),
    /// To a tick of a resource.
    ResourceTicked(ResourceTicked),
    /// To a change of a budget: its new state.
    Budget(Box<Budget>),
    /// To a change of a quota: its new state.
    Quota(Box<Quota>),
    /// The token as it is then.
    Credential(Box<Credential>),
    /// To an admission.
    AdmitReply(AdmitReply),
    /// To a command that applies or not: whether it did.
    Applied(bool),
    /// To a suspend.
    Suspended(Suspended),
    /// To a signal.
    Signalled(Signalled),
    /// To the opening of a waitpoint.
    WaitpointOpened(WaitpointOpened),
    /// To a report of usage: all that was used.
    Used(Used),
    /// To the result of a step.
    RecordedStep(RecordedStep),
    /// To frames that were appended.
    AppendedFrames(AppendedFrames),
    /// To a patch of the summary.
    PatchedSummary(PatchedSummary),
    /// To a change of the signing keys: all of them.
    SigningKeys(SigningKeys),
    /// To a change without a result.
    Done,
}

macro_rules! from_answers {
    ($($name:ident),+) => {
        $(impl From<$name> for Reply {
            fn from(answer: $name) -> Reply {
                Reply::$name(answer)
            }
        })+
    };
}

from_answers!(
    Submitted,
    Granted,
    Claimed,
    Renewed,
    Exited,
    Cancelled,
    Ticked,
    FlowSubmitted,
    Continued,
    Registered,
    ResourceTicked,
    Fired,
    AdmitReply,
    Used,
    Suspended,
    Signalled,
    WaitpointOpened,
    RecordedStep,
    AppendedFrames,
    PatchedSummary
);

impl Reply {
    /// The answer of a command whose items were answered with `self` and `other`.
    pub fn join(self, other: Reply) -> Reply {
        match (self, other) {
            (Reply::Claimed(mut all), Reply::Claimed(more)) => {
                all.assignments.extend(more.assignments);
                all.again |= more.again;
                all.withheld = all.withheld.or(more.withheld);
                all.needs_admission.extend(more.needs_admission);
                Reply::Claimed(all)
            }
            (Reply::Granted(all), Reply::Granted(more)) => Reply::Granted(Granted {
                offer: all.offer.or(more.offer),
                again: all.again || more.again,
                withheld: all.withheld.or(more.withheld),
                needs_admission: all.needs_admission.or(more.needs_admission),
            }),
            (_, other) => other,
        }
    }
}

/// The entry of a step, made by this call or by an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedStep {
    /// Its place in the journal.
    pub number: u64,
}

/// The stream of an execution after an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendedFrames {
    /// The number that the next frame gets.
    pub next: u64,
}

/// The summary of an execution after a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatchedSummary {
    /// The number of the next patch.
    pub next: u64,
}

/// What an execution has used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Used {
    /// How much, by dimension.
    pub amounts: Amounts,
    /// How many writes the execution has had by then.
    pub revision: u64,
}

/// What a suspend did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspended {
    /// How the lease ended; `None` if the condition is satisfied already and the holder keeps it.
    pub exited: Option<Exited>,
    /// Those of its waitpoints that are open.
    pub waitpoints: Vec<Waitpoint>,
}

/// What a signal did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signalled {
    /// What.
    pub effect: SignalEffect,
    /// Its number among the signals of the execution, if it is recorded.
    pub number: Option<u64>,
}

/// A waitpoint that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitpointOpened {
    /// Which.
    pub waitpoint: Waitpoint,
}

/// The execution that a submit made or found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// Its id.
    pub execution: ExecutionId,
    /// `false` when an earlier submit with the same id or key and the same body made it.
    pub created: bool,
    /// Its state.
    pub state: PublicState,
    /// Limits and dimensions it names that do not exist, if the store checked.
    pub warnings: Vec<Warning>,
}

/// The flow that a submit made or found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowSubmitted {
    /// Its id, which is that of an earlier submit with the same key.
    pub flow: ExecutionId,
    /// `false` when an earlier submit with the same id or key and the same body made it.
    pub created: bool,
    /// How many members it has by now.
    pub members: u32,
}

/// A reservation, if there was work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Granted {
    /// The reservation.
    pub offer: Option<GrantOffer>,
    /// Nothing was reserved, but the queue has moved and asking again may help.
    pub again: bool,
    /// Why nothing was reserved although there may be work.
    pub withheld: Option<Withheld>,
    /// The one that comes first and must be admitted before.
    pub needs_admission: Option<NeedsAdmission>,
}

words!(
    /// Why work that may be there is not dispatched.
    Withheld {
        /// An operator has paused the lane.
        LanePaused = "lane_paused",
    }
);

/// A reservation of one execution for one worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantOffer {
    /// The execution.
    pub execution: ExecutionId,
    /// Its queue.
    pub lane: Lane,
    /// What the worker shows to claim it.
    pub request: RequestId,
    /// Until when.
    pub until: Time,
    /// Its last holder has lost it.
    pub reclaim: bool,
}

/// What a claim took.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claimed {
    /// The executions, best first.
    pub assignments: Vec<Assignment>,
    /// The queue has moved, or more was there than one answer carries: asking again may help.
    pub again: bool,
    /// Why nothing was taken although there may be work.
    pub withheld: Option<Withheld>,
    /// Those that come first and must be admitted before.
    pub needs_admission: Vec<NeedsAdmission>,
}

/// One execution in a worker's hands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The execution.
    pub execution: ExecutionId,
    /// Its tenant.
    pub namespace: Namespace,
    /// Its queue.
    pub lane: Lane,
    /// The kind of work.
    pub kind: Kind,
    /// Its labels.
    pub tags: Tags,
    /// What the holder shows with every call.
    pub fence: Fence,
    /// The run.
    pub run: u32,
    /// When it was submitted.
    pub created: Time,
    /// The store's time of the claim.
    pub claimed_at: Time,
    /// When the lease ends unless renewed.
    pub until: Time,
    /// How long each renewal lasts.
    pub lease_ttl: Millis,
    /// When the attempt's time is over.
    pub timeout_at: Option<Time>,
    /// Higher goes first.
    pub priority: i16,
    /// How many attempts of this run have ended by failure or timeout.
    pub failures: u32,
    /// How many may; the last one ends the run.
    pub max_attempts: u32,
    /// The budgets that its usage is charged to.
    pub budgets: BTreeSet<ResourceName>,
    /// What it has used over its whole life, as its holders reported.
    pub used: Amounts,
    /// What was last reported of this attempt, if an earlier hold of it was.
    pub progress: Option<Progress>,
    /// How many entries of its journal are visible: with none there is nothing to read.
    pub steps: u32,
    /// How many replays have hidden entries of its journal.
    pub generation: u32,
    /// Its flow, and its name among the nodes of that.
    pub member: Option<(ExecutionId, NodeName)>,
    /// What it was submitted with.
    pub input: Payload,
}

impl Assignment {
    /// Whether a failure of this attempt ends the run.
    pub fn is_last_attempt(&self) -> bool {
        self.failures.saturating_add(1) >= self.max_attempts
    }
}

/// A renewed lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renewed {
    /// When it ends unless renewed.
    pub until: Time,
    /// The holder is asked to stop, and the hold ends then.
    pub cancel_by: Option<Time>,
}

/// A worker that counts as alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registered {
    /// When it counts as gone unless a heartbeat arrives.
    pub until: Time,
}

/// What an operator's cancel did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// It is cancelled.
    Finished,
    /// Its holder is asked to stop, and it is cancelled then at the latest.
    Cancelling {
        /// When.
        by: Time,
    },
}
