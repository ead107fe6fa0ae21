//! Priorities can change while work is not finished.

use ff_core::machine::{SetPriority, Submit};
use ff_core::{Code, ExecutionId, When};

use crate::fixture::{Fixture, Refused, ms};

async fn set(g: &Fixture, id: ExecutionId, priority: i16) -> Result<(), ff_store::StoreError> {
    g.backend().set_priority(SetPriority { target: g.target(id), priority }).await
}

pub(crate) async fn a_raised_priority_goes_first(g: Fixture) {
    let first = g.waiting().await;
    g.advance(ms(1)).await;
    let second = g.waiting().await;
    set(&g, second, 1).await.unwrap();
    assert_eq!(g.claimed().await.execution, second);
    assert_eq!(g.claimed().await.execution, first);
}

pub(crate) async fn work_below_the_default_priority_goes_last(g: Fixture) {
    let [lowest, low, second] = [-9_000, -1, -1].map(|priority| Submit { priority, ..g.work() });
    let (lowest, low) = (g.submit(lowest).await, g.submit(low).await);
    g.advance(ms(1)).await;
    let second = g.submit(second).await;
    let (lowered, plain) = (g.waiting().await, g.waiting().await);
    set(&g, lowered, -2).await.unwrap();
    for id in [plain, low, second, lowered] {
        assert_eq!(g.claimed().await.execution, id);
    }
    // It returns to its place, and can be raised out of it.
    let last = g.claimed().await;
    assert_eq!(last.execution, lowest);
    g.hand_back(&last).await.unwrap();
    let plain = g.waiting().await;
    assert_eq!(g.record(lowest).await.priority, -9_000);
    set(&g, lowest, 1).await.unwrap();
    for id in [lowest, plain] {
        assert_eq!(g.claimed().await.execution, id);
    }
}

pub(crate) async fn a_change_of_priority_keeps_the_place_among_equals(g: Fixture) {
    let oldest = g.waiting().await;
    g.advance(ms(1)).await;
    let younger = g.submit(Submit { priority: 5, ..g.work() }).await;
    set(&g, oldest, 5).await.unwrap();
    assert_eq!(g.claimed().await.execution, oldest);
    assert_eq!(g.claimed().await.execution, younger);
}

pub(crate) async fn work_that_is_not_queued_keeps_its_new_priority(g: Fixture) {
    let held = g.held().await;
    let delayed = g.submit(Submit { start: When::After(ms(1)), ..g.work() }).await;
    let granted = g.waiting().await;
    let offer = g.granted().await;
    for (id, priority) in [(held.execution, 3), (delayed, 2), (granted, 1)] {
        set(&g, id, priority).await.unwrap();
    }
    g.hand_back(&held).await.unwrap();
    g.pass(offer.until.since(g.now().await)).await;
    for id in [held.execution, delayed, granted] {
        assert_eq!(g.claimed().await.execution, id);
    }
}

pub(crate) async fn the_same_priority_again_changes_nothing(g: Fixture) {
    let id = g.waiting().await;
    set(&g, id, 7).await.unwrap();
    let before = g.snapshot().await;
    set(&g, id, 7).await.unwrap();
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn finished_work_keeps_its_priority(g: Fixture) {
    let id = g.completed().await;
    assert_eq!(set(&g, id, 7).await.refused(), Code::WrongState);
}

pub(crate) async fn a_holder_keeps_its_lease_when_the_priority_changes(g: Fixture) {
    let assignment = g.held().await;
    set(&g, assignment.execution, 7).await.unwrap();
    g.complete(&assignment, "done").await.unwrap();
}
