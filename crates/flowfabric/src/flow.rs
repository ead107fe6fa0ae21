//! Flows: a graph that is being described, and one that was submitted.

use std::time::Duration;

use ff_core::flow::{HeldMembers, OnFailure, Rest, member_id};
use ff_core::graph::{FlowSubmission, Join, NodeSpec};
use ff_core::machine::FlowPage;
use ff_core::{
    ExecutionId, IdempotencyKey, NodeName, PublicState, Refusal, ResourceName, TagKey, TagValue,
};
use ff_sdk::{FromPayload, millis};

use crate::Error;
use crate::flowfabric::FlowFabric;
use crate::handle::TaskHandle;
use crate::task::TaskBuilder;

/// Describes a flow. Made by [`FlowFabric::flow`]; checked and submitted by [`FlowBuilder::send`].
///
/// [`after`](FlowBuilder::after), [`any`](FlowBuilder::any), [`quorum`](FlowBuilder::quorum),
/// [`on_failure`](FlowBuilder::on_failure) and [`cancel_rest`](FlowBuilder::cancel_rest) are about the
/// node that was added last.
///
/// ```
/// # use flowfabric::prelude::*;
/// # async fn example(ff: FlowFabric) -> Result<(), Error> {
/// let flow = ff
///     .flow()
///     .node("left", ff.task("count", "some words"))
///     .node("right", ff.task("count", "more"))
///     .node("sum", ff.task("sum", &())).after(["left", "right"])
///     .send()
///     .await?;
/// let sum: u32 = flow.result("sum").await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is submitted before `send()`"]
pub struct FlowBuilder {
    flowfabric: FlowFabric,
    /// The flow, or the first error.
    flow: Result<FlowSubmission, Error>,
}

impl FlowBuilder {
    pub(crate) fn new(flowfabric: FlowFabric) -> FlowBuilder {
        let id = flowfabric.backend.new_id(&flowfabric.namespace, None);
        let namespace = flowfabric.namespace.clone();
        let flow = Ok(FlowSubmission { namespace, ..FlowSubmission::new(id, Vec::new()) });
        FlowBuilder { flowfabric, flow }
    }

    /// Adds a node: a task under a name that is unique in the flow.
    pub fn node(self, name: &str, task: TaskBuilder) -> FlowBuilder {
        self.try_with(|flow| {
            flow.nodes.push(NodeSpec {
                name: NodeName::new(name)?,
                work: task.checked()?.1,
                after: Vec::new(),
                join: Join::All,
                on_failure: OnFailure::Skip,
                rest: Rest::Finish,
            });
            Ok(())
        })
    }

    /// The nodes that the last one depends on. By default it runs when all of them have completed. It may
    /// be called again for more.
    pub fn after<N: AsRef<str>>(self, nodes: impl IntoIterator<Item = N>) -> FlowBuilder {
        self.last(|last| {
            for name in nodes {
                last.after.push(NodeName::new(name.as_ref())?);
            }
            Ok(())
        })
    }

    /// The last node runs when any of those that it depends on has completed.
    pub fn any(self) -> FlowBuilder {
        self.last(|last| {
            last.join = Join::Any;
            Ok(())
        })
    }

    /// The last node runs when so many of those that it depends on have completed.
    pub fn quorum(self, count: u32) -> FlowBuilder {
        self.last(|last| {
            last.join = Join::Quorum(count);
            Ok(())
        })
    }

    /// What the last node does when too many of those that it depends on do not complete; by default it is
    /// skipped.
    pub fn on_failure(self, on_failure: OnFailure) -> FlowBuilder {
        self.last(|last| {
            last.on_failure = on_failure;
            Ok(())
        })
    }

    /// When the last node can run, the rest of those that it depends on is cancelled, unless another node
    /// needs it.
    pub fn cancel_rest(self) -> FlowBuilder {
        self.last(|last| {
            last.rest = Rest::Cancel;
            Ok(())
        })
    }

    /// The caller's key for the flow: the same key with the same flow is the same flow.
    pub fn key(self, key: &str) -> FlowBuilder {
        let (backend, namespace) =
            (self.flowfabric.backend.clone(), self.flowfabric.namespace.clone());
        self.try_with(|flow| {
            let key = IdempotencyKey::new(key)?;
            flow.id = backend.new_id(&namespace, Some(&key));
            flow.key = Some(key);
            Ok(())
        })
    }

    /// A label of the flow and of all its nodes.
    pub fn tag(self, key: &str, value: &str) -> FlowBuilder {
        self.try_with(|flow| {
            flow.tags.insert(TagKey::new(key)?, TagValue::new(value)?);
            Ok(())
        })
    }

