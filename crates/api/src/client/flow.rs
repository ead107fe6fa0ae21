//! Flows, over HTTP.

use std::time::Duration;

use async_trait::async_trait;
use ff_core::graph::FlowSubmission;
use ff_core::machine::{
    CancelFlow, FlowPage, FlowSubmitted, LeaseRef, NewChild, Spawned, Target, WaitChildren,
};
use ff_core::record::Exited;
use ff_core::{NodeName, Payload};
use ff_store::roles::FlowCancelled;
use ff_store::{FlowBackend, MemberBackend, StoreError};

use super::answers::exited;
use super::transport::{HttpClient, broken};
use crate::http::{
    CancelFlowRequest, FlowRequest, ReplayFlowRequest, SpawnRequest, SpawnedView,
    WaitChildrenRequest, WaitedView,
};
use crate::{FlowCancelledView, FlowSubmittedView, FlowView, ReplayedView};

fn path(target: &Target, call: &str) -> String {
    format!("/v1/flows/{}{call}?namespace={}", target.execution, target.namespace)
}

#[async_trait]
impl FlowBackend for HttpClient {
    async fn submit_flow(&self, flow: FlowSubmission) -> Result<FlowSubmitted, StoreError> {
        let path = format!("/v1/flows?namespace={}", flow.namespace);
        let body = FlowRequest::from(&flow);
        let view: Option<FlowSubmittedView> = self.post(&path, &body, Duration::ZERO).await?;
        Ok(view.ok_or_else(|| broken("no content"))?.into())
    }

    async fn flow(&self, target: &Target, from: u32, limit: usize) -> Result<FlowPage, StoreError> {
        let path = format!("{}&cursor={from}&limit={limit}", path(target, ""));
        let view: FlowView = self.get(&path).await?;
        view.page().map_err(|error| broken(&error.0))
    }

    async fn cancel_flow(&self, cancel: CancelFlow) -> Result<FlowCancelled, StoreError> {
        let body = CancelFlowRequest::from(&cancel);
        let path = path(&cancel.target, "/cancel");
        let view: Option<FlowCancelledView> = self.post(&path, &body, Duration::ZERO).await?;
        Ok(view.ok_or_else(|| broken("no content"))?.into())
    }

    async fn replay_flow(&self, target: &Target, run: u32) -> Result<u32, StoreError> {
        let body = ReplayFlowRequest { run };
        let view: Option<ReplayedView> =
            self.post(&path(target, "/replay"), &body, Duration::ZERO).await?;
        Ok(view.ok_or_else(|| broken("no content"))?.run)
    }
}

#[async_trait]
impl MemberBackend for HttpClient {
    async fn upstream(&self, target: &Target, upstream: &NodeName) -> Result<Payload, StoreError> {
        self.get_payload(&HttpClient::execution(target, &format!("/upstreams/{upstream}"))).await
    }

    async fn spawn(&self, hold: LeaseRef, children: Vec<NewChild>) -> Result<Spawned, StoreError> {
        let body = SpawnRequest::new(&hold, &children);
        let view: SpawnedView = self.steer(&hold.target, "/children", &body).await?;
        Ok(view.into())
    }

    async fn wait_children(&self, wait: WaitChildren) -> Result<Option<Exited>, StoreError> {
        let body = WaitChildrenRequest::from(&wait);
        let view: WaitedView = self.steer(&wait.hold.target, "/wait-children", &body).await?;
        view.exit.as_ref().map(exited).transpose()
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
