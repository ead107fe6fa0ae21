//! What producers, operators and workers do with flows.

use async_trait::async_trait;
use ff_core::bounds::FLOW_SLICE;
use ff_core::flow::member_id;
use ff_core::graph::FlowSubmission;
use ff_core::machine::{
    CancelFlow, Cancelled, FlowPage, FlowSubmitted, ReadFlow, ReadUpstream, Reply, Target,
};
use ff_core::{ExecutionId, NodeName, Payload, PublicState, Refusal};

use super::{Engine, only, unexpected};
use crate::error::StoreError;
use crate::store::Store;

/// Submit, read and control flows.
#[async_trait]
pub trait FlowBackend: Send + Sync {
    /// Accepts a graph as a whole. One that a single command cannot carry is built in slices; nothing
    /// of it runs before it is whole. The same call again finds the flow, and completes its graph if an
    /// earlier one did not.
    async fn submit_flow(&self, flow: FlowSubmission) -> Result<FlowSubmitted, StoreError>;

    /// A flow, and its members from number `from` on, at most `limit` and at most
    /// [`FLOW_SLICE`].
    async fn flow(&self, target: &Target, from: u32, limit: usize) -> Result<FlowPage, StoreError>;

    /// Cancels a flow. When it is answered, none of its members is claimed any more.
    async fn cancel_flow(&self, cancel: CancelFlow) -> Result<Cancelled, StoreError>;

    /// The result of an upstream of a member, by its name.
    async fn upstream(&self, target: &Target, upstream: &NodeName) -> Result<Payload, StoreError>;
}

#[async_trait]
impl<S: Store + ?Sized> FlowBackend for Engine<S> {
    async fn submit_flow(&self, flow: FlowSubmission) -> Result<FlowSubmitted, StoreError> {
        let engine = self.clone();
        self.0.call(async move { engine.submit_slices(flow).await }).await
    }

    async fn flow(&self, target: &Target, from: u32, limit: usize) -> Result<FlowPage, StoreError> {
        let limit = limit.min(FLOW_SLICE);
        let page = self.one(ReadFlow { target: target.clone(), from, limit }).await;
        page.and_then(only!(FlowPage)).map(|page| *page)
    }

    async fn cancel_flow(&self, cancel: CancelFlow) -> Result<Cancelled, StoreError> {
        self.one(cancel).await.and_then(only!(Cancelled))
    }

    async fn upstream(&self, target: &Target, upstream: &NodeName) -> Result<Payload, StoreError> {
        let read = ReadUpstream { target: target.clone(), upstream: upstream.clone() };
        self.one(read).await.and_then(only!(Payload))
    }
}

impl<S: Store + ?Sized> Engine<S> {
    async fn submit_slices(&self, mut flow: FlowSubmission) -> Result<FlowSubmitted, StoreError> {
        let asked = flow.id;
        let first = self.submit_under(&flow).await?;
        if first.flow == asked {
            return Ok(first);
        }
        // An earlier submit with the same key made it, and may not have completed it.
        flow.id = first.flow;
        self.submit_under(&flow).await
    }

    /// Submits what is missing of a flow under its id; stops at a flow that has another.
    async fn submit_under(&self, flow: &FlowSubmission) -> Result<FlowSubmitted, StoreError> {
        let slices = flow.clone().into_commands(self.store().partitions())?;
        let mut answer: Option<FlowSubmitted> = None;
        for slice in slices {
            let submitted = match self.one(slice).await? {
                Reply::FlowSubmitted(submitted) => submitted,
                other => return Err(unexpected(&other)),
            };
            let created = answer.map_or(submitted.created, |earlier| earlier.created);
            answer = Some(FlowSubmitted { created, ..submitted });
            if submitted.flow != flow.id {
                break;
            }
        }
        answer.ok_or_else(|| Refusal::invalid("nodes", "is empty").into())
    }

    /// The nodes that a member waits for, at most `most`.
    pub(super) async fn unfinished_upstreams(
        &self,
        flow: ExecutionId,
        node: u32,
        most: usize,
    ) -> Result<Vec<(NodeName, PublicState)>, StoreError> {
        let Some(record) = self.store().record(flow).await? else { return Ok(Vec::new()) };
        let target = Target { namespace: record.spec.namespace.clone(), execution: flow };
        let page = self.flow(&target, node, 1).await?;
        let mut found = Vec::new();
        for number in page.members.first().map_or(&[][..], |member| &member.after) {
            if found.len() == most {
                break;
            }
            let upstream = self.store().record(member_id(flow, *number)).await?;
            let upstream = upstream.filter(|record| record.outcome().is_none());
            if let Some((record, member)) =
                upstream.as_ref().and_then(|record| Some((record, record.member.as_deref()?)))
            {
                found.push((member.name.clone(), record.public_state()));
            }
        }
        Ok(found)
    }
}
