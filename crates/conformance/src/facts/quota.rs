//! Quotas: how many at once, how many in any window, all or none.

use ff_core::limits::Blocker;
use ff_core::machine::{ClaimRequest, Reply, Submit, Unblock};
use ff_core::quota::QuotaLimits;
use ff_core::view::{BlockingReason, EligibilityState};
use ff_core::{Code, ExecutionId, Millis, PublicState, ResourceKind};

use crate::fixture::{Fixture, Refused, at_once, in_ten_seconds, ms, named};

/// As many claims as give something.
async fn drain(g: &Fixture) -> Vec<ExecutionId> {
    let mut taken = Vec::new();
    for _ in 0..100 {
        let some = g.take(ClaimRequest { max: 10, ..g.claim() }).await;
        if some.is_empty() {
            return taken;
        }
        taken.extend(some.into_iter().map(|assignment| assignment.execution));
    }
    panic!("there is no end to the work");
}

/// Completes as many as possible; how many.
async fn done(g: &Fixture) -> usize {
    let taken = g.take(ClaimRequest { max: 100, ..g.claim() }).await;
    for assignment in &taken {
        g.complete(assignment, "done").await.unwrap();
    }
    taken.len()
}

pub(crate) async fn a_quota_runs_no_more_than_its_limit(g: Fixture) {
    g.put_quota("api", at_once(2)).await;
    for _ in 0..5 {
        g.under(&["api"]).await;
    }
    assert_eq!(drain(&g).await.len(), 2);
    assert_eq!(g.quota("api").await.active, 2);
    assert_eq!(g.tickets().await.len(), 2);
}

pub(crate) async fn work_that_waits_for_a_slot_says_so(g: Fixture) {
    let g = g.in_one_partition();
    g.put_quota("api", at_once(1)).await;
    g.under(&["api"]).await;
    let second = g.under(&["api"]).await;
    drain(&g).await;
    let record = g.record(second).await;
    assert_eq!(record.public_state(), PublicState::RateLimited);
    let vector = record.state_vector();
    assert_eq!(vector.eligibility_state, EligibilityState::BlockedByQuota);
    assert_eq!(vector.blocking_reason, BlockingReason::WaitingForQuota);
    let explained = g.explained(second).await;
    assert_eq!(explained.reasons[0].as_str(), "quota");
    assert!(explained.sentence.contains("quota api"), "{}", explained.sentence);
}

/// However work stops, its slot goes to the first that waits.
pub(crate) async fn a_slot_is_freed_however_work_stops(g: Fixture) {
    let g = g.in_one_partition();
    g.put_quota("api", at_once(1)).await;
    let mut ids = Vec::new();
    for _ in 0..9 {
        ids.push(g.under(&["api"]).await);
    }
    g.stop_in_every_way(&ids).await;
    // A lease that expires: its slot is freed.
    g.pass(ms(10_000)).await;
    assert_eq!(g.tickets().await.len(), 0);
    let next = g.claimed().await;
    assert_eq!(next.execution, ids[7]);
    g.revoke(next.execution, next.fence).await.unwrap();
    assert_eq!(g.quota("api").await.active, g.tickets().await.len() as u32);
}

pub(crate) async fn an_unused_admission_is_released(g: Fixture) {
    g.put_quota("api", at_once(1)).await;
    let id = g.under(&["api"]).await;
    let offer = g.granted().await;
    assert_eq!(offer.execution, id);
    assert_eq!(g.quota("api").await.active, 1);
    g.pass(ms(60_000)).await;
    assert_eq!(g.quota("api").await.active, 0, "the admission was never used");
    assert_eq!(g.claimed().await.execution, id);
}

pub(crate) async fn no_window_admits_too_many(g: Fixture) {
    let g = g.in_one_partition();
    g.put_quota("api", in_ten_seconds(3)).await;
    for _ in 0..8 {
        g.under(&["api"]).await;
    }
    assert_eq!(done(&g).await, 3);
    g.pass(ms(9_000)).await;
    assert_eq!(done(&g).await, 0, "the window is still full");
    g.pass(ms(1_200)).await;
    assert_eq!(done(&g).await, 3);
    g.pass(ms(10_200)).await;
    assert_eq!(done(&g).await, 2);
}

pub(crate) async fn a_later_claim_sees_earlier_starts(g: Fixture) {
    g.put_quota("api", in_ten_seconds(2)).await;
    for expected in [1, 1, 0, 0] {
        g.under(&["api"]).await;
        assert_eq!(done(&g).await, expected);
        g.pass(ms(1_000)).await;
    }
}

pub(crate) async fn a_waiter_starts_when_the_rate_allows(g: Fixture) {
    g.put_quota("api", in_ten_seconds(1)).await;
    for _ in 0..3 {
        g.under(&["api"]).await;
    }
    for _ in 0..3 {
        assert_eq!(done(&g).await, 1);
        g.pass(ms(9_900)).await;
        assert_eq!(done(&g).await, 0);
        g.pass(ms(200)).await;
    }
}

