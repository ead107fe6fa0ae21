//! Claims: what was claimed for a caller that was dropped before the answer is handed back.
//!
//! Closing the connection tells the server, but an answer may already be in flight. So the claim
//! is repeated a little later, as after a lost reply, and the leases it names are handed back.

use std::time::Duration;

use ff_core::Millis;
use ff_core::machine::{ClaimRequest, Claimed};
use ff_store::{StoreError, WorkerBackend};
use tokio::runtime::Handle;

use super::answers::claimed;
use super::transport::HttpClient;

/// How long the close of the connection may take to reach the server. A claim that still waits there
/// could take work after it was repeated.
const HEAD_START: Duration = Duration::from_millis(100);

impl HttpClient {
    /// Claims; if the caller is dropped meanwhile, what was claimed is handed back.
    pub(super) async fn claim_for_caller(
        &self,
        claim: ClaimRequest,
        wait: Millis,
    ) -> Result<Claimed, StoreError> {
        let mut under_way = UnderWay { client: self.clone(), claim: Some(claim.clone()) };
        let answer = self.send_claim(&claim, wait).await;
        under_way.claim = None;
        answer
    }

    async fn send_claim(&self, claim: &ClaimRequest, wait: Millis) -> Result<Claimed, StoreError> {
        let path = format!("/v1/workers/{}/claim?namespace={}", claim.worker.id, claim.namespace);
        let body = crate::http::ClaimRequest::new(claim, wait);
        let taken = claimed(self.post(&path, &body, Duration::from_millis(wait.get())).await?)?;
        if !taken.assignments.is_empty() {
            self.workers.remember(claim.request, &claim.worker.id);
        }
        Ok(taken)
    }

    async fn give_up(self, claim: ClaimRequest) {
        tokio::time::sleep(HEAD_START).await;
        let again = ClaimRequest { retry: true, ..claim };
        // Without an answer here, the lease expires.
        let Ok(taken) = self.send_claim(&again, Millis::ZERO).await else { return };
        if !taken.assignments.is_empty() {
            let holds = taken.assignments.iter().map(|assignment| assignment.hold());
            let _ = self.hand_back(holds.collect()).await;
        }
    }
}

/// A claim that was sent and not yet answered.
struct UnderWay {
    client: HttpClient,
    claim: Option<ClaimRequest>,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if let (Some(claim), Ok(runtime)) = (self.claim.take(), Handle::try_current()) {
            runtime.spawn(self.client.clone().give_up(claim));
        }
    }
}
