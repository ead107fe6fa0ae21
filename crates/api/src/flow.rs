//! What an execution is in a flow, as clients read it.

use ff_core::flow::{ChildWait, Ending, Flow, HeldMembers, Member, OnFailure, Phase, Rest};
use ff_core::state::Outcome;
use ff_core::{ExecutionId, Millis, NodeName, When};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::described::{NotUnderstood, Understood, missing};
use crate::execution::FailureView;
use crate::http::schema;
use crate::timestamp::Timestamp;

ff_core::words!(
    /// Where a flow is in its life.
    PhaseWord {
        /// Its graph is being built, and nothing of it runs.
        Open = "open",
        /// Its members run.
        Running = "running",
        /// Its members are being ended, and nothing more of it starts.
        Ending = "ending",
        /// All its members have ended.
        Settled = "settled",
        /// It is being removed.
        Retiring = "retiring",
    }
);

ff_core::words!(
    /// How a flow ends before its members have.
    EndingWord {
        /// It was cancelled.
        Cancelled = "cancelled",
        /// It ran past its deadline.
        Expired = "expired",
        /// A node that it cannot do without did not succeed.
        Failed = "failed",
    }
);

ff_core::words!(
    /// What becomes of the members that workers hold when their flow is ended.
    HeldWord {
        /// Their leases end at once.
        Cancel = "cancel",
        /// They are asked to stop and get a grace.
        Grace = "grace",
        /// They finish what they do, and are not tried again.
        Finish = "finish",
    }
);

/// What a flow knows of its members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlowStateView {
    /// Where it is in its life.
    #[schema(value_type = schema::FlowPhase)]
    pub phase: PhaseWord,
    /// Whether it is a graph; else its members are children of a task.
    pub graph: bool,
    /// How many members it has.
    pub members: u32,
    /// How many it has once its graph is whole.
    pub size: u32,
    /// Whether its graph is whole.
    pub sealed: bool,
    /// Whether what depends on nothing is still to be released.
    #[serde(default)]
    pub starting: bool,
    /// What the task waits for whose children its members are.
    #[serde(default)]
    pub wait: Option<ChildWaitView>,
    /// How it is being ended.
    pub ending: Option<EndingView>,
}

/// Which of its children a task waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChildWaitView {
    /// The numbers of those that have not ended; null if it waits for all.
    pub left: Option<Vec<u32>>,
    /// How many more must complete, if that is enough.
    pub completed: Option<u32>,
}

impl From<&ChildWait> for ChildWaitView {
    fn from(wait: &ChildWait) -> ChildWaitView {
        match wait {
            ChildWait::Every => ChildWaitView { left: None, completed: None },
            ChildWait::Some { left, completed } => {
                ChildWaitView { left: Some(left.clone()), completed: *completed }
            }
        }
    }
}

impl From<ChildWaitView> for ChildWait {
    fn from(view: ChildWaitView) -> ChildWait {
        match view.left {
            None => ChildWait::Every,
            Some(left) => ChildWait::Some { left, completed: view.completed },
        }
    }
}

/// How a flow is being ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EndingView {
    /// What becomes of it.
    #[schema(value_type = schema::FlowEnding)]
    pub outcome: EndingWord,
    /// Why it was cancelled, if given.
    pub cancel_reason: Option<String>,
    /// What it failed of.
    pub failure: Option<FailureView>,
    /// What becomes of members that workers hold.
    #[schema(value_type = schema::HeldMembers)]
    pub held: HeldWord,
    /// How long those may still work, if they get a grace.
    pub grace_ms: Option<u64>,
}

impl From<&Flow> for FlowStateView {
    fn from(flow: &Flow) -> FlowStateView {
        let (phase, ending) = match &flow.phase {
            Phase::Open => (PhaseWord::Open, None),
            Phase::Running => (PhaseWord::Running, None),
            Phase::Ending(ending) => (PhaseWord::Ending, Some(ending.into())),
            Phase::Settled => (PhaseWord::Settled, None),
            Phase::Retiring => (PhaseWord::Retiring, None),
        };
        let Flow { graph, members, size, sealed, starting, .. } = *flow;
        let wait = flow.wait.as_deref().map(ChildWaitView::from);
        FlowStateView { phase, graph, members, size, sealed, starting, wait, ending }
    }
}

