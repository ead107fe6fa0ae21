//! Cancelling: in every state, at once or with a grace.

use ff_core::machine::{Cancel, Cancelled};
use ff_core::record::{EndReason, Exited};
use ff_core::state::Outcome;
use ff_core::timer::DueAction;
use ff_core::{Code, ExecutionId, PublicState, When};

use crate::fixture::{Fixture, Refused, exit_calls, failure, holder_calls, ms};

/// The reason with which an execution was cancelled.
async fn reason(g: &Fixture, id: ExecutionId) -> Option<Box<str>> {
    match g.record(id).await.outcome() {
        Some((Outcome::Cancelled { reason }, _)) => reason.clone(),
        other => panic!("not cancelled: {other:?}"),
    }
}

fn because(g: &Fixture, id: ExecutionId, grace: Option<u64>, why: &str) -> Cancel {
    Cancel { target: g.target(id), grace: grace.map(ms), reason: Some(why.into()) }
}

pub(crate) async fn unfinished_work_is_cancelled_in_every_state(g: Fixture) {
    let granted = g.waiting().await;
    g.granted().await;
    let active = g.held().await.execution;
    let paused = g.held().await;
    g.delay(&paused, When::After(ms(100))).await.unwrap();
    let retrying = g.held().await;
    g.fail(&retrying, failure("broken")).await.unwrap();
    let resumable = g.held().await;
    g.hand_back(&resumable).await.unwrap();
    let waiting = g.waiting().await;
    let delayed = g.delayed(ms(100)).await;
    for id in [
        waiting,
        delayed,
        granted,
        active,
        paused.execution,
        retrying.execution,
        resumable.execution,
    ] {
        assert_eq!(g.cancel(id, None).await.unwrap(), Cancelled::Finished);
        assert_eq!(g.state(id).await, PublicState::Cancelled);
    }
    assert!(g.nothing_to_claim().await);
}

pub(crate) async fn cancelling_ends_a_paused_attempt(g: Fixture) {
    let assignment = g.held().await;
    g.delay(&assignment, When::After(ms(100))).await.unwrap();
    g.cancel(assignment.execution, None).await.unwrap();
    let attempts = g.attempts(assignment.execution).await;
    assert_eq!(attempts[0].end.as_ref().unwrap().reason, EndReason::Cancelled);
}

pub(crate) async fn cancelling_does_not_rewrite_how_an_attempt_ended(g: Fixture) {
    let assignment = g.held().await;
    g.fail(&assignment, failure("broken")).await.unwrap();
    g.cancel(assignment.execution, None).await.unwrap();
    let attempts = g.attempts(assignment.execution).await;
    assert_eq!(attempts[0].end.as_ref().unwrap().reason, EndReason::Failed(failure("broken")));
}

