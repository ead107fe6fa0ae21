//! The table of flows: every way in which an upstream ends, for every rule of what depends on it.

use ff_core::flow::{OnFailure, member_id};
use ff_core::graph::{Join, NodeSpec};
use ff_core::machine::{Assignment, Submit, Tick};
use ff_core::policy::Policy;
use ff_core::suspension::OnTimeout;
use ff_core::{ExecutionId, PublicState};

use crate::fixture::{Fixture, failure, ms, permanent, steady};

/// How an upstream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    Completes,
    Fails,
    FailsTheLastTime,
    IsCancelled,
    IsCancelledWithGrace,
    CancelsItself,
    Expires,
    ExpiresInAClaim,
    IsLostTooOften,
    TimesOutSuspended,
    IsSkipped,
}

const ROUTES: [Route; 11] = [
    Route::Completes,
    Route::Fails,
    Route::FailsTheLastTime,
    Route::IsCancelled,
    Route::IsCancelledWithGrace,
    Route::CancelsItself,
    Route::Expires,
    Route::ExpiresInAClaim,
    Route::IsLostTooOften,
    Route::TimesOutSuspended,
    Route::IsSkipped,
];

impl Route {
    /// The upstream, and what it depends on.
    fn nodes(self, g: &Fixture) -> Vec<NodeSpec> {
        let policy = |policy: Policy, node: NodeSpec| {
            let work = Submit { policy: policy.into(), ..node.work };
            NodeSpec { work, ..node }
        };
        let up = g.node("up", &[]);
        let retry = ff_core::policy::Retry { max_attempts: 1, ..steady().retry };
        match self {
            Route::FailsTheLastTime => vec![policy(Policy { retry, ..steady() }, up)],
            Route::Expires | Route::ExpiresInAClaim => {
                vec![policy(Policy { deadline: Some(ms(500)), ..steady() }, up)]
            }
            Route::IsLostTooOften => vec![policy(Policy { max_reclaims: 0, ..steady() }, up)],
            Route::IsSkipped => vec![g.node("first", &[]), g.node("up", &["first"])],
            _ => vec![up],
        }
    }

    /// Ends the upstream so.
    async fn end(self, g: &Fixture, up: ExecutionId) {
        if self == Route::Expires || self == Route::ExpiresInAClaim {
            g.advance(ms(500)).await;
            match self {
                Route::Expires => _ = g.run(Tick { execution: up }).await.unwrap(),
                _ => _ = g.run(g.claim()).await.unwrap(),
            }
            return;
        }
        if self == Route::IsCancelled {
            g.cancel(up, None).await.unwrap();
            return;
        }
        let held = g.claimed().await;
        match self {
            Route::Completes => _ = g.complete(&held, "done").await.unwrap(),
            Route::FailsTheLastTime => _ = g.fail(&held, failure("again")).await.unwrap(),
            Route::CancelsItself => _ = g.cancel_held(&held, None).await.unwrap(),
            Route::IsCancelledWithGrace => {
                g.cancel(up, Some(ms(50))).await.unwrap();
                g.advance(ms(50)).await;
                g.run(Tick { execution: up }).await.unwrap();
            }
            Route::IsLostTooOften => {
                g.advance(ms(10_000)).await;
                g.run(Tick { execution: up }).await.unwrap();
            }
            Route::TimesOutSuspended => {
                g.suspend(g.parking_for(&held, ms(50), OnTimeout::Fail)).await.unwrap();
                g.advance(ms(50)).await;
                g.run(Tick { execution: up }).await.unwrap();
            }
            _ => _ = g.fail(&held, permanent("broken")).await.unwrap(),
        }
    }
}

/// Every route with one rule of joining: it means the same to what depends on the upstream.
async fn joined(g: Fixture, join: Join) {
    let g = g.in_one_partition();
    for route in ROUTES {
        for on_failure in [OnFailure::Skip, OnFailure::Continue, OnFailure::FailFlow] {
            joins_after(&g, route, join, on_failure).await;
        }
    }
    assert_eq!(g.audit().await.violations, []);
}

pub(crate) async fn every_route_to_an_end_counts_the_same_for_a_join_of_all(g: Fixture) {
    joined(g, Join::All).await;
}

pub(crate) async fn every_route_to_an_end_counts_the_same_for_a_join_of_any(g: Fixture) {
    joined(g, Join::Any).await;
}

pub(crate) async fn every_route_to_an_end_counts_the_same_for_a_quorum_of_one(g: Fixture) {
    joined(g, Join::Quorum(1)).await;
}

pub(crate) async fn every_route_to_an_end_counts_the_same_for_a_quorum_of_all(g: Fixture) {
    joined(g, Join::Quorum(2)).await;
}

/// An upstream ends by `route`, and then another one completes.
async fn joins_after(g: &Fixture, route: Route, join: Join, on_failure: OnFailure) {
    let says = format!("{route:?}, {join:?}, {on_failure:?}");
    let mut nodes = route.nodes(g);
    let up = nodes.len() as u32 - 1;
    let other = NodeSpec { work: Submit { priority: -5, ..g.work() }, ..g.node("other", &[]) };
    let end = NodeSpec { join, on_failure, ..g.node("end", &["up", "other"]) };
    nodes.extend([other, end]);
    let flow = g.flow_of(nodes).await;
    route.end(g, member_id(flow, up)).await;
    g.follow().await;
    let counts = route == Route::Completes || on_failure == OnFailure::Continue;
    let one_is_enough = matches!(join, Join::Any | Join::Quorum(1));
    let end = member_id(flow, up + 2);
    let state = g.state(end).await;
    match (counts, one_is_enough) {
        (true, true) => assert_eq!(state, PublicState::Waiting, "{says}"),
        (false, false) => assert_eq!(state, PublicState::Skipped, "{says}"),
        _ => assert_eq!(state, PublicState::WaitingChildren, "{says}"),
    }
    let fails = state == PublicState::Skipped && on_failure == OnFailure::FailFlow;
    let mut left: Vec<Assignment> = Vec::new();
    while let Some(held) = g.take(g.claim()).await.pop() {
        g.complete(&held, "done").await.unwrap();
        left.push(held);
        g.follow().await;
    }
    assert_eq!(fails, !left.iter().any(|held| held.execution == member_id(flow, up + 1)), "{says}");
    let runs = counts || one_is_enough;
    let expected = if runs { PublicState::Completed } else { PublicState::Skipped };
    assert_eq!(g.state(end).await, expected, "{says}");
    let expected = if runs { PublicState::Completed } else { PublicState::Failed };
    assert_eq!(g.state(flow).await, expected, "{says}");
}
