//! Claiming what a scheduler has chosen: the work is reserved first, then taken.
//!
//! A permit is taken before anything else, so a worker that is busy leaves a grant to its time.

use ff_core::machine::{Admissions, ClaimGranted, GrantNext, GrantOffer, Target};
use ff_core::{Code, Lane, Millis};
use ff_store::mint;
use ff_store::retry::repeated;
use tokio::sync::OwnedSemaphorePermit;

use crate::error::SdkError;
use crate::task::ClaimedTask;
use crate::worker::{FlowFabricWorker, name, patiently, pauses};

impl FlowFabricWorker {
    /// Lets the server choose: asks for a grant that lasts `ttl` and claims it at once. With a lane,
    /// only that one is asked; without one, each lane of the worker, beginning with the next in turn,
    /// until one of them gives something. It does not wait for work. Without a free permit it answers
    /// [`SdkError::WorkerAtCapacity`] and asks for nothing.
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

    /// Turns a grant into a task; `None` when its time is over or it was used. One that was made for
    /// another worker is refused with [`Code::WrongWorker`] and stays as it is. A grant of what its last
    /// holder has lost begins a new attempt. Without a free permit it answers
    /// [`SdkError::WorkerAtCapacity`] and leaves the grant untouched.
    pub async fn claim_from_grant(
        &self,
        grant: &GrantOffer,
    ) -> Result<Option<ClaimedTask>, SdkError> {
        let permit = self.permit()?;
        self.claim_granted(grant, permit).await
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
        let granted = ff_scheduler::reserve(&**self.backend(), grant, patiently()).await?;
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
        match repeated(pauses(), patiently(), call).await {
            Ok(claimed) => {
                let first = claimed.assignments.into_iter().next();
                Ok(first.map(|assignment| self.task(assignment, permit)))
            }
            Err(error) if error.refused() == Some(Code::StaleGrant) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
