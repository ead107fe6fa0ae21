//! Claiming: which worker gets what, in which order, and how much at once.

use std::collections::BTreeSet;

use bytes::Bytes;
use ff_core::limits::ExecutionLimits;
use ff_core::machine::{ClaimRequest, Claimed, Submit};
use ff_core::policy::{Policy, Retry};
use ff_core::record::{Exited, Tags};
use ff_core::{Code, Fence, Kind, Lane, LeaseId, Millis, Payload, PublicState, When};
use tokio::task::JoinSet;

use crate::fixture::{
    Fixture, Refused, busy, failure, ms, named, of_tokens, steady, tag, tokens, worker,
};

pub(crate) async fn an_empty_lane_gives_nothing(g: Fixture) {
    let before = g.snapshot().await;
    assert_eq!(g.try_claim(g.claim()).await.unwrap(), Claimed::default());
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_claim_scans_only_its_lane(g: Fixture) {
    let lane = Lane::new("slow").unwrap();
    let id = g.submit(Submit { lane: lane.clone(), ..g.work() }).await;
    assert!(g.nothing_to_claim().await);
    assert_eq!(g.take(ClaimRequest { lane, ..g.claim() }).await[0].execution, id);
}

pub(crate) async fn higher_priority_goes_first(g: Fixture) {
    let mut expected = Vec::new();
    for priority in [5, 0, -9_000, 9_000, 1, -1, 300] {
        expected.push((priority, g.submit(Submit { priority, ..g.work() }).await));
        g.advance(ms(1)).await;
    }
    expected.sort_by_key(|(priority, _)| std::cmp::Reverse(*priority));
    for (priority, id) in expected {
        assert_eq!(g.claimed().await.execution, id, "priority {priority}");
    }
}

pub(crate) async fn equal_priority_goes_first_in_first_out(g: Fixture) {
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(g.waiting().await);
        g.advance(ms(1)).await;
    }
    for id in ids {
        assert_eq!(g.claimed().await.execution, id);
    }
}

pub(crate) async fn work_of_one_millisecond_goes_by_its_ids(g: Fixture) {
    let g = g.in_one_partition();
    let mut works: Vec<_> = (0..6).map(|_| g.work()).collect();
    let ids: Vec<_> = works.iter().map(|work| work.id).collect();
    assert!(ids.is_sorted(), "ids of one process grow");
    works.reverse();
    for work in works {
        g.submit(work).await;
    }
    for id in ids {
        assert_eq!(g.claimed().await.execution, id);
    }
}

pub(crate) async fn one_step_of_priority_outweighs_any_age(g: Fixture) {
    g.waiting().await;
    g.advance(ff_core::Millis::from_days(3_650)).await;
    let urgent = g.submit(Submit { priority: 1, ..g.work() }).await;
    assert_eq!(g.claimed().await.execution, urgent);
}

pub(crate) async fn a_claim_takes_at_most_its_max(g: Fixture) {
    let g = g.in_one_partition();
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(g.waiting().await);
    }
    assert_eq!(g.take_ids(ClaimRequest { max: 3, ..g.claim() }).await, ids[..3]);
    assert_eq!(g.take_ids(ClaimRequest { max: 3, ..g.claim() }).await, ids[3..]);
}

pub(crate) async fn each_execution_of_a_claim_has_its_own_lease(g: Fixture) {
    for _ in 0..4 {
        g.waiting().await;
    }
    let taken = g.take(ClaimRequest { max: 4, ..g.claim() }).await;
    let leases: BTreeSet<_> = taken.iter().map(|a| a.fence.lease).collect();
    assert_eq!(leases.len(), 4);
}

pub(crate) async fn a_claim_stops_at_a_mebibyte_of_input(g: Fixture) {
    let g = g.in_one_partition();
    let input = Payload::bytes(Bytes::from(vec![7; 400 * 1_024]));
    for _ in 0..3 {
        g.submit(Submit { input: input.clone(), ..g.work() }).await;
    }
    let first = g.try_claim(ClaimRequest { max: 10, ..g.claim() }).await.unwrap();
    assert_eq!(first.assignments.len(), 2);
    assert!(first.again, "there was more than one answer carries");
    let second = g.try_claim(ClaimRequest { max: 10, ..g.claim() }).await.unwrap();
    assert_eq!(second.assignments.len(), 1);
    assert!(!second.again);
}

pub(crate) async fn a_claim_takes_one_execution_however_large_its_input(g: Fixture) {
    let g = g.in_one_partition();
    let input = Payload::bytes(Bytes::from(vec![7; ff_core::bounds::PAYLOAD_BYTES]));
    for _ in 0..2 {
        g.submit(Submit { input: input.clone(), ..g.work() }).await;
    }
    for _ in 0..2 {
        assert_eq!(g.take(ClaimRequest { max: 2, ..g.claim() }).await.len(), 1);
    }
}

