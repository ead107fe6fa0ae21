//! Requests of workers and their answers.

use ff_core::id::RequestId;
use ff_core::machine::{
    self, Admissions, ClaimGranted, Claimed, GrantNext, GrantOffer, Granted, Target, Withheld,
};
use ff_core::state::Worker;
use ff_core::{
    Capabilities, ExecutionId, Lane, Millis, Namespace, Refusal, WorkerId, WorkerInstanceId,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::assignment::AssignmentView;
use super::holder::HoldBody;
use super::{schema, strict};
use crate::Timestamp;

/// A claim.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimRequest {
    /// The process that claims.
    #[schema(value_type = schema::Name)]
    pub instance: WorkerInstanceId,
    /// The queue; `default` when absent.
    #[serde(default)]
    #[schema(value_type = schema::Name)]
    pub lane: Lane,
    /// What the worker offers.
    #[serde(default)]
    #[schema(value_type = Vec<schema::Capability>)]
    pub capabilities: Vec<String>,
    /// How many at most; 1 when absent.
    #[serde(default = "one")]
    #[schema(minimum = 1, maximum = 256)]
    pub max: u16,
    /// How long to wait for work, at most 60000; absent means not at all.
    #[serde(default)]
    #[schema(maximum = 60000)]
    pub wait_ms: u64,
    /// The id of this call: a random UUID. The same id is the same call: sent again, it answers
    /// what it took and still holds.
    #[schema(value_type = schema::Call)]
    pub request: String,
    /// `false` says that this is the first send, which saves the store a lookup.
    #[serde(default = "maybe_sent_before")]
    #[schema(default = true)]
    pub retry: bool,
}

fn one() -> u16 {
    1
}

/// Without the field, the call may have been sent before.
fn maybe_sent_before() -> bool {
    true
}

impl ClaimRequest {
    /// The command.
    pub fn command(
        &self,
        namespace: Namespace,
        worker: WorkerId,
    ) -> Result<machine::ClaimRequest, Refusal> {
        Ok(machine::ClaimRequest {
            namespace,
            lane: self.lane.clone(),
            worker: Worker { id: worker, instance: self.instance.clone() },
            capabilities: Capabilities::new(&self.capabilities)?,
            request: self.request.parse()?,
            max: self.max,
            retry: self.retry,
        })
    }

    /// The body of `claim`, waiting up to `wait`.
    pub fn new(claim: &machine::ClaimRequest, wait: Millis) -> ClaimRequest {
        ClaimRequest {
            instance: claim.worker.instance.clone(),
            lane: claim.lane.clone(),
            capabilities: claim.capabilities.tokens().map(str::to_owned).collect(),
            max: claim.max,
            wait_ms: wait.get(),
            request: claim.request.to_string(),
            retry: claim.retry,
        }
    }
}

/// What a claim took.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ClaimedView {
    /// The executions, best first.
    pub assignments: Vec<AssignmentView>,
    /// A second claim at once may take more.
    pub again: bool,
    /// Why nothing was taken although there may be work.
    #[serde(default)]
    #[schema(value_type = Option<schema::Withheld>)]
    pub withheld: Option<Withheld>,
}

impl From<&Claimed> for ClaimedView {
    fn from(claimed: &Claimed) -> ClaimedView {
        ClaimedView {
            assignments: claimed.assignments.iter().map(AssignmentView::from).collect(),
            again: claimed.again,
            withheld: claimed.withheld,
        }
    }
}

impl ClaimedView {
    /// The executions that were claimed.
    pub fn claimed(self) -> Result<Claimed, Refusal> {
        let assignments = self.assignments.into_iter().map(AssignmentView::assignment);
        Ok(Claimed {
            assignments: assignments.collect::<Result<_, _>>()?,
            again: self.again,
            withheld: self.withheld,
            needs_admission: Vec::new(),
        })
    }
}

/// Leases, for a heartbeat or a disconnect.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = LeasesBody)]
pub struct Leases {
    /// The leases: at most 1000.
    #[serde(deserialize_with = "strict::list")]
    #[schema(max_items = 1000)]
    pub leases: Vec<HoldBody>,
}

/// The answers to a heartbeat, in its order.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct HeartbeatView {
    /// One answer per lease.
    pub leases: Vec<BeatView>,
}

/// The answer to one lease of a heartbeat.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct BeatView {
    /// The execution.
    #[schema(value_type = schema::Id)]
    pub execution: ExecutionId,
    /// What became of the lease: `renewed`; `cancelling`, so that the holder is to stop by
    /// `cancel_by`; `cancelled` or `lost`, so that it is to stop; or `unknown`, so that it is to try
    /// again.
    #[schema(value_type = schema::BeatStatus)]
    pub status: BeatStatus,
    /// When it ends unless renewed.
    pub until: Option<Timestamp>,
    /// The holder is asked to stop, and the hold ends then.
    pub cancel_by: Option<Timestamp>,
    /// Why it was not renewed, as a code.
    pub code: Option<String>,
}

