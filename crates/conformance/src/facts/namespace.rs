//! Namespaces: nothing of one is visible from another.

use ff_core::machine::{ClaimRequest, GrantNext, LeaseRef, Submit};
use ff_core::{Code, PublicState};
use ff_store::listing::Filter;

use crate::fixture::{Fixture, Refused, holder_calls, steering_calls};

pub(crate) async fn an_execution_of_another_namespace_is_not_found(g: Fixture) {
    let (there, hold) = (g.elsewhere(), g.held().await.hold());
    let target = there.target(hold.target.execution);
    let before = g.snapshot().await;
    let mut calls = steering_calls(&target);
    calls.extend(holder_calls(&LeaseRef { target, fence: hold.fence }));
    for (call, action) in calls {
        assert_eq!(g.run(action).await.refused(), Code::NotFound, "{call}");
    }
    g.snapshot().await.assert_same(&before);
    g.renew(hold).await.unwrap();
}

pub(crate) async fn another_namespaces_execution_reads_as_absent(g: Fixture) {
    let there = g.elsewhere();
    let target = there.target(g.completed().await);
    assert_eq!(g.backend().describe(&target).await.refused(), Code::NotFound);
    assert_eq!(g.backend().input(&target).await.refused(), Code::NotFound);
    assert_eq!(g.backend().result(&target, None).await.refused(), Code::NotFound);
    assert_eq!(g.backend().attempts(&target, 0, 10).await.refused(), Code::NotFound);
}

pub(crate) async fn claims_and_grants_take_only_from_their_namespace(g: Fixture) {
    let there = g.elsewhere();
    let mine = g.waiting().await;
    assert!(there.nothing_to_claim().await);
    assert_eq!(there.backend().grant(there.grant()).await.unwrap().offer, None);
    let theirs = there.waiting().await;
    assert_eq!(there.claimed().await.execution, theirs);
    assert_eq!(g.claimed().await.execution, mine);
}

pub(crate) async fn a_retried_claim_of_another_namespace_finds_nothing(g: Fixture) {
    let there = g.elsewhere();
    g.waiting().await;
    let claim = g.claim();
    g.take(claim.clone()).await;
    let stolen = ClaimRequest { request: claim.request, retry: true, ..there.claim() };
    assert!(there.take(stolen).await.is_empty());
    g.waiting().await;
    let offer = g.granted().await;
    let stolen = GrantNext { request: offer.request, retry: true, ..there.grant() };
    assert_eq!(there.backend().grant(stolen).await.unwrap().offer, None);
}

pub(crate) async fn a_key_names_one_execution_in_each_namespace(g: Fixture) {
    let there = g.elsewhere();
    let mine = g.submit(g.keyed("order-1")).await;
    let theirs = there.submit(there.keyed("order-1")).await;
    assert_ne!(mine, theirs);
}

pub(crate) async fn an_id_taken_in_another_namespace_is_refused(g: Fixture) {
    let there = g.elsewhere();
    let work = g.work();
    g.submit(work.clone()).await;
    let before = g.snapshot().await;
    let theirs = Submit { namespace: there.namespace.clone(), ..work };
    assert_eq!(there.try_submit(theirs).await.refused(), Code::IdConflict);
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_listing_shows_only_its_namespace(g: Fixture) {
    let there = g.elsewhere();
    let mine = g.failed().await;
    let theirs = there.failed().await;
    let failed = Filter { states: [PublicState::Failed].into(), ..Filter::default() };
    for filter in [Filter::default(), failed] {
        assert_eq!(g.listed(filter.clone()).await, [mine]);
        assert_eq!(there.listed(filter).await, [theirs]);
    }
}