    /// A budget that the usage of all its nodes is charged to.
    pub fn budget(self, name: &str) -> FlowBuilder {
        self.try_with(|flow| {
            flow.limits.budgets.insert(ResourceName::new(name)?);
            Ok(())
        })
    }

    /// A quota that must admit each of its nodes.
    pub fn quota(self, name: &str) -> FlowBuilder {
        self.try_with(|flow| {
            flow.limits.quotas.insert(ResourceName::new(name)?);
            Ok(())
        })
    }

    /// How long it may take in total; by default without limit.
    pub fn deadline(self, span: Duration) -> FlowBuilder {
        self.try_with(|flow| {
            flow.deadline = Some(millis(span));
            Ok(())
        })
    }

    /// How long it and its nodes stay readable after its end; by default 7 days.
    pub fn retention(self, span: Duration) -> FlowBuilder {
        self.try_with(|flow| {
            flow.retention = Some(millis(span));
            Ok(())
        })
    }

    /// Checks the flow and submits it as a whole: all of it is accepted, or nothing. After a lost reply it
    /// is repeated with the same id, so the flow is created once.
    pub async fn send(self) -> Result<FlowHandle, Error> {
        let flow = self.flow?;
        let submitted = self.flowfabric.client().submit_flow(&flow).await?;
        Ok(FlowHandle::new(self.flowfabric, submitted.flow))
    }

    fn last(self, change: impl FnOnce(&mut NodeSpec) -> Result<(), Error>) -> FlowBuilder {
        self.try_with(|flow| match flow.nodes.last_mut() {
            Some(last) => change(last),
            None => Err(Refusal::invalid("nodes", "is empty; add a node first").into()),
        })
    }

    fn try_with(
        mut self,
        change: impl FnOnce(&mut FlowSubmission) -> Result<(), Error>,
    ) -> FlowBuilder {
        self.flow = self.flow.and_then(|mut flow| change(&mut flow).map(|()| flow));
        self
    }
}

impl std::fmt::Debug for FlowBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FlowBuilder").field("flow", &self.flow).finish_non_exhaustive()
    }
}

/// A flow that was submitted. Dropping it does not affect the flow.
#[derive(Clone)]
pub struct FlowHandle {
    flowfabric: FlowFabric,
    id: ExecutionId,
}

impl FlowHandle {
    pub(crate) fn new(flowfabric: FlowFabric, id: ExecutionId) -> FlowHandle {
        FlowHandle { flowfabric, id }
    }

    /// Its id. Keep it to find the flow again with [`FlowFabric::flow_handle`].
    pub fn id(&self) -> ExecutionId {
        self.id
    }

    /// Its state, in a word.
    pub async fn state(&self) -> Result<PublicState, Error> {
        Ok(self.flowfabric.client().describe(self.id).await?.public_state())
    }

    /// Waits until it has ended, and answers how.
    pub async fn ended(&self) -> Result<PublicState, Error> {
        let client = self.flowfabric.client();
        match client.wait_payload(self.id).await {
            Ok(_) => Ok(PublicState::Completed),
            Err(Error::Ended { state, .. }) => Ok(state),
            Err(error) => Err(error),
        }
    }

    /// The flow with all its nodes and what they have come to.
    pub async fn show(&self) -> Result<FlowPage, Error> {
        self.flowfabric.client().flow(self.id).await
    }

    /// A node of it, by its name.
    pub async fn node(&self, name: &str) -> Result<TaskHandle, Error> {
        let found = self.show().await?.members.into_iter().find(|it| it.name.as_str() == name);
        let node = found.ok_or(Refusal::NoSuch { what: "node" })?;
        Ok(TaskHandle::new(self.flowfabric.clone(), member_id(self.id, node.node)))
    }

    /// Waits until a node has ended, and decodes its result. One that ends without a result is an
    /// [`Error::Ended`], which says why.
    pub async fn result<R: FromPayload>(&self, node: &str) -> Result<R, Error> {
        self.node(node).await?.result().await
    }

    /// Runs again what did not complete, once it has ended. What has completed keeps its result.
    pub async fn replay(&self) -> Result<(), Error> {
        self.flowfabric.client().replay_flow(self.id).await.map(drop)
    }

    /// Cancels it: once this returns, no worker gets a node of it. `held` says what becomes of nodes that
    /// run. Answers how many have not ended.
    pub async fn cancel(&self, held: HeldMembers) -> Result<u64, Error> {
        Ok(self.flowfabric.client().cancel_flow(self.id, held).await?.left)
    }
}

impl std::fmt::Debug for FlowHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FlowHandle").field("id", &self.id).finish_non_exhaustive()
    }
}
