//! Revoking: an operator ends a lease, and only that one.

use ff_core::record::Exited;
use ff_core::state::{Intent, State};
use ff_core::view::OwnershipState;
use ff_core::{Code, PublicState};

use crate::fixture::{Fixture, Refused, holder_calls, ms};

pub(crate) async fn revoked_work_returns_to_its_place(g: Fixture) {
    let first = g.held().await;
    g.advance(ms(1)).await;
    let second = g.waiting().await;
    assert_eq!(g.revoke(first.execution, first.fence).await.unwrap(), Exited::Revoked);
    let record = g.record(first.execution).await;
    assert_eq!(record.state, State::Queued { why: Intent::Revoke });
    assert_eq!(record.state_vector().ownership_state, OwnershipState::LeaseRevoked);
    assert_eq!(g.claimed().await.execution, first.execution);
    assert_eq!(g.claimed().await.execution, second);
}

pub(crate) async fn revoked_work_continues_its_attempt_at_no_cost(g: Fixture) {
    let first = g.held().await;
    g.revoke(first.execution, first.fence).await.unwrap();
    let record = g.record(first.execution).await;
    assert_eq!((record.run.failures, record.run.reclaims), (0, 0));
    let second = g.claimed_by("bob").await;
    assert_eq!((second.fence.attempt, second.fence.epoch), (0, 2));
}

pub(crate) async fn a_revoked_holder_is_refused(g: Fixture) {
    let assignment = g.held().await;
    g.revoke(assignment.execution, assignment.fence).await.unwrap();
    let before = g.snapshot().await;
    for (call, action) in holder_calls(&assignment.hold()) {
        assert_eq!(g.run(action).await.refused(), Code::StaleLease, "{call}");
    }
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn revoking_twice_ends_no_later_lease(g: Fixture) {
    let first = g.held().await;
    g.revoke(first.execution, first.fence).await.unwrap();
    let second = g.claimed_by("bob").await;
    let before = g.snapshot().await;
    assert_eq!(g.revoke(first.execution, first.fence).await.unwrap(), Exited::Revoked);
    g.snapshot().await.assert_same(&before);
    g.complete(&second, "done").await.unwrap();
}

pub(crate) async fn a_lease_that_does_not_hold_cannot_be_revoked(g: Fixture) {
    let old = g.held().await;
    g.pass(old.lease_ttl).await;
    assert_eq!(g.revoke(old.execution, old.fence).await.refused(), Code::StaleLease, "queued");
    let new = g.claimed_by("bob").await;
    assert_eq!(g.revoke(old.execution, old.fence).await.refused(), Code::StaleLease, "held");
    g.complete(&new, "done").await.unwrap();
    let before = g.snapshot().await;
    assert_eq!(g.revoke(new.execution, new.fence).await.refused(), Code::StaleLease, "finished");
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn revoking_within_a_grace_cancels(g: Fixture) {
    let assignment = g.held().await;
    g.cancel(assignment.execution, Some(ms(500))).await.unwrap();
    let answer = g.revoke(assignment.execution, assignment.fence).await.unwrap();
    assert_eq!(answer, Exited::Cancelled);
    assert_eq!(g.state(assignment.execution).await, PublicState::Cancelled);
}

pub(crate) async fn a_lease_after_revoke_cancel_and_replay_can_be_renewed(g: Fixture) {
    let first = g.held().await;
    g.revoke(first.execution, first.fence).await.unwrap();
    g.cancel(first.execution, None).await.unwrap();
    g.replay(first.execution, 0).await.unwrap();
    let last = g.claimed().await;
    g.renew(last.hold()).await.unwrap();
    g.complete(&last, "done").await.unwrap();
}
