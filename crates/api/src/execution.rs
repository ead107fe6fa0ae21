//! An execution as clients read it.

use std::collections::BTreeSet;

use ff_core::explain::Explanation;
use ff_core::limits::{Amounts, Blocker, ExecutionLimits};
use ff_core::phrase::short_reason;
use ff_core::record::{Description, PastRun, Tags};
use ff_core::state::{CancelRequest, Failure, Grant, Intent, Lease, Outcome, State};
use ff_core::timer::{self, DueAction};
use ff_core::{
    Category, ExecutionId, IdempotencyKey, Kind, Lane, Namespace, NodeName, PublicState,
    ResourceKind, ResourceName, StateVector, StepName, Time, WorkerId, WorkerInstanceId,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::act::ActView;
use crate::attempt::{AttemptView, ProgressView};
use crate::flow::{FlowStateView, MemberView};
use crate::http::schema;
use crate::payload::PayloadShapeView;
use crate::policy::PolicyView;
use crate::suspension::SuspensionView;
use crate::timestamp::Timestamp;

/// One unit of work, with all that is known about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExecutionView {
    /// Its id.
    #[schema(value_type = crate::http::schema::Id)]
    pub id: ExecutionId,
    /// The tenant.
    #[schema(value_type = String)]
    pub namespace: Namespace,
    /// The queue.
    #[schema(value_type = String)]
    pub lane: Lane,
    /// The kind of work.
    #[schema(value_type = String)]
    pub kind: Kind,
    /// Its state.
    #[schema(value_type = schema::PublicState)]
    pub state: PublicState,
    /// Six views of its state.
    #[schema(value_type = schema::StateVector)]
    pub state_vector: StateVector,
    /// Why it ended as it did, or what it waits for, in a sentence; null when it completed.
    pub reason: Option<String>,
    /// What it waits to do; null when it runs or has ended.
    #[schema(value_type = Option<schema::Intent>)]
    pub intent: Option<Intent>,
    /// Which budget or quota it waits for.
    pub blocked: Option<BlockedView>,
    /// What it waits for, while it is suspended.
    pub suspension: Option<SuspensionView>,
    /// The worker it is reserved for.
    pub grant: Option<ReservationView>,
    /// Higher goes first.
    pub priority: i16,
    /// Its labels.
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub tags: Tags,
    /// What a worker must offer.
    pub requires: Vec<String>,
    /// The submitter's name for it.
    #[schema(value_type = Option<String>)]
    pub idempotency_key: Option<IdempotencyKey>,
    /// When it was accepted.
    pub created: Timestamp,
    /// Its place in the queue among equals.
    pub queued_at: Timestamp,
    /// When it becomes claimable, while it is delayed.
    pub delayed_until: Option<Timestamp>,
    /// The step of its journal that it sleeps in.
    #[schema(value_type = Option<String>)]
    pub step: Option<StepName>,
    /// When its current run expires.
    pub deadline: Option<Timestamp>,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// When it is removed.
    pub expires: Option<Timestamp>,
    /// The next timer.
    pub next_timer: Option<TimerView>,
    /// The current run: 0 for the first, one more with each replay.
    pub run: u32,
    /// When the current run started.
    pub run_started: Timestamp,
    /// Runs that were replayed, oldest first.
    pub past_runs: Vec<RunView>,
    /// The newest attempt; null before the first.
    pub attempt: Option<u32>,
    /// How many attempts there were, over all runs.
    pub attempts: u32,
    /// How many attempts of this run ended by failure or timeout.
    pub failures: u32,
    /// How many leases of this run were lost.
    pub reclaims: u32,
    /// How many leases it has had.
    pub epoch: u64,
    /// The newest attempt in full.
    pub newest_attempt: Option<AttemptView>,
    /// The last progress report of the newest attempt.
    pub progress: Option<ProgressView>,
    /// The lease of its holder.
    pub lease: Option<LeaseView>,
    /// Its holder is asked to stop.
    pub cancel: Option<CancelView>,
    /// What it was submitted with.
    pub input: PayloadShapeView,
    /// What it completed with.
    pub result: Option<PayloadShapeView>,
    /// The failure it ended with.
    pub failure: Option<FailureView>,
    /// Why it was cancelled, if given.
    pub cancel_reason: Option<String>,
    /// Its budgets and quotas.
    pub limits: LimitsView,
    /// What it has used over its whole life, by dimension.
    #[schema(value_type = std::collections::BTreeMap<String, u64>)]
    pub used: Amounts,
    /// What people did to it, oldest first; the newest 16.
    #[serde(default)]
    pub acts: Vec<ActView>,
    /// Its policy.
    pub policy: PolicyView,
    /// The node whose end made it skipped.
    #[schema(value_type = Option<String>)]
    #[serde(default)]
    pub skipped_because: Option<NodeName>,
    /// Its members, if it is a flow or has children.
    #[serde(default)]
    pub flow: Option<FlowStateView>,
    /// Its place in a flow, if it is a member of one.
    #[serde(default)]
    pub member: Option<MemberView>,
}