pub(crate) async fn claimed_work_is_not_claimed_again(g: Fixture) {
    let assignment = g.held().await;
    assert!(g.nothing_to_claim().await);
    g.advance(assignment.lease_ttl).await;
    assert!(g.nothing_to_claim().await, "an expired lease has no holder until its timer fires");
}

pub(crate) async fn an_assignment_has_all_a_worker_needs(g: Fixture) {
    let submit = Submit {
        kind: Kind::new("render").unwrap(),
        input: Payload::json("[7]"),
        tags: Tags::from([tag("team", "blue")]),
        policy: busy().into(),
        ..g.work()
    };
    g.submit(submit.clone()).await;
    let created = g.now().await;
    g.advance(ms(5)).await;
    let now = g.now().await;
    let claim = g.claim();
    let assignment = g.take(claim.clone()).await.remove(0);
    let record = g.record(submit.id).await;
    let lease = LeaseId { request: claim.request, index: assignment.fence.lease.index };
    assert_eq!(assignment.fence, Fence { lease, epoch: 1, attempt: 0 });
    assert_eq!(Some(assignment.fence), record.fence(), "the store has the same fence");
    assert_eq!(assignment.namespace, submit.namespace);
    assert_eq!((assignment.lane, assignment.kind), (submit.lane, submit.kind));
    assert_eq!((assignment.input, assignment.tags), (submit.input, submit.tags));
    assert_eq!((assignment.created, assignment.claimed_at, assignment.run), (created, now, 0));
    assert_eq!((assignment.until, assignment.lease_ttl), (now + ms(10_000), ms(10_000)));
    assert_eq!(assignment.timeout_at, Some(now + ms(3_000)));
}

pub(crate) async fn an_assignment_has_its_attempt_and_earlier_progress(g: Fixture) {
    g.put_budget("team", of_tokens(100)).await;
    let retry = Retry { max_attempts: 2, ..steady().retry };
    let policy = Policy { retry, ..steady() };
    let limits = ExecutionLimits { budgets: [named("team")].into(), ..ExecutionLimits::default() };
    let submit = Submit { policy: policy.into(), priority: 7, limits, ..g.work() };
    g.submit(submit.clone()).await;
    let first = g.claimed().await;
    assert_eq!((first.priority, &first.budgets), (7, &submit.limits.budgets));
    assert_eq!((first.failures, first.max_attempts), (0, 2));
    assert!(!first.is_last_attempt() && first.used.is_empty() && first.progress.is_none());
    g.progress(&first, 40).await.unwrap();
    g.report(&first, "prompt", tokens(9)).await.unwrap();
    g.hand_back(&first).await.unwrap();
    let resumed = g.claimed().await;
    assert_eq!(resumed.progress.as_ref().and_then(|progress| progress.percent), Some(40));
    assert_eq!((&resumed.used, resumed.fence.attempt), (&tokens(9), 0));
    g.fail(&resumed, failure("again")).await.unwrap();
    g.advance(ms(1_000)).await;
    g.tick(submit.id).await;
    let last = g.claimed().await;
    assert_eq!((last.failures, last.fence.attempt), (1, 1));
    assert!(last.is_last_attempt() && last.progress.is_none(), "a new try has reported nothing");
    assert_eq!(g.fail(&last, failure("again")).await.unwrap(), Exited::Failed);
}

pub(crate) async fn claimed_work_is_active_and_knows_its_worker(g: Fixture) {
    let assignment = g.held().await;
    let record = g.record(assignment.execution).await;
    assert_eq!(record.public_state(), PublicState::Active);
    let lease = record.lease().unwrap();
    assert_eq!(lease.worker, g.claim().worker);
    assert_eq!(lease.until, g.now().await + ms(10_000));
    assert_eq!(record.attempt.unwrap().worker, g.claim().worker);
}

