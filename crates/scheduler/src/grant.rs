//! What a scheduler gives: leave to claim one execution.

use ff_core::machine::GrantOffer;
use ff_core::{ExecutionId, Lane, Partition, RequestId, Time};

/// Leave for one worker to claim one execution, which is out of its queue until then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimGrant {
    /// Which one.
    pub execution: ExecutionId,
    /// Where it lies.
    pub partition: Partition,
    /// Its queue.
    pub lane: Lane,
    /// What the worker shows to claim it.
    pub key: RequestId,
    /// When it returns to its queue.
    pub expires_at: Time,
    /// Its last holder has lost it.
    pub reclaim: bool,
}

impl ClaimGrant {
    pub(crate) fn new(offer: GrantOffer, partitions: u16) -> ClaimGrant {
        ClaimGrant {
            execution: offer.execution,
            partition: offer.execution.partition().among(partitions),
            lane: offer.lane,
            key: offer.request,
            expires_at: offer.until,
            reclaim: offer.reclaim,
        }
    }

    /// The same as leave to claim what its last holder has lost, if that is what it is.
    pub fn into_reclaim(self) -> Option<ReclaimGrant> {
        self.reclaim.then_some(ReclaimGrant(self))
    }
}

/// What a worker claims with.
impl From<&ClaimGrant> for GrantOffer {
    fn from(grant: &ClaimGrant) -> GrantOffer {
        GrantOffer {
            execution: grant.execution,
            lane: grant.lane.clone(),
            request: grant.key,
            until: grant.expires_at,
            reclaim: grant.reclaim,
        }
    }
}

/// Leave to claim an execution that its last holder has lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReclaimGrant(ClaimGrant);

impl ReclaimGrant {
    /// The grant.
    pub fn grant(&self) -> &ClaimGrant {
        &self.0
    }
}