/// Neither keeps what the other waits for.
pub(crate) async fn two_executions_that_wait_for_the_same_quotas_both_start(g: Fixture) {
    g.put_quota("api", in_ten_seconds(1)).await;
    g.put_quota("slots", in_ten_seconds(1)).await;
    g.under(&["slots"]).await;
    for _ in 0..2 {
        g.under(&["api", "slots"]).await;
    }
    assert_eq!(done(&g).await, 1);
    // Another execution wants the start that is reserved for the first of them.
    g.pass(ms(9_000)).await;
    g.under(&["api"]).await;
    let mut ended = done(&g).await;
    for _ in 0..30 {
        g.pass(ms(2_500)).await;
        ended += done(&g).await;
    }
    assert_eq!(ended, 3);
}

pub(crate) async fn several_quotas_admit_all_or_none(g: Fixture) {
    g.put_quota("api", at_once(5)).await;
    g.put_quota("slots", at_once(1)).await;
    g.under(&["api", "slots"]).await;
    g.under(&["api", "slots"]).await;
    assert_eq!(drain(&g).await.len(), 1);
    assert_eq!(g.quota("api").await.active, 1, "what is refused takes nothing");
    assert_eq!(g.quota("slots").await.active, 1);
}

pub(crate) async fn an_execution_that_waits_for_another_limit_stays_blocked(g: Fixture) {
    let g = g.in_one_partition();
    g.put_quota("api", at_once(5)).await;
    g.put_quota("slots", at_once(1)).await;
    g.under(&["api", "slots"]).await;
    let second = g.under(&["api", "slots"]).await;
    drain(&g).await;
    let on = Blocker { kind: ResourceKind::Quota, name: named("api") };
    let unblock = Unblock { execution: second, on };
    assert_eq!(g.run(unblock).await.unwrap(), Reply::Applied(false));
    assert_eq!(g.state(second).await, PublicState::RateLimited);
    assert_eq!(drain(&g).await.len(), 0);
}

pub(crate) async fn a_missing_quota_admits_nothing(g: Fixture) {
    let id = g.under(&["api"]).await;
    assert!(g.nothing_to_claim().await);
    assert_eq!(g.state(id).await, PublicState::RateLimited);
    g.put_quota("api", at_once(1)).await;
    assert_eq!(g.claimed().await.execution, id, "it is released when the quota is created");
}

pub(crate) async fn a_raised_limit_releases_waiting_executions(g: Fixture) {
    g.put_quota("api", at_once(1)).await;
    for _ in 0..6 {
        g.under(&["api"]).await;
    }
    assert_eq!(drain(&g).await.len(), 1);
    g.put_quota("api", at_once(4)).await;
    assert_eq!(drain(&g).await.len(), 3);
    assert_eq!(g.quota("api").await.active, 4);
}

pub(crate) async fn work_without_limits_passes_those_that_wait(g: Fixture) {
    g.put_quota("api", at_once(1)).await;
    for _ in 0..20 {
        g.under(&["api"]).await;
    }
    let plain = g.waiting().await;
    let taken = drain(&g).await;
    assert_eq!(taken.len(), 2);
    assert!(taken.contains(&plain));
}

pub(crate) async fn limited_work_keeps_its_place_before_plain_work(g: Fixture) {
    let g = g.in_one_partition();
    g.put_quota("api", at_once(10)).await;
    let first = g.under(&["api"]).await;
    g.waiting().await;
    assert_eq!(g.claimed().await.execution, first);
}

/// An execution that an earlier quota of the same name admitted has no slot of this one to free.
pub(crate) async fn a_recreated_quota_counts_what_it_admits(g: Fixture) {
    g.put_quota("api", at_once(1)).await;
    for _ in 0..3 {
        g.under(&["api"]).await;
    }
    let before = g.claimed().await;
    g.advance(ms(10)).await;
    g.backend().delete_quota(&g.namespace, &"api".parse().unwrap()).await.unwrap();
    g.put_quota("api", at_once(1)).await;
    assert_eq!(g.quota("api").await.active, 0);
    g.claimed().await;
    g.complete(&before, "done").await.unwrap();
    assert_eq!(g.quota("api").await.active, 1);
    assert!(g.nothing_to_claim().await);
}

pub(crate) async fn quotas_of_one_namespace_are_not_those_of_another(g: Fixture) {
    let rival = g.elsewhere();
    g.put_quota("api", at_once(1)).await;
    rival.put_quota("api", at_once(1)).await;
    g.under(&["api"]).await;
    rival.under(&["api"]).await;
    assert_eq!(drain(&g).await.len(), 1);
    assert_eq!(drain(&rival).await.len(), 1);
}

pub(crate) async fn bad_limits_are_refused(g: Fixture) {
    let none = QuotaLimits { max_active: None, ..at_once(1) };
    let zero = at_once(0);
    let long = QuotaLimits { jitter: Millis::from_hours(1), ..at_once(1) };
    let empty = QuotaLimits { window: Millis::ZERO, ..in_ten_seconds(1) };
    for limits in [none, zero, long, empty] {
        let put = g.backend().put_quota(&g.namespace, &named("api"), limits).await;
        assert_eq!(put.refused(), Code::InvalidArgument);
    }
    let missing = g.backend().quota(&g.namespace, &named("api")).await;
    assert_eq!(missing.refused(), Code::NotFound);
}

pub(crate) async fn too_many_quotas_are_refused(g: Fixture) {
    let mut work: Submit = g.work();
    work.limits.quotas = (0..9).map(|n| named(&format!("q{n}"))).collect();
    assert_eq!(g.try_submit(work).await.refused(), Code::TooLarge);
}
