//! Retention: finished work stays readable, then nothing of it is left.

use ff_core::machine::Submit;
use ff_core::timer::DueAction;
use ff_core::{Code, Millis, PublicState};
use ff_store::listing::Filter;

use crate::fixture::{Fixture, Refused, failure, holder_calls, ms, steering_calls};

const DAY: Millis = Millis::from_days(1);
const ALMOST_A_DAY: Millis = Millis::new(DAY.get() - 1);

pub(crate) async fn finished_work_stays_readable_until_its_retention_is_over(g: Fixture) {
    let id = g.completed().await;
    g.pass(ALMOST_A_DAY).await;
    assert_eq!(g.state(id).await, PublicState::Completed);
    assert_eq!(g.result(id).await.unwrap().bytes, "done");
    g.advance(ms(1)).await;
    assert_eq!(g.tick(id).await.did, Some(DueAction::Retention));
    assert_eq!(g.backend().describe(&g.target(id)).await.refused(), Code::NotFound);
}

pub(crate) async fn after_retention_nothing_names_the_execution(g: Fixture) {
    let id = g.submit(g.keyed("order-1")).await;
    g.fail(&g.claimed().await, failure("broken")).await.unwrap();
    g.pass(ms(1_000)).await;
    g.complete(&g.claimed().await, "first").await.unwrap();
    g.replay(id, 0).await.unwrap();
    g.complete(&g.claimed().await, "second").await.unwrap();
    assert!(!g.snapshot().await.naming(id).is_empty());
    g.pass(DAY).await;
    assert_eq!(g.snapshot().await.naming(id), Vec::<String>::new());
}

pub(crate) async fn every_outcome_is_removed_in_the_end(g: Fixture) {
    g.expired().await;
    g.completed().await;
    g.failed().await;
    g.cancelled().await;
    g.pass(DAY).await;
    assert_eq!(g.snapshot().await, crate::Snapshot::default());
}

pub(crate) async fn removed_work_is_not_found(g: Fixture) {
    let assignment = g.held().await;
    let id = assignment.execution;
    g.complete(&assignment, "done").await.unwrap();
    g.pass(DAY).await;
    let mut calls = steering_calls(&g.target(id));
    calls.extend(holder_calls(&assignment.hold()));
    for (call, action) in calls {
        assert_eq!(g.run(action).await.refused(), Code::NotFound, "{call}");
    }
    assert!(g.listed(Filter::default()).await.is_empty());
}

pub(crate) async fn unfinished_work_is_never_removed(g: Fixture) {
    let waiting = g.waiting().await;
    let delayed = g.delayed(Millis::from_days(3_000)).await;
    g.pass(Millis::from_days(2_000)).await;
    assert_eq!(g.state(waiting).await, PublicState::Waiting);
    assert_eq!(g.state(delayed).await, PublicState::Delayed);
}

pub(crate) async fn an_idempotency_key_holds_as_long_as_its_execution(g: Fixture) {
    let submit = g.keyed("order-1");
    let id = g.submit(submit.clone()).await;
    g.cancel(id, None).await.unwrap();
    g.pass(ALMOST_A_DAY).await;
    let again = Submit { id: g.keyed("order-1").id, ..submit.clone() };
    let found = g.try_submit(again.clone()).await.unwrap();
    assert_eq!((found.execution, found.created), (id, false));
    g.pass(ms(1)).await;
    assert_eq!(g.submit(again.clone()).await, again.id, "the key is free again");
}

pub(crate) async fn an_id_is_forgotten_with_its_execution(g: Fixture) {
    let work = g.work();
    let id = g.submit(work.clone()).await;
    g.cancel(id, None).await.unwrap();
    g.pass(DAY).await;
    assert_eq!(g.submit(Submit { priority: 3, ..work }).await, id);
}