ff_core::words!(
    /// What became of a lease.
    BeatStatus {
        /// It continues.
        Renewed = "renewed",
        /// It continues, and the holder is asked to stop by `cancel_by`.
        Cancelling = "cancelling",
        /// The execution was cancelled: stop.
        Cancelled = "cancelled",
        /// The lease has ended: stop.
        Lost = "lost",
        /// The store did not answer: try again.
        Unknown = "unknown",
    }
);

/// A request for a reservation.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantRequest {
    /// The process it is for.
    #[schema(value_type = schema::Name)]
    pub instance: WorkerInstanceId,
    /// The queue; `default` when absent.
    #[serde(default)]
    #[schema(value_type = schema::Name)]
    pub lane: Lane,
    /// What the worker offers.
    #[serde(default)]
    #[schema(value_type = Vec<schema::Capability>)]
    pub capabilities: Vec<String>,
    /// How long it lasts.
    #[schema(minimum = 1, maximum = 300000)]
    pub ttl_ms: u64,
    /// The id of this call: a random UUID. The same id is the same call: sent again, it answers
    /// what it reserved.
    #[schema(value_type = schema::Call)]
    pub request: String,
    /// `false` says that this is the first send, which saves the store a lookup.
    #[serde(default = "maybe_sent_before")]
    #[schema(default = true)]
    pub retry: bool,
}

impl GrantRequest {
    /// The command.
    pub fn command(&self, namespace: Namespace, worker: WorkerId) -> Result<GrantNext, Refusal> {
        Ok(GrantNext {
            namespace,
            lane: self.lane.clone(),
            worker: Worker { id: worker, instance: self.instance.clone() },
            capabilities: Capabilities::new(&self.capabilities)?,
            request: self.request.parse()?,
            ttl: Millis::new(self.ttl_ms),
            retry: self.retry,
            at: None,
            admissions: Admissions::Any,
        })
    }
}

impl From<&GrantNext> for GrantRequest {
    fn from(grant: &GrantNext) -> GrantRequest {
        GrantRequest {
            instance: grant.worker.instance.clone(),
            lane: grant.lane.clone(),
            capabilities: grant.capabilities.tokens().map(str::to_owned).collect(),
            ttl_ms: grant.ttl.get(),
            request: grant.request.to_string(),
            retry: grant.retry,
        }
    }
}

/// What a grant reserved.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct GrantedView {
    /// The reservation, if there was work.
    pub offer: Option<GrantView>,
    /// A second call at once may reserve one.
    pub again: bool,
    /// Why nothing was reserved although there may be work.
    #[serde(default)]
    #[schema(value_type = Option<schema::Withheld>)]
    pub withheld: Option<Withheld>,
}

impl From<&Granted> for GrantedView {
    fn from(granted: &Granted) -> GrantedView {
        GrantedView {
            offer: granted.offer.as_ref().map(GrantView::from),
            again: granted.again,
            withheld: granted.withheld,
        }
    }
}

impl GrantedView {
    /// The answer.
    pub fn granted(self) -> Result<Granted, Refusal> {
        Ok(Granted {
            offer: self.offer.map(GrantView::offer).transpose()?,
            again: self.again,
            withheld: self.withheld,
            needs_admission: None,
        })
    }
}

/// A reservation of one execution for one worker.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct GrantView {
    /// The execution.
    #[schema(value_type = schema::Id)]
    pub execution: ExecutionId,
    /// Its queue.
    #[schema(value_type = String)]
    pub lane: Lane,
    /// What the worker sends to claim it.
    pub request: String,
    /// Until when.
    pub until: Timestamp,
    /// Its last holder has lost it.
    pub reclaim: bool,
}

impl From<&GrantOffer> for GrantView {
    fn from(offer: &GrantOffer) -> GrantView {
        GrantView {
            execution: offer.execution,
            lane: offer.lane.clone(),
            request: offer.request.to_string(),
            until: offer.until.into(),
            reclaim: offer.reclaim,
        }
    }
}

impl GrantView {
    /// The reservation.
    pub fn offer(self) -> Result<GrantOffer, Refusal> {
        let request: RequestId = self.request.parse()?;
        Ok(GrantOffer {
            execution: self.execution,
            lane: self.lane,
            request,
            until: self.until.0,
            reclaim: self.reclaim,
        })
    }
}

/// A claim of a reservation.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimGrantedRequest {
    /// The process it was reserved for.
    #[schema(value_type = schema::Name)]
    pub instance: WorkerInstanceId,
    /// The execution.
    #[schema(value_type = schema::Id)]
    pub execution: ExecutionId,
    /// The request that reserved it.
    #[schema(value_type = schema::Call)]
    pub request: String,
}

impl ClaimGrantedRequest {
    /// The command.
    pub fn command(&self, namespace: Namespace, worker: WorkerId) -> Result<ClaimGranted, Refusal> {
        Ok(ClaimGranted {
            target: Target { namespace, execution: self.execution },
            request: self.request.parse()?,
            worker: Worker { id: worker, instance: self.instance.clone() },
        })
    }
}

impl From<&ClaimGranted> for ClaimGrantedRequest {
    fn from(claim: &ClaimGranted) -> ClaimGrantedRequest {
        ClaimGrantedRequest {
            instance: claim.worker.instance.clone(),
            execution: claim.target.execution,
            request: claim.request.to_string(),
        }
    }
}
