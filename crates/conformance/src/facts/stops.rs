//! Stops: a worker learns at once of executions that are taken from it or cancelled, and of nothing else.

use ff_core::policy::Policy;
use ff_core::{Code, ExecutionId, Millis};
use ff_store::stops::{StopCursor, StopNews};

use crate::fixture::{Fixture, Refused, failure, ms, steady, worker};

/// Longer than any of these tests takes.
const LONG: Millis = Millis::from_secs(30);

impl Fixture {
    async fn stops_of(&self, name: &str, after: Option<StopCursor>, wait: Millis) -> StopNews {
        let instance = worker(name).instance;
        self.backend().stops(&self.namespace, &instance, after, wait).await.unwrap()
    }

    /// Up to where worker `ada` knows of stops.
    async fn known(&self) -> Option<StopCursor> {
        let news = self.stops_of("ada", None, LONG).await;
        assert_eq!(news.stopped, None, "the first call is answered at once, and says nothing");
        Some(news.cursor)
    }

    /// What was stopped of worker `ada` since then.
    async fn stopped(&self, after: Option<StopCursor>, wait: Millis) -> Vec<ExecutionId> {
        self.stops_of("ada", after, wait).await.stopped.expect("nothing was forgotten")
    }
}

pub(crate) async fn a_worker_hears_of_a_cancel_of_what_it_holds(g: Fixture) {
    for grace in [None, Some(ms(5_000))] {
        let id = g.held().await.execution;
        let known = g.known().await;
        g.cancel(id, grace).await.unwrap();
        assert_eq!(g.stopped(known, LONG).await, [id], "with grace {grace:?}");
    }
}

pub(crate) async fn a_worker_that_waits_is_woken_by_a_cancel(g: Fixture) {
    let id = g.held().await.execution;
    let known = g.known().await;
    let waiting = tokio::spawn({
        let g = g.clone();
        async move { g.stopped(known, LONG).await }
    });
    tokio::task::yield_now().await;
    g.cancel(id, Some(ms(5_000))).await.unwrap();
    assert_eq!(waiting.await.unwrap(), [id]);
}

pub(crate) async fn a_worker_hears_of_a_revoke(g: Fixture) {
    let assignment = g.held().await;
    let known = g.known().await;
    g.revoke(assignment.execution, assignment.fence).await.unwrap();
    assert_eq!(g.stopped(known, LONG).await, [assignment.execution]);
}

pub(crate) async fn a_worker_hears_of_a_deadline_that_passes(g: Fixture) {
    let policy = Policy { deadline: Some(ms(2_000)), ..steady() };
    let id = g.held_under(policy).await.execution;
    let known = g.known().await;
    g.pass(ms(2_000)).await;
    assert_eq!(g.stopped(known, LONG).await, [id]);
}

pub(crate) async fn what_a_worker_does_itself_is_no_stop(g: Fixture) {
    let known = g.known().await;
    let first = g.held().await;
    g.renew(first.hold()).await.unwrap();
    g.progress(&first, 50).await.unwrap();
    g.complete(&first, "done").await.unwrap();
    let second = g.held().await;
    g.fail(&second, failure("broken")).await.unwrap();
    assert!(g.stopped(known, Millis::ZERO).await.is_empty());
}

pub(crate) async fn stops_are_for_the_worker_that_holds(g: Fixture) {
    let id = g.held().await.execution;
    let bob = g.stops_of("bob", None, LONG).await.cursor;
    let rival = g.elsewhere().stops_of("ada", None, LONG).await.cursor;
    g.cancel(id, None).await.unwrap();
    let news = g.stops_of("bob", Some(bob), Millis::ZERO).await;
    assert_eq!(news.stopped, Some(vec![]), "another worker");
    let news = g.elsewhere().stops_of("ada", Some(rival), Millis::ZERO).await;
    assert_eq!(news.stopped, Some(vec![]), "another namespace");
}

pub(crate) async fn a_wait_for_stops_is_bounded(g: Fixture) {
    let instance = worker("ada").instance;
    let refused = g.backend().stops(&g.namespace, &instance, None, ms(30_001)).await.refused();
    assert_eq!(refused, Code::InvalidArgument);
}
