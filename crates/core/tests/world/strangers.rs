//! What is not yours: another tenant's execution, another worker's grant.

use ff_core::machine::{
    Action, Cancel, ClaimGranted, Command, Delete, Replay, Revoke, SetPriority, SetTags, Target,
};
use ff_core::record::Tags;
use ff_core::state::{Grant, State};
use ff_core::{Execution, Fence, LeaseId, Namespace, Refusal, RequestId, timer};

use super::invariants::holder_calls;
use super::{World, make};

/// From another namespace, an execution is not found, whatever is asked of it.
pub(crate) fn another_tenant_finds_nothing(world: &World) {
    for record in world.moved.iter().filter_map(|moved| moved.after.as_ref()) {
        let namespace = Namespace::new("stranger").unwrap();
        let mut foreign = record.clone();
        foreign.spec.namespace = namespace.clone();
        let lease = LeaseId { request: RequestId::new(1), index: 0 };
        let fence = record.fence().unwrap_or(Fence { lease, epoch: record.epoch, attempt: 0 });
        let target = Target { namespace, execution: record.id };
        let calls = operator_calls(record, &target, fence).into_iter();
        for command in calls.chain(holder_calls(&foreign, fence)) {
            assert_eq!(world.decide(&command), Err(Refusal::NotFound), "to {command:?}");
        }
    }
}

fn operator_calls(record: &Execution, target: &Target, fence: Fence) -> [Command; 7] {
    let target = || target.clone();
    let (request, worker) = (fence.lease.request, make::worker("a"));
    [
        Action::from(Cancel { target: target(), grace: None, reason: None }),
        Replay { target: target(), run: record.run.number }.into(),
        Delete { target: target() }.into(),
        Revoke { target: target(), lease: fence.lease }.into(),
        SetPriority { target: target(), priority: 9 }.into(),
        SetTags { target: target(), set: Tags::new(), remove: Vec::new() }.into(),
        ClaimGranted { target: target(), request, worker }.into(),
    ]
    .map(|action| Command { entropy: 0, action })
}

/// A grant is claimed by the worker it names, by its name, until it ends.
pub(crate) fn a_grant_serves_one_worker_until_it_ends(world: &World) {
    for record in world.moved.iter().filter_map(|moved| moved.after.as_ref()) {
        let State::Granted { grant, .. } = &record.state else {
            continue;
        };
        let due = timer::due(record, world.now).is_some();
        let answer = |grant: &Grant, now| world.decide_at(now, &claim_of(record, grant));
        assert_eq!(answer(grant, world.now).is_ok(), !due, "to the worker it is for");
        let end = grant.until.max(world.now);
        let other_worker = Grant { to: make::worker("stranger"), ..grant.clone() };
        let other_request = Grant { request: RequestId::new(1), ..grant.clone() };
        let misused = if due { Refusal::StaleGrant } else { Refusal::WrongWorker };
        assert_eq!(answer(&other_worker, world.now), Err(misused));
        for stale in [answer(grant, end), answer(&other_request, world.now)] {
            assert_eq!(stale, Err(Refusal::StaleGrant));
        }
    }
}

fn claim_of(record: &Execution, grant: &Grant) -> Command {
    let namespace = record.spec.namespace.clone();
    let target = Target { namespace, execution: record.id };
    let claim = ClaimGranted { target, request: grant.request, worker: grant.to.clone() };
    Command { entropy: 0, action: claim.into() }
}
