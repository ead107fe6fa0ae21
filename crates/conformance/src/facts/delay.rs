//! Delays: a holder delays its work and continues the same attempt.

use ff_core::machine::Assignment;
use ff_core::policy::Policy;
use ff_core::record::{EndReason, Exited};
use ff_core::state::{DelayReason, Intent, State};
use ff_core::timer::DueAction;
use ff_core::{PublicState, Time, When};

use crate::fixture::{Fixture, ms, steady};

/// Work whose holder delays it for a second.
async fn delayed_by_its_holder(g: &Fixture) -> Assignment {
    let assignment = g.held().await;
    g.delay(&assignment, When::After(ms(1_000))).await.unwrap();
    assignment
}

pub(crate) async fn a_delay_frees_the_worker_and_keeps_the_attempt(g: Fixture) {
    let assignment = g.held().await;
    let until = g.now().await + ms(1_000);
    let answer = g.delay(&assignment, When::At(until)).await.unwrap();
    assert_eq!(answer, Exited::Delayed { until });
    let record = g.record(assignment.execution).await;
    assert_eq!(record.state, State::Delayed { until, why: DelayReason::Hold, step: None });
    assert_eq!(record.attempt.unwrap().end, None);
    g.pass(ms(999)).await;
    assert!(g.nothing_to_claim().await);
}

pub(crate) async fn a_delay_that_is_over_continues_the_same_attempt(g: Fixture) {
    let first = delayed_by_its_holder(&g).await;
    g.advance(ms(1_000)).await;
    assert_eq!(g.tick(first.execution).await.did, Some(DueAction::DelayOver));
    assert_eq!(g.state(first.execution).await, PublicState::Resumable);
    let second = g.claimed_by("bob").await;
    assert_eq!((second.fence.attempt, second.fence.epoch), (0, 2));
    g.complete(&second, "done").await.unwrap();
    assert_eq!(g.attempts(first.execution).await.len(), 1);
}

pub(crate) async fn a_delay_that_is_over_takes_the_place_of_its_end(g: Fixture) {
    let resumed = delayed_by_its_holder(&g).await;
    g.advance(ms(500)).await;
    let older = g.waiting().await;
    g.advance(ms(1_000)).await;
    let younger = g.waiting().await;
    g.pass(ms(0)).await;
    for id in [older, resumed.execution, younger] {
        assert_eq!(g.claimed().await.execution, id);
    }
}

pub(crate) async fn a_delay_into_the_past_is_over_at_once(g: Fixture) {
    for until in [When::Now, When::After(ms(0)), When::At(Time::EPOCH), When::At(g.now().await)] {
        let assignment = g.held().await;
        let answer = g.delay(&assignment, until).await.unwrap();
        assert_eq!(answer, Exited::Delayed { until: g.now().await }, "{until:?}");
        let record = g.record(assignment.execution).await;
        assert_eq!(record.state, State::Queued { why: Intent::Resume }, "{until:?}");
        let resumed = g.claimed().await;
        assert_eq!(resumed.execution, assignment.execution, "{until:?}");
        g.complete(&resumed, "done").await.unwrap();
    }
}

pub(crate) async fn a_delay_into_the_past_goes_behind_what_waits(g: Fixture) {
    let delayed = g.held().await;
    g.advance(ms(1)).await;
    let waiting = g.waiting().await;
    g.advance(ms(1)).await;
    g.delay(&delayed, When::Now).await.unwrap();
    assert_eq!(g.claimed().await.execution, waiting);
    assert_eq!(g.claimed().await.execution, delayed.execution);
}

pub(crate) async fn a_delay_spends_no_retry(g: Fixture) {
    let id = g.waiting().await;
    for _ in 0..5 {
        g.delay(&g.claimed().await, When::Now).await.unwrap();
    }
    let record = g.record(id).await;
    assert_eq!((record.run.failures, record.run.reclaims), (0, 0));
}

pub(crate) async fn a_repeated_delay_is_one_delay(g: Fixture) {
    let assignment = delayed_by_its_holder(&g).await;
    let before = g.snapshot().await;
    let until = g.now().await + ms(1_000);
    g.advance(ms(300)).await;
    let again = g.delay(&assignment, When::After(ms(1_000))).await.unwrap();
    assert_eq!(again, Exited::Delayed { until });
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_paused_attempt_keeps_its_progress(g: Fixture) {
    let assignment = g.held().await;
    g.progress(&assignment, 60).await.unwrap();
    g.delay(&assignment, When::Now).await.unwrap();
    g.claimed().await;
    let attempt = g.record(assignment.execution).await.attempt.unwrap();
    assert_eq!(attempt.progress.unwrap().percent, Some(60));
}

pub(crate) async fn a_paused_execution_that_expires_ends_its_attempt(g: Fixture) {
    let assignment = g.held_under(Policy { deadline: Some(ms(500)), ..steady() }).await;
    g.delay(&assignment, When::After(ms(900))).await.unwrap();
    g.pass(ms(500)).await;
    let record = g.record(assignment.execution).await;
    assert_eq!(record.public_state(), PublicState::Expired);
    assert_eq!(record.attempt.unwrap().end.unwrap().reason, EndReason::Expired);
}