impl From<&Description> for ExecutionView {
    fn from(record: &Description) -> Self {
        let (outcome, ended) = record.outcome().unzip();
        let (lease, cancel) = match &record.state {
            State::Active { lease, cancel } => (Some(lease.into()), cancel.as_ref()),
            _ => (None, None),
        };
        let newest = record.attempt.as_ref();
        ExecutionView {
            id: record.id,
            namespace: record.spec.namespace.clone(),
            lane: record.spec.lane.clone(),
            kind: record.spec.kind.clone(),
            state: record.public_state(),
            state_vector: record.state_vector(),
            reason: short_reason(record),
            intent: record.state.intent(),
            blocked: BlockedView::of(&record.state),
            suspension: match &record.state {
                State::Suspended { suspension } => Some((&**suspension).into()),
                _ => None,
            },
            grant: match &record.state {
                State::Granted { grant, .. } => Some(grant.into()),
                _ => None,
            },
            priority: record.priority,
            tags: record.tags.clone(),
            requires: record.spec.requires.tokens().map(str::to_owned).collect(),
            idempotency_key: record.spec.key.clone(),
            created: record.created.into(),
            queued_at: record.queued_at.into(),
            delayed_until: match record.state {
                State::Delayed { until, .. } => Some(until.into()),
                _ => None,
            },
            step: match &record.state {
                State::Delayed { step, .. } => step.clone(),
                _ => None,
            },
            deadline: record.run.deadline.map(Timestamp),
            ended: ended.map(Timestamp),
            expires: record.retired_at().map(Timestamp),
            next_timer: timer::next(record).map(TimerView::from),
            run: record.run.number,
            run_started: record.run.started.into(),
            past_runs: (0..).zip(&record.past_runs).map(RunView::from).collect(),
            attempt: newest.map(|attempt| attempt.number),
            attempts: newest.map_or(0, |attempt| attempt.number + 1),
            failures: record.run.failures,
            reclaims: record.run.reclaims,
            epoch: record.epoch,
            newest_attempt: newest.map(AttemptView::from),
            progress: newest.and_then(|attempt| attempt.progress.as_ref()).map(ProgressView::from),
            lease,
            cancel: cancel.map(CancelView::from),
            input: (&record.spec.input).into(),
            result: outcome.and_then(result),
            failure: outcome.and_then(failure),
            cancel_reason: outcome.and_then(cancel_reason),
            limits: (&record.spec.limits).into(),
            used: record.used.clone(),
            acts: record.acts.iter().map(ActView::from).collect(),
            policy: (&record.spec.policy).into(),
            skipped_because: outcome.and_then(skipped_because),
            flow: record.flow.as_deref().map(FlowStateView::from),
            member: record.member.as_deref().map(MemberView::from),
        }
    }
}

impl ExecutionView {
    /// `record` with the reasons of its lane, workers and limits, where they say more than the
    /// record.
    pub fn new(record: &Description, explanation: Option<&Explanation>) -> ExecutionView {
        let view = ExecutionView::from(record);
        match explanation.filter(|explanation| explanation.vector != view.state_vector) {
            None => view,
            Some(Explanation { vector, phrase, .. }) => {
                let reason = Some(phrase.clone());
                ExecutionView { state_vector: *vector, reason, ..view }
            }
        }
    }
}

fn result(outcome: &Outcome) -> Option<PayloadShapeView> {
    match outcome {
        Outcome::Success { result } => Some(result.into()),
        _ => None,
    }
}

fn failure(outcome: &Outcome) -> Option<FailureView> {
    match outcome {
        Outcome::Failed { failure } => Some(failure.into()),
        _ => None,
    }
}

fn cancel_reason(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Cancelled { reason } => reason.as_deref().map(str::to_owned),
        _ => None,
    }
}

fn skipped_because(outcome: &Outcome) -> Option<NodeName> {
    match outcome {
        Outcome::Skipped { because } => Some(because.clone()),
        _ => None,
    }
}

ff_core::words!(
    /// What an execution is blocked on.
    BlockedOn {
        /// A budget.
        Budget = "budget",
        /// A quota.
        Quota = "quota",
        /// The limit of its lane.
        Lane = "lane",
    }
);

/// The budget, quota or lane that has no room for an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BlockedView {
    /// The kind of limit.
    #[schema(value_type = schema::BlockedOn)]
    pub on: BlockedOn,
    /// Which one.
    #[schema(value_type = String)]
    pub name: ResourceName,
    /// What it lacked when it was evaluated, for people.
    pub detail: String,
}

impl BlockedView {
    fn of(state: &State) -> Option<BlockedView> {
        let State::Blocked { on, detail, .. } = state else { return None };
        let (on, name) = match (on.name.lane(), on.kind) {
            (Some(lane), _) => (BlockedOn::Lane, (&lane).into()),
            (None, ResourceKind::Budget) => (BlockedOn::Budget, on.name.clone()),
            (None, _) => (BlockedOn::Quota, on.name.clone()),
        };
        Some(BlockedView { on, name, detail: detail.to_string() })
    }

