//! Flows: submit graphs and read them; the results of upstreams, as a handler reads them.

use std::time::Duration;

use ff_core::bounds::FLOW_SLICE;
use ff_core::flow::HeldMembers;
use ff_core::graph::FlowSubmission;
use ff_core::machine::{CancelFlow, FlowPage, FlowSubmitted};
use ff_core::{ExecutionId, NodeName, Refusal};
use ff_store::StoreError;
use ff_store::retry::{Backoff, repeated};
use ff_store::roles::FlowCancelled;

use crate::client::{Client, TRIES};
use crate::context::{Reports, TaskContext};
use crate::error::SdkError;
use crate::payload::FromPayload;

impl Client {
    /// Submits a graph as a whole. A lost reply is repeated with the same id, so it is made once.
    pub async fn submit_flow(&self, flow: &FlowSubmission) -> Result<FlowSubmitted, SdkError> {
        let mut tries = 1;
        let again = |error: &StoreError, _| {
            tries += 1;
            error.is_retryable() && tries <= TRIES
        };
        let backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(1));
        Ok(repeated(backoff, again, |_| self.backend().submit_flow(flow.clone())).await?)
    }

    /// A flow with all its members.
    pub async fn flow(&self, flow: ExecutionId) -> Result<FlowPage, SdkError> {
        let target = self.target(flow);
        let mut whole = self.backend().flow(&target, 0, FLOW_SLICE).await?;
        while let Some(next) = whole.next {
            let page = self.backend().flow(&target, next, FLOW_SLICE).await?;
            whole = FlowPage { members: [whole.members, page.members].concat(), ..page };
        }
        Ok(whole)
    }

    /// Runs again what did not complete of a flow that has ended, and answers the number of its new run.
    pub async fn replay_flow(&self, flow: ExecutionId) -> Result<u32, SdkError> {
        let target = self.target(flow);
        let run = self.backend().describe(&target).await?.run.number;
        Ok(self.backend().replay_flow(&target, run).await?)
    }

    /// Cancels a flow. Once this returns, none of its members is claimed; the answer says which have not
    /// ended.
    pub async fn cancel_flow(
        &self,
        flow: ExecutionId,
        held: HeldMembers,
    ) -> Result<FlowCancelled, SdkError> {
        let cancel = CancelFlow { target: self.target(flow), held, reason: None };
        Ok(self.backend().cancel_flow(cancel).await?)
    }
}

impl TaskContext {
    /// The flow that the task is a node of.
    pub fn flow(&self) -> Option<ExecutionId> {
        self.assignment().member.as_ref().map(|(flow, _)| *flow)
    }

    /// The name of the task among the nodes of its flow.
    pub fn node(&self) -> Option<&str> {
        self.assignment().member.as_ref().map(|(_, node)| node.as_str())
    }

    /// The result of a node that this one depends on, by its name. One that did not complete has none.
    ///
    /// ```
    /// use ff_sdk::{TaskContext, TaskError, TestTask};
    ///
    /// async fn sum(task: TaskContext, (): ()) -> Result<u32, TaskError> {
    ///     Ok(task.upstream::<u32>("left").await? + task.upstream::<u32>("right").await?)
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let task = TestTask::new().upstream("left", &1).upstream("right", &2);
    /// assert_eq!(task.run::<u32, _>(sum, &()).await.unwrap(), 3);
    /// # }
    /// ```
    pub async fn upstream<T: FromPayload>(&self, node: &str) -> Result<T, SdkError> {
        let payload = match &self.reports {
            Reports::Sent(reporter) => reporter.upstream(&NodeName::new(node)?).await?,
            Reports::Recorded(recorder) => {
                let known = recorder.upstream(node);
                known.ok_or(Refusal::NoSuch { what: "upstream node" })?
            }
        };
        Ok(T::from_payload(&payload)?)
    }
}
