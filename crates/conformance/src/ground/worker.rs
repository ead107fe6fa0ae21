//! Words for what workers do.

use ff_core::machine::{
    Admissions, Assignment, CancelHeld, ClaimGranted, ClaimRequest, Claimed, Complete, Delay, Fail,
    GrantNext, GrantOffer, Hold, Renewed, ReportProgress,
};
use ff_core::policy::Policy;
use ff_core::record::{Exited, Progress};
use ff_core::state::{Failure, Worker};
use ff_core::{
    Capabilities, Category, ExecutionId, Fence, Lane, LeaseId, Millis, Payload, RequestId, When,
    WorkerId, WorkerInstanceId,
};
use ff_store::mint;
use ff_store::roles::Answer;

use super::{Ground, ms};

pub(crate) fn worker(name: &str) -> Worker {
    let instance = WorkerInstanceId::new(format!("{name}-1")).unwrap();
    Worker { id: WorkerId::new(name).unwrap(), instance }
}

/// A failure that may be tried again.
pub(crate) fn failure(message: &str) -> Failure {
    Failure { category: Category::error(), retryable: true, message: message.into() }
}

/// A failure that trying again does not help.
pub(crate) fn permanent(message: &str) -> Failure {
    Failure { retryable: false, ..failure(message) }
}

/// Holds that differ from a true one in one part of the fence.
pub(crate) fn forged(hold: &Hold) -> Vec<(&'static str, Hold)> {
    let fence = hold.fence;
    let lease = |request, index| Fence { lease: LeaseId { request, index }, ..fence };
    let forge = |fence| Hold { fence, ..hold.clone() };
    vec![
        ("another request", forge(lease(RequestId::new(99), fence.lease.index))),
        ("another lease", forge(lease(fence.lease.request, fence.lease.index + 1_000))),
        ("a later epoch", forge(Fence { epoch: fence.epoch + 1, ..fence })),
        ("an earlier epoch", forge(Fence { epoch: fence.epoch - 1, ..fence })),
        ("another attempt", forge(Fence { attempt: fence.attempt + 1, ..fence })),
    ]
}

impl Ground {
    /// A claim of one execution by worker `ada`, who offers nothing special.
    pub(crate) fn claim(&self) -> ClaimRequest {
        ClaimRequest {
            namespace: self.namespace.clone(),
            lane: Lane::default(),
            worker: worker("ada"),
            capabilities: Capabilities::NONE,
            request: mint::request_id(),
            max: 1,
            retry: false,
        }
    }

    /// Claims without waiting.
    pub(crate) async fn try_claim(&self, claim: ClaimRequest) -> Answer<Claimed> {
        self.backend().claim(claim, Millis::ZERO).await
    }

    pub(crate) async fn take(&self, claim: ClaimRequest) -> Vec<Assignment> {
        self.try_claim(claim).await.unwrap().assignments
    }

    /// What a claim took, by id: one that others were in the way of answers out of order.
    pub(crate) async fn take_ids(&self, claim: ClaimRequest) -> Vec<ExecutionId> {
        let mut ids: Vec<_> = self.take(claim).await.iter().map(|a| a.execution).collect();
        ids.sort();
        ids
    }

    /// Claims the head of the queue, which must be there.
    pub(crate) async fn claimed(&self) -> Assignment {
        self.take(self.claim()).await.pop().expect("there is work")
    }

    /// Claims the head of the queue for a worker of this name.
    pub(crate) async fn claimed_by(&self, name: &str) -> Assignment {
        let claim = ClaimRequest { worker: worker(name), ..self.claim() };
        self.take(claim).await.pop().expect("there is work")
    }

    /// Whether there is nothing to claim.
    pub(crate) async fn nothing_to_claim(&self) -> bool {
        self.take(self.claim()).await.is_empty()
    }

    /// New work in a worker's hands.
    pub(crate) async fn held(&self) -> Assignment {
        self.held_under(super::steady()).await
    }

    pub(crate) async fn held_under(&self, policy: Policy) -> Assignment {
        let id = self.waiting_under(policy).await;
        let assignment = self.claimed().await;
        assert_eq!(assignment.execution, id, "it is the only work");
        assignment
    }

    /// A grant of five seconds to worker `ada`.
    pub(crate) fn grant(&self) -> GrantNext {
        let ClaimRequest { namespace, lane, worker, capabilities, request, .. } = self.claim();
        let ttl = ms(5_000);
        GrantNext {
            namespace,
            lane,
            worker,
            capabilities,
            request,
            ttl,
            retry: false,
            at: None,
            admissions: Admissions::Any,
        }
    }

    /// Reserves the head of the queue, which must be there.
    pub(crate) async fn granted(&self) -> GrantOffer {
        self.backend().grant(self.grant()).await.unwrap().offer.expect("there is work")
    }

    /// What `ada` sends to use a grant.
    pub(crate) fn use_of(&self, offer: &GrantOffer) -> ClaimGranted {
        let target = self.target(offer.execution);
        ClaimGranted { target, request: offer.request, worker: worker("ada") }
    }

    pub(crate) async fn renew(&self, hold: Hold) -> Answer<Renewed> {
        self.backend().renew(vec![hold]).await?.remove(0)
    }

    pub(crate) async fn progress(&self, of: &Assignment, percent: u8) -> Answer<()> {
        let progress = Progress { percent: Some(percent), message: None };
        self.backend().progress(ReportProgress { hold: of.hold(), progress }).await
    }

    pub(crate) async fn complete(&self, of: &Assignment, result: &'static str) -> Answer<Exited> {
        let result = Payload::bytes(result);
        self.backend().complete(vec![Complete { hold: of.hold(), result }]).await?.remove(0)
    }

    pub(crate) async fn fail(&self, of: &Assignment, failure: Failure) -> Answer<Exited> {
        self.backend().fail(Fail { hold: of.hold(), failure }).await
    }

    pub(crate) async fn delay(&self, of: &Assignment, until: When) -> Answer<Exited> {
        self.backend().delay(Delay { hold: of.hold(), until }).await
    }

    pub(crate) async fn cancel_held(
        &self,
        of: &Assignment,
        reason: Option<&str>,
    ) -> Answer<Exited> {
        let reason = reason.map(Into::into);
        self.backend().cancel_held(CancelHeld { hold: of.hold(), reason }).await
    }

    pub(crate) async fn hand_back(&self, of: &Assignment) -> Answer<Exited> {
        self.backend().hand_back(vec![of.hold()]).await?.remove(0)
    }
}
