//! Grants: work reserved for one worker before its lease starts.

use ff_core::machine::{ClaimGranted, ClaimRequest, GrantNext, Granted};
use ff_core::policy::Policy;
use ff_core::state::{Intent, State};
use ff_core::timer::DueAction;
use ff_core::{Capabilities, Code, PublicState, When, WorkerInstanceId};
use ff_store::mint;

use crate::fixture::{Fixture, Refused, ms, steady, worker};

pub(crate) async fn a_grant_takes_the_head_out_of_the_queue(g: Fixture) {
    let id = g.waiting().await;
    let offer = g.granted().await;
    assert_eq!((offer.execution, offer.until), (id, g.now().await + ms(5_000)));
    assert!(g.nothing_to_claim().await);
    assert_eq!(g.backend().grant(g.grant()).await.unwrap().offer, None);
    assert_eq!(g.state(id).await, PublicState::Waiting);
}

pub(crate) async fn a_grant_in_flight_does_not_block_its_lane(g: Fixture) {
    let g = g.in_one_partition();
    let first = g.waiting().await;
    let second = g.waiting().await;
    let third = g.waiting().await;
    assert_eq!(g.granted().await.execution, first);
    assert_eq!(g.granted().await.execution, second);
    assert_eq!(g.claimed().await.execution, third);
}

pub(crate) async fn an_empty_lane_grants_nothing(g: Fixture) {
    let nothing = Granted::default();
    assert_eq!(g.backend().grant(g.grant()).await.unwrap(), nothing);
}

pub(crate) async fn granted_work_is_claimed_by_its_worker(g: Fixture) {
    let id = g.waiting().await;
    let offer = g.granted().await;
    let claimed = g.backend().claim_granted(g.use_of(&offer)).await.unwrap();
    let assignment = &claimed.assignments[0];
    assert_eq!((assignment.execution, assignment.fence.attempt), (id, 0));
    assert_eq!(assignment.fence.lease.request, offer.request);
    g.renew(assignment.hold()).await.unwrap();
    g.complete(assignment, "done").await.unwrap();
}

