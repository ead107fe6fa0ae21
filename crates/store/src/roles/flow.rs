//! What producers, operators and workers do with flows.

use async_trait::async_trait;
use ff_core::bounds::{FLOW_SLICE, RUNS};
use ff_core::flow::member_id;
use ff_core::graph::FlowSubmission;
use ff_core::machine::{
    CancelFlow, Cancelled, FlowPage, FlowSubmitted, LeaseRef, NewChild, ReadFlow, ReadUpstream,
    ReopenMembers, ReplayFlow, Reply, Spawn, Spawned, Target, WaitChildren,
};
use ff_core::record::Exited;
use ff_core::reopen::reopened;
use ff_core::{ExecutionId, Full, Millis, NodeName, Payload, PublicState, Refusal};

use super::{Engine, only, unexpected};
use crate::ends;
use crate::error::StoreError;
use crate::store::Store;

/// How long a cancel waits for the members to end, so that mostly it can say that they have.
const CANCEL_WAIT: Millis = Millis::new(250);

/// Most members that the answer to a cancel names.
pub const PENDING: usize = 100;

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

    /// Cancels a flow. When it is answered, none of its members is claimed any more. The answer says
    /// which members have not ended; the engine ends them, whoever asks.
    async fn cancel_flow(&self, cancel: CancelFlow) -> Result<FlowCancelled, StoreError>;

    /// Runs again what did not complete of a flow that has ended, and answers the number of its new run.
    /// What has completed keeps its result. `run` is the one that has ended: the same call again begins no
    /// second one, and finishes what an earlier one has left.
    async fn replay_flow(&self, target: &Target, run: u32) -> Result<u32, StoreError>;
}

/// What members of flows do.
#[async_trait]
pub trait MemberBackend: Send + Sync {
    /// The result of an upstream of a member, by its name.
    async fn upstream(&self, target: &Target, upstream: &NodeName) -> Result<Payload, StoreError>;

    /// Adds children to what is held, at most [`FLOW_SLICE`]. The same name again is the same child.
    async fn spawn(&self, hold: LeaseRef, children: Vec<NewChild>) -> Result<Spawned, StoreError>;

    /// Parks an execution until children of it have ended, and answers how the lease ended; `None` if
    /// enough have ended already and the holder keeps it.
    async fn wait_children(&self, wait: WaitChildren) -> Result<Option<Exited>, StoreError>;

    /// The children of an execution from number `from` on, at most `limit` and at most [`FLOW_SLICE`].
    async fn children(
        &self,
        target: &Target,
        from: u32,
        limit: usize,
    ) -> Result<FlowPage, StoreError>;
}

/// What a cancel of a flow has come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowCancelled {
    /// How many members have not ended.
    pub left: u64,
    /// Some of them: the first [`PENDING`].
    pub pending: Vec<PendingMember>,
}

/// A member of a flow that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingMember {
    /// Its name among the nodes.
    pub name: NodeName,
    /// The execution.
    pub execution: ExecutionId,
    /// What it is doing.
    pub state: PublicState,
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

    async fn cancel_flow(&self, cancel: CancelFlow) -> Result<FlowCancelled, StoreError> {
        let target = cancel.target.clone();
        match self.one(cancel).await? {
            Reply::Cancelled(Cancelled::Finished) => return Ok(FlowCancelled::default()),
            Reply::Cancelled(Cancelled::Cancelling { .. }) => {}
            other => return Err(unexpected(&other)),
        }
        let record = ends::end(&**self.store(), &target, CANCEL_WAIT).await?;
        match record.outcome() {
            Some(_) => Ok(FlowCancelled::default()),
            None => self.pending(&target).await,
        }
    }

    async fn replay_flow(&self, target: &Target, run: u32) -> Result<u32, StoreError> {
        let (engine, target) = (self.clone(), target.clone());
        self.0.call(async move { engine.replay_slices(&target, run).await }).await
    }
}

#[async_trait]
impl<S: Store + ?Sized> MemberBackend for Engine<S> {
    async fn upstream(&self, target: &Target, upstream: &NodeName) -> Result<Payload, StoreError> {
        let read = ReadUpstream { target: target.clone(), upstream: upstream.clone() };
        self.one(read).await.and_then(only!(Payload))
    }

    async fn spawn(&self, hold: LeaseRef, children: Vec<NewChild>) -> Result<Spawned, StoreError> {
        let partition = hold.target.execution.partition().among(self.store().partitions());
        self.one(Spawn { hold, partition, children }).await.and_then(only!(Spawned))
    }

    async fn wait_children(&self, wait: WaitChildren) -> Result<Option<Exited>, StoreError> {
        let waits = self.one(wait).await.and_then(only!(Suspended))?;
        Ok(waits.exited)
    }

    async fn children(
        &self,
        target: &Target,
        from: u32,
        limit: usize,
    ) -> Result<FlowPage, StoreError> {
        self.flow(target, from, limit).await
    }
}

impl<S: Store + ?Sized> Engine<S> {
    async fn replay_slices(&self, target: &Target, run: u32) -> Result<u32, StoreError> {
        let before = self.whole(target).await?;
        let again = reopened(&before.members);
        if before.flow.run.number == run && before.flow.outcome().is_some() {
            if again.is_empty() {
                let why =
                    "is of a flow whose final nodes have all completed; nothing is to be replayed";
                return Err(Refusal::invalid("id", why).into());
            }
            if again.iter().any(|member| member.run + 1 >= RUNS) {
                return Err(Refusal::LimitReached { what: Full::Runs { most: RUNS } }.into());
            }
        }
        let begun = self.one(ReplayFlow { target: target.clone(), run }).await?;
        let run = only!(Replayed)(begun)?;
        // From here on nothing changes its members but this.
        let again = reopened(&self.whole(target).await?.members);
        let mut slices = again.chunks(FLOW_SLICE).peekable();
        loop {
            let members = slices.next().unwrap_or_default().to_vec();
            let is_last = slices.peek().is_none();
            let reopen = ReopenMembers { target: target.clone(), run, members, is_last };
            self.one(reopen).await.and_then(only!(Replayed))?;
            if is_last {
                return Ok(run);
            }
        }
    }

    /// A flow with all its members.
    async fn whole(&self, target: &Target) -> Result<FlowPage, StoreError> {
        let mut whole = self.flow(target, 0, FLOW_SLICE).await?;
        while let Some(next) = whole.next {
            let page = self.flow(target, next, FLOW_SLICE).await?;
            whole.members.extend(page.members);
            whole.next = page.next;
        }
        Ok(whole)
    }

    /// The members of a flow that have not ended.
    async fn pending(&self, target: &Target) -> Result<FlowCancelled, StoreError> {
        let mut cancelled = FlowCancelled::default();
        let mut from = Some(0);
        while let Some(number) = from {
            let page = self.flow(target, number, FLOW_SLICE).await?;
            cancelled.left = page.counts.left;
            let members = page.members.into_iter().filter_map(|member| {
                let execution = member.execution.filter(|it| it.outcome().is_none())?;
                let state = execution.public_state();
                Some(PendingMember { name: member.name, execution: execution.id, state })
            });
            let room = PENDING - cancelled.pending.len();
            cancelled.pending.extend(members.take(room));
            from = page.next.filter(|_| cancelled.pending.len() < PENDING);
        }
        Ok(cancelled)
    }

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