pub(crate) async fn a_retried_claim_finds_the_same_leases_and_takes_no_more(g: Fixture) {
    for _ in 0..5 {
        g.waiting().await;
    }
    let claim = ClaimRequest { max: 3, ..g.claim() };
    let first = g.take(claim.clone()).await;
    let before = g.snapshot().await;
    let again = g.take(ClaimRequest { retry: true, ..claim }).await;
    assert_eq!(again, first);
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_retried_claim_that_never_arrived_takes_work(g: Fixture) {
    let id = g.waiting().await;
    let taken = g.take(ClaimRequest { retry: true, ..g.claim() }).await;
    assert_eq!(taken[0].execution, id);
}

pub(crate) async fn a_repeated_request_reuses_no_lease_id(g: Fixture) {
    let id = g.waiting().await;
    let claim = g.claim();
    let mut leases = BTreeSet::new();
    for round in 0..4 {
        let taken = g.take(ClaimRequest { retry: round > 0, ..claim.clone() }).await.remove(0);
        assert_eq!(taken.execution, id);
        assert!(leases.insert(taken.fence.lease), "{:?} was used before", taken.fence);
        g.hand_back(&taken).await.unwrap();
        // A lease of another request in between changes nothing.
        let other = g.claimed().await;
        g.hand_back(&other).await.unwrap();
    }
}

pub(crate) async fn a_repeated_revoke_ends_no_later_lease_of_the_same_request(g: Fixture) {
    let id = g.waiting().await;
    let claim = g.claim();
    let first = g.take(claim.clone()).await.remove(0);
    g.revoke(id, first.fence).await.unwrap();
    let second = g.take(ClaimRequest { retry: true, ..claim }).await.remove(0);
    let before = g.snapshot().await;
    // It is answered as before, or refused because the lease is gone.
    let _ = g.revoke(id, first.fence).await;
    g.snapshot().await.assert_same(&before);
    assert_eq!(g.record(id).await.fence(), Some(second.fence));
}

pub(crate) async fn a_retried_claim_finds_only_what_is_still_held(g: Fixture) {
    for _ in 0..3 {
        g.waiting().await;
    }
    let claim = ClaimRequest { max: 3, ..g.claim() };
    let first = g.take(claim.clone()).await;
    g.complete(&first[0], "done").await.unwrap();
    let again = g.take(ClaimRequest { retry: true, ..claim }).await;
    assert_eq!(again, first[1..]);
}

pub(crate) async fn a_claim_repeated_by_another_worker_is_refused(g: Fixture) {
    let g = g.in_one_partition();
    g.waiting().await;
    let waiting = g.waiting().await;
    let claim = g.claim();
    let taken = g.take_ids(claim.clone()).await;
    let before = g.snapshot().await;
    let stolen = ClaimRequest { worker: worker("bob"), retry: true, ..claim.clone() };
    let answer = g.backend().claim(stolen, Millis::ZERO).await;
    assert_eq!(answer.refused(), Code::InvalidArgument);
    g.snapshot().await.assert_same(&before);
    assert_eq!(g.state(waiting).await, PublicState::Waiting);
    assert_eq!(g.take_ids(ClaimRequest { retry: true, ..claim }).await, taken);
}

pub(crate) async fn a_retried_claim_does_not_revive_an_expired_lease(g: Fixture) {
    let id = g.waiting().await;
    let claim = g.claim();
    g.take(claim.clone()).await;
    g.advance(ms(10_000)).await;
    let before = g.snapshot().await;
    assert!(g.take(ClaimRequest { retry: true, ..claim }).await.is_empty());
    g.snapshot().await.assert_same(&before);
    assert_eq!(g.state(id).await, PublicState::Active);
}

pub(crate) async fn work_whose_deadline_has_passed_is_not_dispatched(g: Fixture) {
    let late = g.waiting_under(Policy { deadline: Some(ms(100)), ..steady() }).await;
    g.advance(ms(100)).await;
    let good = g.waiting().await;
    assert_eq!(g.take(g.claim()).await[0].execution, good, "the next in the queue is claimed");
    assert_eq!(g.state(late).await, PublicState::Expired);
}

pub(crate) async fn delayed_work_is_not_claimable_before_its_time(g: Fixture) {
    let id = g.submit(Submit { start: When::After(ms(100)), ..g.work() }).await;
    g.pass(ms(99)).await;
    assert!(g.nothing_to_claim().await);
    g.pass(ms(1)).await;
    assert_eq!(g.claimed().await.execution, id);
}

pub(crate) async fn concurrent_claims_take_each_execution_once(g: Fixture) {
    let works: Vec<_> = (0..60).map(|_| g.work()).collect();
    g.backend().submit(works.clone()).await.unwrap();
    let mut workers = JoinSet::new();
    for _ in 0..8 {
        let g = g.clone();
        workers.spawn(async move { drain(&g).await });
    }
    let mut taken: Vec<_> = workers.join_all().await.into_iter().flatten().collect();
    let mut submitted: Vec<_> = works.iter().map(|work| work.id).collect();
    taken.sort();
    submitted.sort();
    assert_eq!(taken, submitted);
}

/// Claims until there is nothing left; a worker that is asked to try again repeats its call.
async fn drain(g: &Fixture) -> Vec<ff_core::ExecutionId> {
    let mut taken = Vec::new();
    let mut claim = ClaimRequest { max: 3, ..g.claim() };
    loop {
        match g.try_claim(claim.clone()).await {
            Ok(claimed) if claimed.assignments.is_empty() && !claimed.again => return taken,
            Ok(claimed) => {
                taken.extend(claimed.assignments.into_iter().map(|a| a.execution));
                claim = ClaimRequest { max: 3, ..g.claim() };
            }
            Err(error) if error.is_retryable() => claim.retry = true,
            Err(error) => panic!("a claim failed: {error}"),
        }
    }
}
