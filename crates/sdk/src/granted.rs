//! Claiming what a scheduler has chosen: the work is reserved first, then taken.
//!
//! A permit is taken before anything else, so a worker that is busy leaves a grant to its time.

use std::future::Future;
use std::time::Duration;

use ff_core::machine::{Admissions, ClaimGranted, GrantNext, GrantOffer, Target};
use ff_core::{Code, Lane, Millis};
use ff_scheduler::ReclaimGrant;
use ff_store::{StoreError, mint};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::error::SdkError;
use crate::retry::Backoff;
use crate::task::ClaimedTask;
use crate::worker::{FlowFabricWorker, name};

/// How long a call is repeated.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often one lane is asked because work has moved on.
const ROUNDS: usize = 8;

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
                return self.claim_granted(grant, permit).await;
            }
        }
        Ok(None)
    }

    /// Turns a grant into a task; `None` when its time is over or it was used. One that was made for
    /// another worker is refused with [`Code::WrongWorker`] and stays as it is. Without a free permit it answers [`SdkError::WorkerAtCapacity`] and leaves the grant untouched.
    pub async fn claim_from_grant(
        &self,
        grant: impl Into<GrantOffer>,
    ) -> Result<Option<ClaimedTask>, SdkError> {
        let permit = self.permit()?;
        self.claim_granted(grant.into(), permit).await
    }

    /// The same for a grant of what its last holder has lost: a new attempt.
    pub async fn claim_from_reclaim_grant(
        &self,
        grant: &ReclaimGrant,
    ) -> Result<Option<ClaimedTask>, SdkError> {
        self.claim_from_grant(grant.grant()).await
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
        for _ in 0..ROUNDS {
            // What a call reserved whose reply was lost is found by its request.
            let ask = |retry| self.backend().grant(GrantNext { retry, ..grant.clone() });
            let granted = repeated(ask).await?;
            if granted.offer.is_some() || !granted.again {
                return Ok(granted.offer);
            }
        }
        Ok(None)
    }

    async fn claim_granted(
        &self,
        grant: GrantOffer,
        permit: OwnedSemaphorePermit,
    ) -> Result<Option<ClaimedTask>, SdkError> {
        let namespace = self.config().namespace.clone();
        let target = Target { namespace, execution: grant.execution };
        let worker = name(self.config());
        let claim = ClaimGranted { target, request: grant.request, worker };
        // Repeated, it finds the lease that it took.
        let claimed = repeated(|_| self.backend().claim_granted(claim.clone())).await;
        match claimed {
            Ok(claimed) => {
                let first = claimed.assignments.into_iter().next();
                Ok(first.map(|assignment| self.task(assignment, permit)))
            }
            Err(error) if error.refused() == Some(Code::StaleGrant) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Repeats a call that may succeed later, for a bounded time. It is told whether it is repeated.
async fn repeated<T, F>(call: impl Fn(bool) -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let ends = Instant::now() + PATIENCE;
    let mut backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(1));
    let mut answer = call(false).await;
    while answer.as_ref().is_err_and(StoreError::is_retryable) && Instant::now() < ends {
        backoff.wait().await;
        answer = call(true).await;
    }
    answer
}
