//! Suspension and signals, over HTTP.

use std::time::Duration;

use async_trait::async_trait;
use ff_core::Refusal;
use ff_core::machine::{
    CloseWaitpoint, OpenWaitpoint, Resume, Signal, Signalled, Suspend, Target, WaitpointRef,
};
use ff_core::signal::ReceivedSignal;
use ff_core::suspension::Waitpoint;
use ff_store::roles::{OpenedWaitpoint, Parked};
use ff_store::{SignalBackend, StoreError, SuspendBackend};

use super::answers::{exited, understood};
use super::transport::{HttpClient, broken};
use crate::http::{
    CloseWaitpointRequest, OpenWaitpointRequest, OpenedView, ResumeRequest, SignalRequest,
    SuspendRequest, SuspendedView,
};
use crate::{ResumedView, SignalView, SignalledView, SignalsView, WaitpointView, WaitpointsView};

#[async_trait]
impl SuspendBackend for HttpClient {
    async fn open_waitpoint(&self, open: OpenWaitpoint) -> Result<OpenedWaitpoint, StoreError> {
        let body = OpenWaitpointRequest::from(&open);
        let view: OpenedView = self.steer(&open.hold.target, "/waitpoints", &body).await?;
        understood(view.opened())
    }

    async fn close_waitpoint(&self, close: CloseWaitpoint) -> Result<(), StoreError> {
        let path =
            HttpClient::execution(&close.hold.target, &format!("/waitpoints/{}/close", close.key));
        let body = CloseWaitpointRequest { fence: close.hold.fence.into() };
        self.post::<()>(&path, &body, Duration::ZERO).await.map(drop)
    }

    async fn suspend(&self, suspend: Suspend) -> Result<Parked, StoreError> {
        let body = SuspendRequest::from(&suspend);
        let view: SuspendedView = self.steer(&suspend.hold.target, "/suspend", &body).await?;
        let waitpoints = view.waitpoints.into_iter().map(OpenedView::opened);
        Ok(Parked {
            exited: view.exit.as_ref().map(exited).transpose()?,
            waitpoints: understood(waitpoints.collect())?,
        })
    }

    async fn received(
        &self,
        target: &Target,
        from: u64,
        limit: usize,
    ) -> Result<Vec<ReceivedSignal>, StoreError> {
        self.signals(target, from, limit).await
    }
}

#[async_trait]
impl SignalBackend for HttpClient {
    /// The server knows the source by the credential of this client.
    async fn signal(&self, signal: Signal) -> Result<Signalled, StoreError> {
        let WaitpointRef::ByKey(key) = &signal.waitpoint else {
            let why =
                "is named by its id; a server takes its key, or the token that was signed for it";
            return Err(Refusal::invalid("waitpoint", why).into());
        };
        let body = SignalRequest::new(key.clone(), &signal);
        let view: SignalledView = self.steer(&signal.target, "/signals", &body).await?;
        Ok(view.signalled())
    }

    async fn resume(&self, resume: Resume) -> Result<bool, StoreError> {
        let body = ResumeRequest {};
        let view: ResumedView = self.steer(&resume.target, "/resume", &body).await?;
        Ok(view.resumed)
    }

    async fn waitpoints(&self, target: &Target) -> Result<Vec<Waitpoint>, StoreError> {
        let path = HttpClient::execution(target, "/waitpoints");
        let view: WaitpointsView = self.get(&path).await?;
        understood(view.waitpoints.into_iter().map(WaitpointView::waitpoint).collect())
    }

    async fn signals(
        &self,
        target: &Target,
        from: u64,
        limit: usize,
    ) -> Result<Vec<ReceivedSignal>, StoreError> {
        let path = HttpClient::execution(target, "/signals");
        let page: SignalsView = self.get(&format!("{path}&cursor={from}&limit={limit}")).await?;
        let signals = page.signals.into_iter().map(SignalView::received);
        signals.collect::<Result<_, _>>().map_err(|refusal: Refusal| broken(&refusal.to_string()))
    }
}
