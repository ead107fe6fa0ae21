//! Failures: what is tried again, when, and what is not.

use std::collections::BTreeSet;

use ff_core::machine::Assignment;
use ff_core::policy::{Backoff, Growth, Policy, Retry};
use ff_core::record::{EndReason, Exited};
use ff_core::state::{DelayReason, Failure, Intent, Outcome, State};
use ff_core::{Category, Millis, PublicState, Time};

use crate::fixture::{Fixture, failure, ms, permanent, steady};

fn backing_off(backoff: Backoff) -> Policy {
    Policy { retry: Retry { max_attempts: 9, backoff, categories: None }, ..steady() }
}

/// Fails, and returns when the next attempt may start.
async fn retried(g: &Fixture, assignment: &Assignment) -> Time {
    match g.fail(assignment, failure("broken")).await.unwrap() {
        Exited::Retrying { from } => from,
        other => panic!("not retried: {other:?}"),
    }
}

pub(crate) async fn a_failure_is_tried_again_after_its_backoff(g: Fixture) {
    let assignment = g.held().await;
    let from = retried(&g, &assignment).await;
    assert_eq!(from, g.now().await + ms(1_000));
    let record = g.record(assignment.execution).await;
    assert_eq!(record.state, State::Delayed { until: from, why: DelayReason::Backoff, step: None });
    g.pass(ms(999)).await;
    assert!(g.nothing_to_claim().await);
    g.pass(ms(1)).await;
    let again = g.claimed().await;
    assert_eq!((again.execution, again.fence.attempt), (assignment.execution, 1));
}

pub(crate) async fn a_backoff_that_is_over_takes_the_place_of_its_end(g: Fixture) {
    let retried = g.held().await;
    g.fail(&retried, failure("broken")).await.unwrap();
    g.advance(ms(2_000)).await;
    let younger = g.waiting().await;
    g.pass(ms(0)).await;
    assert_eq!(g.claimed().await.execution, retried.execution);
    assert_eq!(g.claimed().await.execution, younger);
}

pub(crate) async fn a_retry_without_backoff_goes_behind_what_waits(g: Fixture) {
    let poison = g.held_under(backing_off(Backoff::none())).await;
    g.advance(ms(1)).await;
    let waiting = g.waiting().await;
    g.advance(ms(1)).await;
    assert_eq!(retried(&g, &poison).await, g.now().await);
    assert_eq!(g.record(poison.execution).await.state, State::Queued { why: Intent::Retry });
    assert_eq!(g.claimed().await.execution, waiting);
    assert_eq!(g.claimed().await.execution, poison.execution);
}

pub(crate) async fn a_permanent_failure_is_not_retried(g: Fixture) {
    let assignment = g.held().await;
    let answer = g.fail(&assignment, permanent("no such customer")).await.unwrap();
    assert_eq!(answer, Exited::Failed);
    let record = g.record(assignment.execution).await;
    let failure = permanent("no such customer");
    assert_eq!(record.outcome().unwrap().0, &Outcome::Failed { failure });
}

pub(crate) async fn the_last_allowed_attempt_ends_in_failure(g: Fixture) {
    let id = g.waiting().await;
    for attempt in 0..3 {
        let assignment = g.claimed().await;
        assert_eq!(assignment.fence.attempt, attempt);
        let answer = g.fail(&assignment, failure("broken")).await.unwrap();
        assert_eq!(answer == Exited::Failed, attempt == 2, "{answer:?}");
        g.pass(ms(1_000)).await;
    }
    assert_eq!(g.state(id).await, PublicState::Failed);
    assert_eq!(g.record(id).await.run.failures, 3);
}

pub(crate) async fn only_listed_categories_are_retried(g: Fixture) {
    let category = |name: &str| Category::new(name).unwrap();
    let categories = Some(BTreeSet::from([category("network"), category("busy")]));
    let policy = Policy { retry: Retry { categories, ..steady().retry }, ..steady() };
    for (name, expected) in [
        ("network", PublicState::Delayed),
        ("busy", PublicState::Delayed),
        ("error", PublicState::Failed),
    ] {
        let assignment = g.held_under(policy.clone()).await;
        let failure = Failure { category: category(name), ..failure("broken") };
        g.fail(&assignment, failure).await.unwrap();
        assert_eq!(g.state(assignment.execution).await, expected, "{name}");
    }
}

pub(crate) async fn an_exponential_backoff_doubles_up_to_its_cap(g: Fixture) {
    let backoff =
        Backoff { growth: Growth::Exponential, base: ms(100), cap: ms(500), jitter_percent: 0 };
    g.waiting_under(backing_off(backoff)).await;
    for wait in [100, 200, 400, 500, 500] {
        let assignment = g.claimed().await;
        let now = g.now().await;
        assert_eq!(retried(&g, &assignment).await.since(now), ms(wait));
        g.pass(ms(wait)).await;
    }
}

pub(crate) async fn jitter_shortens_a_wait_by_at_most_its_part(g: Fixture) {
    let jittery = Backoff { jitter_percent: 50, ..Backoff::fixed(ms(1_000_000)) };
    let mut waits = BTreeSet::new();
    for _ in 0..20 {
        let assignment = g.held_under(backing_off(jittery)).await;
        waits.insert(retried(&g, &assignment).await.since(g.now().await));
    }
    assert!(*waits.first().unwrap() >= Millis::new(500_000), "{waits:?}");
    assert!(*waits.last().unwrap() <= Millis::new(1_000_000), "{waits:?}");
    assert!(waits.len() > 10, "twenty waits of a million are not all alike: {waits:?}");
}

pub(crate) async fn every_failure_stays_readable_with_its_attempt(g: Fixture) {
    let id = g.waiting().await;
    for message in ["first", "second"] {
        g.fail(&g.claimed().await, failure(message)).await.unwrap();
        g.pass(ms(1_000)).await;
    }
    let reasons: Vec<_> =
        g.attempts(id).await.into_iter().map(|attempt| attempt.end.unwrap().reason).collect();
    assert_eq!(reasons, ["first", "second"].map(|text| EndReason::Failed(failure(text))));
}

pub(crate) async fn a_repeated_failure_counts_once(g: Fixture) {
    let assignment = g.held().await;
    let first = retried(&g, &assignment).await;
    let before = g.snapshot().await;
    g.advance(ms(300)).await;
    assert_eq!(retried(&g, &assignment).await, first);
    g.snapshot().await.assert_same(&before);
    assert_eq!(g.record(assignment.execution).await.run.failures, 1);
}