pub(crate) async fn a_grant_used_twice_gives_the_same_lease(g: Fixture) {
    g.waiting().await;
    let using = g.use_of(&g.granted().await);
    let first = g.backend().claim_granted(using.clone()).await.unwrap();
    let before = g.snapshot().await;
    assert_eq!(g.backend().claim_granted(using).await.unwrap(), first);
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn only_its_worker_can_use_a_grant(g: Fixture) {
    g.waiting().await;
    let using = g.use_of(&g.granted().await);
    let before = g.snapshot().await;
    let mut twin = worker("ada");
    twin.instance = WorkerInstanceId::new("ada-2").unwrap();
    for (other, why) in [
        (ClaimGranted { worker: worker("bob"), ..using.clone() }, Code::WrongWorker),
        (ClaimGranted { worker: twin.clone(), ..using.clone() }, Code::WrongWorker),
        (ClaimGranted { request: mint::request_id(), ..using.clone() }, Code::StaleGrant),
    ] {
        let refused = g.backend().claim_granted(other.clone()).await.refused();
        assert_eq!(refused, why, "{other:?}");
    }
    g.snapshot().await.assert_same(&before);
    g.backend().claim_granted(using.clone()).await.unwrap();
    let used = ClaimGranted { worker: twin, ..using };
    assert_eq!(g.backend().claim_granted(used).await.refused(), Code::StaleGrant);
}

pub(crate) async fn work_that_was_not_granted_is_refused(g: Fixture) {
    let id = g.waiting().await;
    let (request, worker) = (mint::request_id(), worker("ada"));
    let using = ClaimGranted { target: g.target(id), request, worker };
    assert_eq!(g.backend().claim_granted(using.clone()).await.refused(), Code::StaleGrant);
    let assignment = g.claimed().await;
    assert_eq!(g.backend().claim_granted(using.clone()).await.refused(), Code::StaleGrant);
    g.complete(&assignment, "done").await.unwrap();
    assert_eq!(g.backend().claim_granted(using).await.refused(), Code::StaleGrant);
}

pub(crate) async fn an_expired_grant_is_refused_before_any_tick(g: Fixture) {
    g.waiting().await;
    let using = g.use_of(&g.granted().await);
    g.advance(ms(5_000)).await;
    let before = g.snapshot().await;
    assert_eq!(g.backend().claim_granted(using).await.refused(), Code::StaleGrant);
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn an_expired_grant_returns_to_its_place(g: Fixture) {
    let first = g.waiting().await;
    g.advance(ms(1)).await;
    let second = g.waiting().await;
    g.granted().await;
    g.advance(ms(5_000)).await;
    assert_eq!(g.tick(first).await.did, Some(DueAction::GrantExpired));
    assert_eq!(g.record(first).await.state, State::Queued { why: Intent::Fresh });
    assert_eq!(g.claimed().await.execution, first);
    assert_eq!(g.claimed().await.execution, second);
}

pub(crate) async fn a_retried_grant_answers_the_same(g: Fixture) {
    g.waiting().await;
    g.waiting().await;
    let grant = g.grant();
    let first = g.backend().grant(grant.clone()).await.unwrap();
    let before = g.snapshot().await;
    g.advance(ms(10)).await;
    let again = g.backend().grant(GrantNext { retry: true, ..grant }).await.unwrap();
    assert_eq!(again, first);
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_retried_grant_that_never_arrived_reserves_work(g: Fixture) {
    let id = g.waiting().await;
    let granted = g.backend().grant(GrantNext { retry: true, ..g.grant() }).await.unwrap();
    assert_eq!(granted.offer.unwrap().execution, id);
}

pub(crate) async fn a_grant_respects_capabilities_and_priority(g: Fixture) {
    let cuda = Capabilities::new(["cuda"]).unwrap();
    let work = |priority| ff_core::machine::Submit { priority, ..g.work() };
    let special = g.submit(ff_core::machine::Submit { requires: cuda.clone(), ..work(9) }).await;
    let low = g.submit(work(1)).await;
    let high = g.submit(work(2)).await;
    assert_eq!(g.granted().await.execution, high);
    assert_eq!(g.granted().await.execution, low);
    let granted = g.backend().grant(GrantNext { capabilities: cuda, ..g.grant() }).await.unwrap();
    assert_eq!(granted.offer.unwrap().execution, special);
}

pub(crate) async fn a_grant_finds_no_work_past_its_deadline(g: Fixture) {
    let late = g.waiting_under(Policy { deadline: Some(ms(100)), ..steady() }).await;
    g.advance(ms(100)).await;
    let granted = g.backend().grant(g.grant()).await.unwrap();
    assert_eq!(granted.offer, None);
    assert_eq!(g.state(late).await, PublicState::Expired);
}

pub(crate) async fn a_granted_execution_can_pass_its_deadline(g: Fixture) {
    let id = g.waiting_under(Policy { deadline: Some(ms(100)), ..steady() }).await;
    let using = g.use_of(&g.granted().await);
    g.advance(ms(100)).await;
    assert_eq!(g.backend().claim_granted(using).await.refused(), Code::StaleGrant);
    assert_eq!(g.tick(id).await.did, Some(DueAction::Deadline));
    assert_eq!(g.state(id).await, PublicState::Expired);
}

pub(crate) async fn granted_work_that_was_paused_continues_its_attempt(g: Fixture) {
    let assignment = g.held().await;
    g.delay(&assignment, When::Now).await.unwrap();
    let offer = g.granted().await;
    assert_eq!(g.state(offer.execution).await, PublicState::Resumable);
    let claimed = g.backend().claim_granted(g.use_of(&offer)).await.unwrap();
    assert_eq!(claimed.assignments[0].fence.attempt, 0);
    assert_eq!(claimed.assignments[0].fence.epoch, 2);
}

pub(crate) async fn a_claim_retried_with_a_grants_request_does_not_use_it(g: Fixture) {
    g.waiting().await;
    let offer = g.granted().await;
    let claim = ClaimRequest { request: offer.request, retry: true, ..g.claim() };
    assert!(g.take(claim).await.is_empty());
    g.backend().claim_granted(g.use_of(&offer)).await.unwrap();
}
