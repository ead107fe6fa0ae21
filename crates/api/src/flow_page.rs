//! Flows as clients read them: the graph with its members, and the answers to a submit and a cancel.

use ff_core::flow::FlowCounts;
use ff_core::machine::{FlowMember, FlowPage, FlowSubmitted};
use ff_core::{ExecutionId, NodeName, PublicState};
use ff_store::roles::{FlowCancelled, PendingMember};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::execution::ExecutionView;
use crate::http::schema;
use crate::operator::CancelStatus;

/// The flow that a submit created or found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlowSubmittedView {
    /// Its id.
    #[schema(value_type = schema::Id)]
    pub id: ExecutionId,
    /// `false` when an earlier submit with the same id or key and the same body created it.
    pub new: bool,
    /// How many members it has.
    pub members: u32,
}

impl From<&FlowSubmitted> for FlowSubmittedView {
    fn from(submitted: &FlowSubmitted) -> Self {
        let FlowSubmitted { flow: id, created: new, members } = *submitted;
        FlowSubmittedView { id, new, members }
    }
}

impl From<FlowSubmittedView> for FlowSubmitted {
    fn from(view: FlowSubmittedView) -> Self {
        FlowSubmitted { flow: view.id, created: view.new, members: view.members }
    }
}

/// A flow and some of its members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlowView {
    /// The flow itself.
    pub flow: ExecutionView,
    /// How many of its members have come to what.
    pub counts: FlowCountsView,
    /// Members in the order of their numbers.
    pub members: Vec<FlowMemberView>,
    /// The cursor to continue with; null when there is nothing more.
    pub next: Option<u32>,
}

/// The members of a flow by what they have come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlowCountsView {
    /// Not ended; the graph itself counts while it is being started.
    pub left: u64,
    /// Completed.
    pub completed: u64,
    /// Failed.
    pub failed: u64,
    /// Cancelled.
    pub cancelled: u64,
    /// Expired.
    pub expired: u64,
    /// Skipped.
    pub skipped: u64,
}

/// A member of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlowMemberView {
    /// Its number among the nodes.
    pub node: u32,
    /// Its name among the nodes.
    #[schema(value_type = String)]
    pub name: NodeName,
    /// The numbers of the nodes that it depends on.
    pub after: Vec<u32>,
    /// The execution; null if it cannot be read.
    pub execution: Option<ExecutionView>,
}

impl From<FlowCounts> for FlowCountsView {
    fn from(counts: FlowCounts) -> Self {
        let FlowCounts { left, completed, failed, cancelled, expired, skipped } = counts;
        FlowCountsView { left, completed, failed, cancelled, expired, skipped }
    }
}

impl From<FlowCountsView> for FlowCounts {
    fn from(view: FlowCountsView) -> Self {
        let FlowCountsView { left, completed, failed, cancelled, expired, skipped } = view;
        FlowCounts { left, completed, failed, cancelled, expired, skipped }
    }
}

impl From<&FlowMember> for FlowMemberView {
    fn from(member: &FlowMember) -> Self {
        FlowMemberView {
            node: member.node,
            name: member.name.clone(),
            after: member.after.clone(),
            execution: member.execution.as_ref().map(ExecutionView::from),
        }
    }
}

impl From<&FlowPage> for FlowView {
    fn from(page: &FlowPage) -> Self {
        FlowView {
            flow: ExecutionView::from(&page.flow),
            counts: page.counts.into(),
            members: page.members.iter().map(FlowMemberView::from).collect(),
            next: page.next,
        }
    }
}

#[cfg(feature = "client")]
impl FlowView {
    /// The page, as the engine answers it.
    pub(crate) fn page(self) -> crate::described::Understood<FlowPage> {
        let member = |view: FlowMemberView| {
            let FlowMemberView { node, name, after, execution } = view;
            let execution = execution.map(ff_core::Description::try_from).transpose()?;
            Ok(FlowMember { node, name, after, execution })
        };
        Ok(FlowPage {
            flow: ff_core::Description::try_from(self.flow)?,
            counts: self.counts.into(),
            members: self.members.into_iter().map(member).collect::<Result<_, _>>()?,
            next: self.next,
        })
    }
}

/// The answer to a cancel of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlowCancelledView {
    /// The flow.
    #[schema(value_type = schema::Id)]
    pub id: ExecutionId,
    /// `cancelled` when all its members have ended, `cancelling` until then.
    #[schema(value_type = schema::CancelStatus)]
    pub status: CancelStatus,
    /// How many members have not ended.
    pub left: u64,
    /// Members that have not ended: the first 100.
    pub pending: Vec<PendingMemberView>,
}

/// A member that has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PendingMemberView {
    /// Its name among the nodes.
    #[schema(value_type = String)]
    pub name: NodeName,
    /// The execution.
    #[schema(value_type = schema::Id)]
    pub id: ExecutionId,
    /// Its state.
    #[schema(value_type = schema::PublicState)]
    pub state: PublicState,
}

impl FlowCancelledView {
    /// The answer for flow `id`.
    pub fn new(id: ExecutionId, cancelled: &FlowCancelled) -> Self {
        let status = match cancelled.left {
            0 => CancelStatus::Cancelled,
            _ => CancelStatus::Cancelling,
        };
        let pending = cancelled.pending.iter().map(|member| PendingMemberView {
            name: member.name.clone(),
            id: member.execution,
            state: member.state,
        });
        FlowCancelledView { id, status, left: cancelled.left, pending: pending.collect() }
    }
}

impl From<FlowCancelledView> for FlowCancelled {
    fn from(view: FlowCancelledView) -> Self {
        let pending = view.pending.into_iter().map(|view| PendingMember {
            name: view.name,
            execution: view.id,
            state: view.state,
        });
        FlowCancelled { left: view.left, pending: pending.collect() }
    }
}
