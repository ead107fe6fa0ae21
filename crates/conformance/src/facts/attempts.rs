//! Attempts: numbered without gaps, each with one end.

use ff_core::bounds::{MESSAGE_BYTES, RANGE_BYTES};
use ff_core::policy::{Backoff, Policy, Retry};
use ff_core::record::EndReason;
use ff_core::{Code, When};

use crate::fixture::{Fixture, Refused, failure, ms, steady, worker};

pub(crate) async fn work_that_was_never_claimed_has_no_attempt(g: Fixture) {
    let id = g.waiting().await;
    assert!(g.attempts(id).await.is_empty());
}

pub(crate) async fn attempts_are_numbered_from_zero_without_gaps(g: Fixture) {
    let id = g.waiting_under(Policy { max_reclaims: 9, ..steady() }).await;
    for number in 0..6 {
        let assignment = g.claimed().await;
        assert_eq!(assignment.fence.attempt, number);
        g.pass(assignment.lease_ttl).await;
    }
    let numbers: Vec<_> = g.attempts(id).await.iter().map(|attempt| attempt.number).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
}

pub(crate) async fn every_route_of_a_claim_returns_the_stored_attempt(g: Fixture) {
    let id = g.waiting().await;
    g.fail(&g.claimed().await, failure("broken")).await.unwrap();
    g.pass(ms(1_000)).await;
    let offer = g.granted().await;
    let claimed = g.backend().claim_granted(g.use_of(&offer)).await.unwrap();
    assert_eq!(claimed.assignments[0].fence.attempt, 1);
    assert_eq!(g.record(id).await.attempt.unwrap().number, 1);
}

pub(crate) async fn each_end_of_an_attempt_has_its_reason(g: Fixture) {
    let policy = Policy { attempt_timeout: Some(ms(4_000)), lease_ttl: ms(5_000), ..steady() };
    let id = g.waiting_under(Policy { deadline: Some(ms(60_000)), ..policy }).await;
    g.fail(&g.claimed().await, failure("broken")).await.unwrap();
    g.pass(ms(1_000)).await;
    g.claimed().await;
    g.pass(ms(4_000)).await;
    g.pass(ms(1_000)).await;
    g.complete(&g.claimed().await, "done").await.unwrap();
    g.replay(id, 0).await.unwrap();
    g.cancel_held(&g.claimed().await, None).await.unwrap();
    g.replay(id, 1).await.unwrap();
    g.delay(&g.claimed().await, When::After(ms(90_000))).await.unwrap();
    g.pass(ms(60_000)).await;
    let ends = g.attempts(id).await.into_iter().map(|attempt| attempt.end.unwrap().reason);
    let expected = [
        EndReason::Failed(failure("broken")),
        EndReason::TimedOut,
        EndReason::Completed,
        EndReason::Cancelled,
        EndReason::Expired,
    ];
    assert_eq!(ends.collect::<Vec<_>>(), expected);
}

pub(crate) async fn an_attempt_knows_when_it_began_and_ended_and_who_ran_it(g: Fixture) {
    let id = g.waiting().await;
    let began = g.now().await;
    let first = g.claimed_by("ada").await;
    g.advance(ms(10)).await;
    g.hand_back(&first).await.unwrap();
    let second = g.claimed_by("bob").await;
    g.advance(ms(10)).await;
    g.complete(&second, "done").await.unwrap();
    let attempts = g.attempts(id).await;
    assert_eq!(attempts.len(), 1, "a hand-back continues the attempt");
    let attempt = &attempts[0];
    assert_eq!((attempt.started, attempt.end.as_ref().unwrap().at), (began, g.now().await));
    assert_eq!(attempt.worker, worker("bob"), "the newest worker");
    assert_eq!(attempt.lease, second.fence.lease);
}

pub(crate) async fn attempts_are_read_in_pages(g: Fixture) {
    let id = g.waiting_under(Policy { max_reclaims: 9, ..steady() }).await;
    for _ in 0..5 {
        g.claimed().await;
        g.pass(ms(10_000)).await;
    }
    let target = g.target(id);
    for (from, limit, expected) in [
        (0, 2, vec![0, 1]),
        (2, 2, vec![2, 3]),
        (4, 2, vec![4]),
        (3, 9, vec![3, 4]),
        (5, 2, vec![]),
        (u32::MAX, 2, vec![]),
    ] {
        let page = g.backend().attempts(&target, from, limit).await.unwrap();
        let numbers: Vec<_> = page.iter().map(|attempt| attempt.number).collect();
        assert_eq!(numbers, expected, "{limit} from {from}");
    }
}

pub(crate) async fn a_page_of_attempts_is_whole_when_it_takes_several_reads(g: Fixture) {
    let in_one_read = (RANGE_BYTES / MESSAGE_BYTES) as u32;
    let all = in_one_read + 3;
    let retry = Retry { max_attempts: all, backoff: Backoff::none(), ..steady().retry };
    let id = g.waiting_under(Policy { retry, ..steady() }).await;
    for _ in 0..all {
        g.fail(&g.claimed().await, failure("broken")).await.unwrap();
    }
    let numbers = async |from, limit| {
        let page = g.backend().attempts(&g.target(id), from, limit).await.unwrap();
        page.iter().map(|attempt| attempt.number).collect::<Vec<_>>()
    };
    assert!(numbers(0, 1_000).await.into_iter().eq(0..all));
    assert!(numbers(1, in_one_read as usize + 1).await.into_iter().eq(1..in_one_read + 2));
}

pub(crate) async fn a_page_of_no_or_too_many_attempts_is_refused(g: Fixture) {
    let target = g.target(g.waiting().await);
    for limit in [0, 1_001] {
        let refused = g.backend().attempts(&target, 0, limit).await.refused();
        assert_eq!(refused, Code::InvalidArgument);
    }
}

pub(crate) async fn an_attempt_in_progress_has_no_end(g: Fixture) {
    let assignment = g.held().await;
    let attempts = g.attempts(assignment.execution).await;
    assert_eq!(attempts[0].end, None);
    assert_eq!(attempts[0].lease, assignment.fence.lease);
}