impl From<&Ending> for EndingView {
    fn from(ending: &Ending) -> EndingView {
        let (outcome, reason, failure) = match &ending.outcome {
            Outcome::Failed { failure } => (EndingWord::Failed, None, Some(failure.into())),
            Outcome::Cancelled { reason } => (EndingWord::Cancelled, reason.clone(), None),
            _ => (EndingWord::Expired, None, None),
        };
        let (held, grace_ms) = match ending.held {
            HeldMembers::Cancel => (HeldWord::Cancel, None),
            HeldMembers::Grace(grace) => (HeldWord::Grace, Some(grace.get())),
            HeldMembers::Finish => (HeldWord::Finish, None),
        };
        let cancel_reason = reason.map(String::from);
        EndingView { outcome, cancel_reason, failure, held, grace_ms }
    }
}

impl FlowStateView {
    /// The same, as the engine knows it.
    pub(crate) fn flow(self) -> Understood<Flow> {
        let phase = match self.phase {
            PhaseWord::Open => Phase::Open,
            PhaseWord::Running => Phase::Running,
            PhaseWord::Ending => Phase::Ending(missing(self.ending, "ending")?.ending()?),
            PhaseWord::Settled => Phase::Settled,
            PhaseWord::Retiring => Phase::Retiring,
        };
        let FlowStateView { graph, members, size, sealed, starting, wait, .. } = self;
        let wait = wait.map(|wait| Box::new(wait.into()));
        Ok(Flow { phase, graph, members, size, sealed, starting, wait })
    }
}

impl EndingView {
    fn ending(self) -> Result<Ending, NotUnderstood> {
        let outcome = match self.outcome {
            EndingWord::Failed => {
                Outcome::Failed { failure: missing(self.failure, "failure")?.into() }
            }
            EndingWord::Cancelled => {
                Outcome::Cancelled { reason: self.cancel_reason.map(Into::into) }
            }
            EndingWord::Expired => Outcome::Expired,
        };
        let held = match self.held {
            HeldWord::Cancel => HeldMembers::Cancel,
            HeldWord::Grace => HeldMembers::Grace(Millis::new(missing(self.grace_ms, "grace_ms")?)),
            HeldWord::Finish => HeldMembers::Finish,
        };
        Ok(Ending { outcome, held })
    }
}

/// The place of an execution in a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemberView {
    /// The flow.
    #[schema(value_type = crate::http::schema::Id)]
    pub flow: ExecutionId,
    /// Its number among the nodes.
    pub node: u32,
    /// Its name among the nodes.
    #[schema(value_type = String)]
    pub name: NodeName,
    /// How many successes of upstreams it still needs before it may run; below zero if there were more.
    pub needs: i32,
    /// How many upstreams may still end without success; below zero if there were too many.
    pub spare: i32,
    /// How many successes it needs in all.
    pub required: u32,
    /// What it does when too many do.
    #[schema(value_type = schema::OnFailure)]
    pub on_failure: OnFailure,
    /// What becomes of upstreams that it does not need any more.
    #[schema(value_type = schema::Rest)]
    pub rest: Rest,
    /// Nothing depends on it: the flow completes only if it does.
    pub is_sink: bool,
    /// How long it waits from when it needs no more.
    pub start_after_ms: Option<u64>,
    /// When it may start at the earliest.
    pub start_at: Option<Timestamp>,
    /// In how many chunks of what depends on it its end is counted.
    pub counted: u32,
}

impl From<&Member> for MemberView {
    fn from(member: &Member) -> MemberView {
        let Member {
            flow,
            node,
            name,
            needs,
            spare,
            required,
            on_failure,
            rest,
            is_sink,
            start,
            counted,
        } = member.clone();
        let (start_after_ms, start_at) = match start {
            When::Now => (None, None),
            When::After(span) => (Some(span.get()), None),
            When::At(at) => (None, Some(at.into())),
        };
        MemberView {
            flow,
            node,
            name,
            needs,
            spare,
            required,
            on_failure,
            rest,
            is_sink,
            start_after_ms,
            start_at,
            counted,
        }
    }
}

impl From<MemberView> for Member {
    fn from(view: MemberView) -> Member {
        let start = match (view.start_after_ms, view.start_at) {
            (Some(span), _) => When::After(Millis::new(span)),
            (None, Some(at)) => When::At(at.0),
            (None, None) => When::Now,
        };
        let MemberView {
            flow,
            node,
            name,
            needs,
            spare,
            required,
            on_failure,
            rest,
            is_sink,
            counted,
            ..
        } = view;
        Member {
            flow,
            node,
            name,
            needs,
            spare,
            required,
            on_failure,
            rest,
            is_sink,
            start,
            counted,
        }
    }
}
