//! Attempt timeouts and deadlines: armed, armed again, and never early.

use ff_core::policy::{Policy, Retry};
use ff_core::record::EndReason;
use ff_core::state::{Outcome, State};
use ff_core::timer::DueAction;
use ff_core::{Code, PublicState, When};

use crate::fixture::{Fixture, Refused, busy, holder_calls, ms, steady};

pub(crate) async fn an_attempt_that_runs_too_long_is_tried_again(g: Fixture) {
    let assignment = g.held_under(busy()).await;
    g.advance(ms(2_999)).await;
    g.renew(assignment.hold()).await.unwrap();
    g.advance(ms(1)).await;
    let ticked = g.tick(assignment.execution).await;
    assert_eq!(ticked.did, Some(DueAction::AttemptTimeout));
    let record = g.record(assignment.execution).await;
    assert!(matches!(record.state, State::Delayed { .. }), "it backs off as after a failure");
    assert_eq!((record.run.failures, record.run.reclaims), (1, 0));
    assert_eq!(record.attempt.unwrap().end.unwrap().reason, EndReason::TimedOut);
}

pub(crate) async fn a_holder_past_its_timeout_is_refused_before_any_tick(g: Fixture) {
    let assignment = g.held_under(busy()).await;
    g.advance(ms(3_000)).await;
    let before = g.snapshot().await;
    for (call, action) in holder_calls(&assignment.hold()) {
        assert_eq!(g.run(action).await.refused(), Code::StaleLease, "{call}");
    }
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_renewal_does_not_extend_the_timeout(g: Fixture) {
    let assignment = g.held_under(busy()).await;
    for _ in 0..2 {
        g.advance(ms(1_400)).await;
        g.renew(assignment.hold()).await.unwrap();
    }
    g.advance(ms(200)).await;
    assert_eq!(g.renew(assignment.hold()).await.refused(), Code::StaleLease);
}

pub(crate) async fn the_timeout_is_armed_whole_at_each_claim(g: Fixture) {
    let assignment = g.held_under(busy()).await;
    g.advance(ms(2_000)).await;
    g.delay(&assignment, When::After(ms(500))).await.unwrap();
    g.pass(ms(500)).await;
    let resumed = g.claimed().await;
    assert_eq!(resumed.timeout_at, Some(g.now().await + ms(3_000)), "after a delay");
    g.advance(ms(2_000)).await;
    g.hand_back(&resumed).await.unwrap();
    let again = g.claimed().await;
    assert_eq!(again.timeout_at, Some(g.now().await + ms(3_000)), "after a hand-back");
    assert_eq!(again.fence.attempt, 0);
}

pub(crate) async fn a_paused_attempt_does_not_time_out(g: Fixture) {
    let assignment = g.held_under(busy()).await;
    g.delay(&assignment, When::After(ms(30_000))).await.unwrap();
    g.pass(ms(29_999)).await;
    assert_eq!(g.state(assignment.execution).await, PublicState::Delayed);
    assert_eq!(g.record(assignment.execution).await.run.failures, 0);
}

pub(crate) async fn the_last_attempt_to_time_out_ends_in_failure(g: Fixture) {
    let retry = Retry { max_attempts: 1, ..busy().retry };
    let assignment = g.held_under(Policy { retry, ..busy() }).await;
    g.pass(ms(3_000)).await;
    let record = g.record(assignment.execution).await;
    let Some((Outcome::Failed { failure }, _)) = record.outcome() else {
        panic!("it ended as {:?}", record.state);
    };
    assert_eq!(failure.category.as_str(), "timeout");
}

pub(crate) async fn a_timeout_is_retried_only_if_its_category_is(g: Fixture) {
    let categories = Some(std::collections::BTreeSet::from([ff_core::Category::error()]));
    let retry = Retry { categories, ..steady().retry };
    let policy = Policy { retry, attempt_timeout: Some(ms(100)), ..steady() };
    let assignment = g.held_under(policy).await;
    g.pass(ms(100)).await;
    assert_eq!(g.state(assignment.execution).await, PublicState::Failed);
}

pub(crate) async fn a_deadline_ends_work_in_every_state(g: Fixture) {
    let policy = Policy { deadline: Some(ms(1_000)), ..steady() };
    let active = g.held_under(policy.clone()).await.execution;
    let granted = g.waiting_under(policy.clone()).await;
    g.granted().await;
    let paused = g.held_under(policy.clone()).await;
    g.delay(&paused, When::After(ms(5_000))).await.unwrap();
    let cancelling = g.held_under(policy.clone()).await.execution;
    g.cancel(cancelling, Some(ms(9_000))).await.unwrap();
    let waiting = g.waiting_under(policy).await;
    let all = [active, granted, paused.execution, cancelling, waiting];
    g.pass(ms(999)).await;
    for id in all {
        assert_ne!(g.state(id).await, PublicState::Expired);
    }
    g.advance(ms(1)).await;
    for id in all {
        assert_eq!(g.tick(id).await.did, Some(DueAction::Deadline));
        assert_eq!(g.state(id).await, PublicState::Expired);
        for attempt in g.attempts(id).await {
            assert_eq!(attempt.end.unwrap().reason, EndReason::Expired);
        }
    }
}

pub(crate) async fn a_deadline_counts_from_submission_over_all_attempts(g: Fixture) {
    let assignment = g.held_under(Policy { deadline: Some(ms(4_000)), ..steady() }).await;
    g.advance(ms(2_000)).await;
    g.fail(&assignment, crate::fixture::failure("once")).await.unwrap();
    g.pass(ms(1_000)).await;
    let second = g.claimed().await;
    g.advance(ms(1_000)).await;
    assert_eq!(g.renew(second.hold()).await.refused(), Code::StaleLease);
    g.pass(ms(0)).await;
    assert_eq!(g.state(second.execution).await, PublicState::Expired);
}
