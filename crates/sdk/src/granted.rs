//! Claiming what a scheduler has chosen: the work is reserved first, then claimed.
//!
//! A permit is taken first, so a worker that is busy leaves a grant untouched.

use ff_core::machine::{Admissions, ClaimGranted, GrantNext, GrantOffer, Target};
use ff_core::{Code, Lane, Millis};
use ff_store::mint;
use ff_store::retry::repeated;
use tokio::sync::OwnedSemaphorePermit;

use crate::error::SdkError;
use crate::task::ClaimedTask;
use crate::worker::{FlowFabricWorker, name, pauses, while_waited_for};

impl FlowFabricWorker {
    /// Lets the server choose: requests a grant that lasts `ttl` and claims it at once. With a lane,
    /// only that one is tried; without one, each lane of the worker, beginning with the next in turn,
    /// until one of them has work. It does not wait for work. Without a free permit it answers
    /// [`SdkError::WorkerAtCapacity`] and sends nothing.
    pub async fn claim_via_server(
        &self,
        lane: Option<&Lane>,
        ttl: Millis,
    ) -> Result<Option<ClaimedTask>, SdkError> {
        let permit = self.permit()?;
        let lanes: Vec<_> = match lane {
            Some(lane) => vec![lane],
            None => self.next_turn().into_iter().map(|at| &self.config().lanes[at].lane).collect(),
        };
        for lane in lanes {
            if let Some(grant) = self.grant(lane, ttl).await? {
                return self.claim_granted(&grant, permit).await;
            }
        }
        Ok(None)
    }

    /// Turns a grant into a task; `None` when it has expired or was used. A grant for another worker
    /// is refused with [`Code::WrongWorker`] and stays valid. A grant of an execution whose last
    /// holder lost its lease begins a new attempt. Without a free permit it answers
    /// [`SdkError::WorkerAtCapacity`] and leaves the grant untouched.
    pub async fn claim_from_grant(
        &self,
        grant: &GrantOffer,
    ) -> Result<Option<ClaimedTask>, SdkError> {
        let permit = self.permit()?;
        self.claim_granted(grant, permit).await
    }

    /// Continues an execution after its suspension: turns a grant of it into a task of the same attempt,
    /// under a new fence, whose [signals](ClaimedTask::signals) are there. A resumed execution is in its
    /// old place of its queue, so every way to claim takes it; this one is [`Self::claim_from_grant`]
    /// under the name that it has in the published system.
    pub async fn claim_resumed(&self, grant: &GrantOffer) -> Result<Option<ClaimedTask>, SdkError> {
        self.claim_from_grant(grant).await
    }

    async fn grant(&self, lane: &Lane, ttl: Millis) -> Result<Option<GrantOffer>, SdkError> {
        let config = self.config();
        let grant = GrantNext {
            namespace: config.namespace.clone(),
            lane: lane.clone(),
            worker: name(config),
            capabilities: config.capabilities.clone(),
            request: mint::request_id(),
            ttl,
            retry: false,
            at: None,
            admissions: Admissions::Any,
        };
        let granted = ff_scheduler::reserve(&**self.backend(), grant, while_waited_for()).await?;
        Ok(granted.offer)
    }

    async fn claim_granted(
        &self,
        grant: &GrantOffer,
        permit: OwnedSemaphorePermit,
    ) -> Result<Option<ClaimedTask>, SdkError> {
        let namespace = self.config().namespace.clone();
        let target = Target { namespace, execution: grant.execution };
        let worker = name(self.config());
        let claim = ClaimGranted { target, request: grant.request, worker };
        // Repeated, it finds the lease that it took.
        let call = |_| self.backend().claim_granted(claim.clone());
        match repeated(pauses(), while_waited_for(), call).await {
            Ok(claimed) => {
                let first = claimed.assignments.into_iter().next();
                Ok(first.map(|assignment| self.task(assignment, permit)))
            }
            Err(error) if error.refused() == Some(Code::StaleGrant) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