    /// The limit.
    pub fn blocker(&self) -> Blocker {
        let name = self.name.clone();
        match self.on {
            BlockedOn::Budget => Blocker { kind: ResourceKind::Budget, name },
            BlockedOn::Quota => Blocker { kind: ResourceKind::Quota, name },
            BlockedOn::Lane => {
                let name = ResourceName::of_lane(&(&name).into());
                Blocker { kind: ResourceKind::Quota, name }
            }
        }
    }
}

/// The budgets and quotas of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitsView {
    /// The budgets that its usage is charged to.
    #[schema(value_type = Vec<String>)]
    pub budgets: BTreeSet<ResourceName>,
    /// The quotas that must admit it.
    #[schema(value_type = Vec<String>)]
    pub quotas: BTreeSet<ResourceName>,
    /// What is reserved for it when it is admitted, by dimension.
    #[schema(value_type = std::collections::BTreeMap<String, u64>)]
    pub estimate: Amounts,
}

impl From<&ExecutionLimits> for LimitsView {
    fn from(limits: &ExecutionLimits) -> Self {
        let ExecutionLimits { budgets, quotas, estimate } = limits.clone();
        LimitsView { budgets, quotas, estimate }
    }
}

/// A reservation for one worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReservationView {
    /// The call that made it.
    pub request: String,
    /// The name shared by the worker's instances.
    #[schema(value_type = String)]
    pub worker: WorkerId,
    /// The process it is for.
    #[schema(value_type = String)]
    pub worker_instance: WorkerInstanceId,
    /// Until when.
    pub until: Timestamp,
}

impl From<&Grant> for ReservationView {
    fn from(grant: &Grant) -> Self {
        ReservationView {
            request: grant.request.to_string(),
            worker: grant.to.id.clone(),
            worker_instance: grant.to.instance.clone(),
            until: grant.until.into(),
        }
    }
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailureView {
    /// The kind of failure.
    #[schema(value_type = String)]
    pub category: Category,
    /// Whether trying again could help, as far as its reporter knew.
    pub retryable: bool,
    /// What happened, for people.
    pub message: String,
}

impl From<&Failure> for FailureView {
    fn from(failure: &Failure) -> Self {
        FailureView {
            category: failure.category.clone(),
            retryable: failure.retryable,
            message: failure.message.to_string(),
        }
    }
}

/// A time-limited hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseView {
    /// Its random name.
    #[schema(value_type = crate::http::schema::LeaseName)]
    pub id: String,
    /// How many leases the execution has had, this one included.
    pub epoch: u64,
    /// The name shared by the holder's instances.
    #[schema(value_type = String)]
    pub worker: WorkerId,
    /// The process that holds it.
    #[schema(value_type = String)]
    pub worker_instance: WorkerInstanceId,
    /// When it ends unless renewed.
    pub until: Timestamp,
    /// When the attempt's time is over, whatever is renewed.
    pub timeout: Option<Timestamp>,
}

impl From<&Lease> for LeaseView {
    fn from(lease: &Lease) -> Self {
        LeaseView {
            id: lease.id.to_string(),
            epoch: lease.epoch,
            worker: lease.worker.id.clone(),
            worker_instance: lease.worker.instance.clone(),
            until: lease.until.into(),
            timeout: lease.timeout_at.map(Timestamp),
        }
    }
}

/// A cancel that leaves the holder time to stop by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CancelView {
    /// When the hold ends, whatever the holder does.
    pub by: Timestamp,
    /// The reason of the operator.
    pub reason: Option<String>,
}

impl From<&CancelRequest> for CancelView {
    fn from(request: &CancelRequest) -> Self {
        CancelView { by: request.by.into(), reason: request.reason.as_deref().map(str::to_owned) }
    }
}

/// A run that was replayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunView {
    /// 0 for the first.
    pub run: u32,
    /// How it ended.
    #[schema(value_type = schema::PublicState)]
    pub state: PublicState,
    /// Why; null when it completed.
    pub reason: Option<String>,
    /// What it completed with.
    pub result: Option<PayloadShapeView>,
    /// The failure it ended with.
    pub failure: Option<FailureView>,
    /// Why it was cancelled, if given.
    pub cancel_reason: Option<String>,
    /// The node whose end made it skipped.
    #[schema(value_type = Option<String>)]
    #[serde(default)]
    pub skipped_because: Option<NodeName>,
    /// When it started.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
}

impl From<(u32, &PastRun)> for RunView {
    fn from((run, past): (u32, &PastRun)) -> Self {
        RunView {
            run,
            state: past.outcome.public(),
            reason: past.outcome.reason(),
            result: result(&past.outcome),
            failure: failure(&past.outcome),
            cancel_reason: cancel_reason(&past.outcome),
            skipped_because: skipped_because(&past.outcome),
            started: past.started.into(),
            ended: past.ended.into(),
        }
    }
}

/// A timer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TimerView {
    /// When.
    pub at: Timestamp,
    /// What.
    #[schema(value_type = schema::DueAction)]
    pub what: DueAction,
}

impl From<(Time, DueAction)> for TimerView {
    fn from((at, what): (Time, DueAction)) -> Self {
        TimerView { at: at.into(), what }
    }
}

#[cfg(test)]
#[path = "execution_tests.rs"]
mod tests;
