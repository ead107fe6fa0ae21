//! Short ways to say what a test needs.

use ff_core::capability::Capabilities;
use ff_core::machine::{
    Admissions, Assignment, Cancel, CancelHeld, ClaimGranted, ClaimRequest, Claimed, Complete,
    Delay, Delete, Fail, GrantNext, GrantOffer, HandBack, LeaseRef, Renew, Replay, Reply,
    ReportProgress, Revoke, Submit, Target,
};
use ff_core::policy::{Backoff, Policy, Retry};
use ff_core::record::Progress;
use ff_core::state::{Failure, Worker};
use ff_core::{
    Category, ExecutionId, Lane, Millis, Namespace, Partition, Payload, RequestId, Time, When,
    WorkerId, WorkerInstanceId,
};

use super::World;

/// The `n`-th execution.
pub(crate) fn id(n: u32) -> ExecutionId {
    ExecutionId::mint(Time::from_ms(1), Partition::ONLY, n, n.into())
}

/// The `n`-th claim or grant call.
pub(crate) fn request(n: u128) -> RequestId {
    RequestId::new(n)
}

pub(crate) fn ms(span: u64) -> Millis {
    Millis::new(span)
}

pub(crate) fn worker(name: &str) -> Worker {
    Worker {
        id: WorkerId::new(name).unwrap(),
        instance: WorkerInstanceId::new(format!("{name}-1")).unwrap(),
    }
}

/// An execution of the default namespace.
pub(crate) fn target(execution: ExecutionId) -> Target {
    Target { namespace: Namespace::default(), execution }
}

/// Short times, two tries without backoff, one lost lease.
pub(crate) fn brief() -> Policy {
    Policy {
        retry: Retry { max_attempts: 2, backoff: Backoff::none(), categories: None },
        attempt_timeout: None,
        deadline: None,
        lease_ttl: ms(100),
        max_reclaims: 1,
        retention: ms(100),
    }
}

pub(crate) fn submit(n: u32, policy: Policy) -> Submit {
    Submit { policy: policy.into(), ..Submit::new(id(n)) }
}

/// A claim of at most one execution of the default lane.
pub(crate) fn claim(by: &str, n: u128) -> ClaimRequest {
    ClaimRequest {
        namespace: Namespace::default(),
        lane: Lane::default(),
        worker: worker(by),
        capabilities: Capabilities::NONE,
        request: request(n),
        max: 1,
        retry: false,
    }
}

pub(crate) fn grant(to: &str, n: u128, ttl: Millis) -> GrantNext {
    GrantNext {
        namespace: Namespace::default(),
        lane: Lane::default(),
        worker: worker(to),
        capabilities: Capabilities::NONE,
        request: request(n),
        ttl,
        retry: false,
        at: None,
        admissions: Admissions::Any,
    }
}

pub(crate) fn claim_granted(execution: ExecutionId, by: &str, n: u128) -> ClaimGranted {
    ClaimGranted { target: target(execution), request: request(n), worker: worker(by) }
}

pub(crate) fn renew(hold: LeaseRef) -> Renew {
    Renew { hold }
}

pub(crate) fn progress(hold: LeaseRef) -> ReportProgress {
    ReportProgress { hold, progress: Progress { percent: Some(50), message: None } }
}

pub(crate) fn complete(hold: LeaseRef, result: &'static str) -> Complete {
    Complete { hold, result: Payload::bytes(result) }
}

pub(crate) fn fail(hold: LeaseRef, retryable: bool) -> Fail {
    let failure = Failure { category: Category::error(), retryable, message: "broke".into() };
    Fail { hold, failure }
}

pub(crate) fn delay(hold: LeaseRef, span: Millis) -> Delay {
    Delay { hold, until: When::After(span) }
}

pub(crate) fn cancel_held(hold: LeaseRef) -> CancelHeld {
    CancelHeld { hold, reason: Some("enough".into()) }
}

pub(crate) fn hand_back(hold: LeaseRef) -> HandBack {
    HandBack { hold }
}

pub(crate) fn cancel(execution: ExecutionId, grace: Option<Millis>) -> Cancel {
    Cancel { target: target(execution), grace, reason: None }
}

/// Takes away the lease named by `hold`.
pub(crate) fn revoke(hold: &LeaseRef) -> Revoke {
    Revoke { target: hold.target.clone(), lease: hold.fence.lease }
}

pub(crate) fn replay(execution: ExecutionId, run: u32) -> Replay {
    Replay { target: target(execution), run }
}

pub(crate) fn delete(execution: ExecutionId) -> Delete {
    Delete { target: target(execution) }
}

impl World {
    /// Submits the `n`-th execution.
    pub(crate) fn submitted(&mut self, n: u32, policy: Policy) -> ExecutionId {
        self.act(submit(n, policy)).unwrap();
        id(n)
    }

    /// Claims the head of the default lane; the call is named by what was claimed so far.
    pub(crate) fn claimed(&mut self, by: &str) -> Assignment {
        let calls: usize = self.fences.values().map(Vec::len).sum();
        let reply = self.act(claim(by, 1_000 + calls as u128)).unwrap();
        assignments(reply).pop().expect("there was work")
    }

    /// Submits the first execution and claims it.
    pub(crate) fn held(policy: Policy) -> (World, Assignment) {
        let mut world = World::new();
        world.submitted(1, policy);
        let assignment = world.claimed("a");
        (world, assignment)
    }

    /// Reserves the head of the default lane.
    pub(crate) fn granted(&mut self, to: &str, n: u128, ttl: Millis) -> GrantOffer {
        match self.act(grant(to, n, ttl)) {
            Ok(Reply::Granted(granted)) => granted.offer.expect("there was work"),
            other => panic!("not granted: {other:?}"),
        }
    }
}

/// What a claim took.
pub(crate) fn assignments(reply: Reply) -> Vec<Assignment> {
    match reply {
        Reply::Claimed(Claimed { assignments, .. }) => assignments,
        other => panic!("not the answer to a claim: {other:?}"),
    }
}