pub(crate) async fn the_holder_of_cancelled_work_learns_of_it(g: Fixture) {
    let assignment = g.held().await;
    g.cancel(assignment.execution, None).await.unwrap();
    let before = g.snapshot().await;
    for (call, action) in holder_calls(&assignment.hold()) {
        assert_eq!(g.run(action).await.refused(), Code::Cancelled, "{call}");
    }
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn an_earlier_holder_of_cancelled_work_is_only_stale(g: Fixture) {
    let old = g.held().await;
    g.pass(old.lease_ttl).await;
    g.claimed_by("bob").await;
    g.cancel(old.execution, None).await.unwrap();
    assert_eq!(g.renew(old.hold()).await.refused(), Code::StaleLease);
}

pub(crate) async fn the_reason_is_kept(g: Fixture) {
    let id = g.waiting().await;
    g.backend().cancel(because(&g, id, None, "not needed")).await.unwrap();
    assert_eq!(reason(&g, id).await.as_deref(), Some("not needed"));
}

pub(crate) async fn cancelling_twice_answers_the_same(g: Fixture) {
    let id = g.waiting().await;
    g.backend().cancel(because(&g, id, None, "first")).await.unwrap();
    let before = g.snapshot().await;
    let again = g.backend().cancel(because(&g, id, Some(100), "second")).await.unwrap();
    assert_eq!(again, Cancelled::Finished);
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn work_that_ended_otherwise_cannot_be_cancelled(g: Fixture) {
    for id in [g.completed().await, g.failed().await, g.expired().await] {
        assert_eq!(g.cancel(id, None).await.refused(), Code::WrongState);
        assert_eq!(g.cancel(id, Some(ms(10))).await.refused(), Code::WrongState);
    }
}

pub(crate) async fn a_grace_leaves_the_holder_time_and_notifies_it(g: Fixture) {
    let assignment = g.held().await;
    let by = g.now().await + ms(500);
    let answer = g.cancel(assignment.execution, Some(ms(500))).await.unwrap();
    assert_eq!(answer, Cancelled::Cancelling { by });
    assert_eq!(g.state(assignment.execution).await, PublicState::Active);
    assert_eq!(g.renew(assignment.hold()).await.unwrap().cancel_by, Some(by));
    g.progress(&assignment, 90).await.unwrap();
}

pub(crate) async fn a_grace_does_not_apply_to_work_without_a_holder(g: Fixture) {
    for id in [g.waiting().await, g.delayed(ms(50)).await] {
        assert_eq!(g.cancel(id, Some(ms(500))).await.unwrap(), Cancelled::Finished);
    }
}

pub(crate) async fn a_holder_can_complete_within_the_grace(g: Fixture) {
    let assignment = g.held().await;
    g.cancel(assignment.execution, Some(ms(500))).await.unwrap();
    g.advance(ms(499)).await;
    assert_eq!(g.complete(&assignment, "done").await.unwrap(), Exited::Completed);
    assert_eq!(g.state(assignment.execution).await, PublicState::Completed);
}

pub(crate) async fn any_other_exit_within_the_grace_cancels(g: Fixture) {
    let exits = exit_calls(&g.held().await.hold()).len();
    for exit in 1..exits {
        let assignment = g.held().await;
        let id = assignment.execution;
        g.backend().cancel(because(&g, id, Some(500), "enough")).await.unwrap();
        let (call, action) = exit_calls(&assignment.hold()).swap_remove(exit);
        g.run(action).await.unwrap();
        assert_eq!(reason(&g, id).await.as_deref(), Some("enough"), "{call}");
    }
}

pub(crate) async fn the_end_of_the_grace_ends_the_hold(g: Fixture) {
    let assignment = g.held().await;
    g.backend().cancel(because(&g, assignment.execution, Some(500), "enough")).await.unwrap();
    g.advance(ms(500)).await;
    assert_eq!(g.complete(&assignment, "late").await.refused(), Code::StaleLease);
    assert_eq!(g.tick(assignment.execution).await.did, Some(DueAction::CancelGrace));
    assert_eq!(reason(&g, assignment.execution).await.as_deref(), Some("enough"));
    assert_eq!(g.renew(assignment.hold()).await.refused(), Code::Cancelled);
}

pub(crate) async fn a_lease_lost_within_the_grace_is_not_reclaimed(g: Fixture) {
    let assignment = g.held().await;
    g.cancel(assignment.execution, Some(ms(60_000))).await.unwrap();
    g.advance(assignment.lease_ttl).await;
    assert_eq!(g.tick(assignment.execution).await.did, Some(DueAction::LeaseExpired));
    assert_eq!(g.state(assignment.execution).await, PublicState::Cancelled);
}

pub(crate) async fn a_second_cancel_never_lengthens_the_grace(g: Fixture) {
    let id = g.held().await.execution;
    let by = g.now().await + ms(500);
    for (grace, expected) in [(500, by), (9_000, by), (400, by - ms(100)), (500, by - ms(100))] {
        let answer = g.cancel(id, Some(ms(grace))).await.unwrap();
        assert_eq!(answer, Cancelled::Cancelling { by: expected }, "{grace}");
    }
}

pub(crate) async fn a_cancel_without_grace_ends_a_grace(g: Fixture) {
    let assignment = g.held().await;
    g.cancel(assignment.execution, Some(ms(500))).await.unwrap();
    assert_eq!(g.cancel(assignment.execution, None).await.unwrap(), Cancelled::Finished);
    assert_eq!(g.renew(assignment.hold()).await.refused(), Code::Cancelled);
}

pub(crate) async fn a_holder_can_cancel_its_own_work(g: Fixture) {
    let assignment = g.held().await;
    let answer = g.cancel_held(&assignment, Some("obsolete")).await.unwrap();
    assert_eq!(answer, Exited::Cancelled);
    assert_eq!(reason(&g, assignment.execution).await.as_deref(), Some("obsolete"));
}

pub(crate) async fn a_grant_of_cancelled_work_is_stale(g: Fixture) {
    g.waiting().await;
    let offer = g.granted().await;
    g.cancel(offer.execution, None).await.unwrap();
    let refused = g.backend().claim_granted(g.use_of(&offer)).await.refused();
    assert_eq!(refused, Code::StaleGrant);
}
