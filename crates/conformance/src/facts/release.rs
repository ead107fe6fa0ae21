//! Releases: freed capacity reaches the best waiting execution that some worker can run, at once.

use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use ff_core::budget::BudgetLimits;
use ff_core::limits::ExecutionLimits;
use ff_core::machine::{ClaimRequest, GrantNext, Submit};
use ff_core::quota::QuotaLimits;
use ff_core::{ExecutionId, Millis, PublicState};
use ff_store::PartitionSet;
use ff_store::roles::LaneUpdate;
use ff_testkit::wait;

use crate::fixture::{
    Fixture, at_once, capabilities, in_ten_seconds, lane, ms, named, of_tokens, tokens, worker,
};

/// How long pending effects may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Completes as many as possible; how many.
async fn done(g: &Fixture) -> usize {
    let taken = g.take(ClaimRequest { max: 100, ..g.claim() }).await;
    for assignment in &taken {
        g.complete(assignment, "done").await.unwrap();
    }
    taken.len()
}

fn under_api() -> ExecutionLimits {
    ExecutionLimits { quotas: [named("api")].into(), ..ExecutionLimits::default() }
}

/// Submits work that requires `tokens`, under the quota `api`.
async fn requiring(g: &Fixture, tokens: &str) -> ExecutionId {
    let requires = capabilities(tokens);
    g.submit(Submit { requires, limits: under_api(), ..g.work() }).await
}

pub(crate) async fn a_free_slot_passes_work_that_no_worker_can_run(g: Fixture) {
    g.put_quota("api", at_once(1)).await;
    g.under(&["api"]).await;
    let held = g.claimed().await;
    for _ in 0..3 {
        requiring(&g, "gpu").await;
    }
    let plain = g.under(&["api"]).await;
    let everything = ClaimRequest {
        worker: worker("gpu"),
        capabilities: capabilities("gpu"),
        max: 10,
        ..g.claim()
    };
    assert!(g.take(everything).await.is_empty(), "all of them wait now");
    g.complete(&held, "done").await.unwrap();
    assert_eq!(g.claimed().await.execution, plain, "the worker with a gpu is gone");
}

pub(crate) async fn a_free_slot_passes_a_paused_lane(g: Fixture) {
    g.put_quota("api", at_once(1)).await;
    g.under(&["api"]).await;
    let held = g.claimed().await;
    let slow = lane("slow");
    for _ in 0..2 {
        g.submit(Submit { lane: slow.clone(), limits: under_api(), ..g.work() }).await;
    }
    let plain = g.under(&["api"]).await;
    assert!(g.take(ClaimRequest { lane: slow.clone(), max: 10, ..g.claim() }).await.is_empty());
    assert!(g.nothing_to_claim().await);
    let namespace = g.namespace.clone();
    g.update_lane(LaneUpdate {
        namespace,
        lane: slow,
        paused: Some(true),
        ..LaneUpdate::default()
    })
    .await;
    g.complete(&held, "done").await.unwrap();
    assert_eq!(g.claimed().await.execution, plain);
}

/// The effects of a commit belong to the process, not to its caller.
pub(crate) async fn a_dropped_call_loses_nothing(g: Fixture) {
    g.put_quota("api", at_once(1)).await;
    for polls in 1..8 {
        g.under(&["api"]).await;
        let held = g.claimed().await;
        let waiting = g.under(&["api"]).await;
        assert!(g.nothing_to_claim().await);
        {
            let mut leaving = pin!(g.complete(&held, "done"));
            for _ in 0..polls {
                let done = poll_fn(|cx| Poll::Ready(leaving.as_mut().poll(cx).is_ready())).await;
                if done {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        g.backend().drain().await;
        // No call is made meanwhile: it would settle what another one has left.
        let freed = wait::until_async(TIMEOUT, async || {
            if g.state(held.execution).await == PublicState::Active {
                // It never began, or did not reach the server.
                drop(g.complete(&held, "done").await);
            }
            (g.quota("api").await.active == 0).then_some(())
        });
        freed.await.unwrap_or_else(|| panic!("the slot is not free after {polls} polls"));
        let next = g.claimed().await;
        assert_eq!(next.execution, waiting);
        g.complete(&next, "done").await.unwrap();
    }
}

/// An execution in front that also waits for another limit does not block others.
pub(crate) async fn a_free_slot_passes_work_that_lacks_something_else(g: Fixture) {
    g.put_quota("api", at_once(1)).await;
    g.put_quota("slots", at_once(1)).await;
    g.under(&["slots"]).await;
    let slots = g.claimed().await;
    g.under(&["api"]).await;
    let held = g.claimed().await;
    for _ in 0..4 {
        g.under(&["api", "slots"]).await;
    }
    let plain = g.under(&["api"]).await;
    assert!(g.nothing_to_claim().await);
    g.complete(&held, "done").await.unwrap();
    assert_eq!(g.claimed().await.execution, plain);
    assert!(g.nothing_to_claim().await);
    g.complete(&slots, "done").await.unwrap();
    assert!(g.nothing_to_claim().await, "the slot of api is taken");
}

pub(crate) async fn small_work_passes_work_that_is_too_large(g: Fixture) {
    g.put_budget("team", of_tokens(100)).await;
    g.controlled(&["team"], &[], tokens(80)).await;
    let held = g.claimed().await;
    for _ in 0..70 {
        g.controlled(&["team"], &[], tokens(60)).await;
    }
    let small = g.controlled(&["team"], &[], tokens(30)).await;
    while !g.nothing_to_claim().await {}
    g.report(&held, "some", tokens(50)).await.unwrap();
    g.complete(&held, "done").await.unwrap();
    assert_eq!(g.claimed().await.execution, small, "50 of 100 are left");
}

pub(crate) async fn dead_work_keeps_no_start(g: Fixture) {
    let g = g.in_one_partition();
    g.put_quota("api", in_ten_seconds(2)).await;
    let mut ids = Vec::new();
    for _ in 0..20 {
        ids.push(g.under(&["api"]).await);
    }
    assert_eq!(done(&g).await, 2);
    for id in &ids[2..] {
        g.cancel(*id, None).await.unwrap();
    }
    for _ in 0..2 {
        g.under(&["api"]).await;
    }
    g.pass(ms(10_100)).await;
    assert_eq!(done(&g).await, 2);
}

/// One claim takes both, which it may only where they are in one partition.
pub(crate) async fn a_rate_and_a_cap_together_keep_the_pace_of_the_rate(g: Fixture) {
    let g = g.in_one_partition();
    let limits = QuotaLimits { max_active: Some(2), ..in_ten_seconds(2) };
    g.put_quota("api", limits).await;
    for _ in 0..6 {
        g.under(&["api"]).await;
    }
    for _ in 0..3 {
        assert_eq!(done(&g).await, 2);
        assert_eq!(done(&g).await, 0);
        g.pass(ms(10_100)).await;
    }
}

/// What a worker sees counts: when an execution was dispatched to it.
pub(crate) async fn a_grant_counts_as_a_start_when_it_is_used(g: Fixture) {
    g.put_quota("api", in_ten_seconds(1)).await;
    for _ in 0..2 {
        g.under(&["api"]).await;
    }
    let grant = GrantNext { ttl: ms(30_000), ..g.grant() };
    let offer = g.backend().grant(grant).await.unwrap().offer.unwrap();
    g.pass(ms(20_000)).await;
    assert_eq!(done(&g).await, 0, "the grant may be used at any moment");
    let taken = g.backend().claim_granted(g.use_of(&offer)).await.unwrap().assignments.remove(0);
    g.complete(&taken, "done").await.unwrap();
    g.pass(ms(9_000)).await;
    assert_eq!(done(&g).await, 0);
    g.pass(ms(1_200)).await;
    assert_eq!(done(&g).await, 1);
}

pub(crate) async fn a_long_grant_keeps_its_slot(g: Fixture) {
    g.put_quota("api", at_once(1)).await;
    for _ in 0..2 {
        g.under(&["api"]).await;
    }
    let grant = GrantNext { ttl: ms(120_000), ..g.grant() };
    let offer = g.backend().grant(grant).await.unwrap().offer.unwrap();
    for _ in 0..10 {
        g.pass(ms(11_000)).await;
        assert_eq!(g.quota("api").await.active, 1);
        assert!(g.nothing_to_claim().await);
    }
    g.backend().claim_granted(g.use_of(&offer)).await.unwrap();
    assert_eq!(g.quota("api").await.active, 1);
}

pub(crate) async fn work_that_waited_for_a_missing_quota_starts_when_it_is_created(g: Fixture) {
    let g = g.in_one_partition();
    for _ in 0..20 {
        g.under(&["api"]).await;
    }
    while !g.nothing_to_claim().await {}
    g.put_quota("api", at_once(100)).await;
    assert_eq!(g.take(ClaimRequest { max: 100, ..g.claim() }).await.len(), 20);
}

pub(crate) async fn released_work_keeps_its_place(g: Fixture) {
    let g = g.in_one_partition();
    g.put_quota("api", in_ten_seconds(1)).await;
    g.under(&["api"]).await;
    let second = g.under(&["api"]).await;
    assert_eq!(done(&g).await, 1);
    g.pass(ms(1_000)).await;
    let plain = g.waiting().await;
    g.pass(ms(9_200)).await;
    let taken = g.take_ids(ClaimRequest { max: 1, ..g.claim() }).await;
    assert_eq!(taken, [second], "it came before {plain}");
}

pub(crate) async fn an_admission_is_for_the_record_as_it_was_seen(g: Fixture) {
    g.put_budget("team", of_tokens(1_000)).await;
    let id = g.spending(&["team"]).await;
    for round in 1..=3u64 {
        let held = g.claimed().await;
        assert_eq!(held.execution, id);
        g.report(&held, &format!("r{round}"), tokens(10)).await.unwrap();
        g.hand_back(&held).await.unwrap();
        let used = g.budget("team").await.used;
        assert_eq!(used.values().sum::<u64>(), 10 * round, "each hold is charged once");
    }
}

pub(crate) async fn usage_of_an_earlier_period_is_not_refunded(g: Fixture) {
    let limits = BudgetLimits { period: Some(ms(60_000)), ..of_tokens(1_000) };
    g.put_budget("team", limits).await;
    let held_for = ms(600_000);
    for _ in 0..2 {
        let limits =
            ExecutionLimits { budgets: [named("team")].into(), ..ExecutionLimits::default() };
        let policy = ff_core::policy::Policy { lease_ttl: held_for, ..crate::fixture::steady() };
        g.submit(Submit { limits, policy: policy.into(), ..g.work() }).await;
    }
    let (first, second) = (g.claimed().await, g.claimed().await);
    g.report(&first, "early", tokens(80)).await.unwrap();
    g.pass(ms(61_000)).await;
    assert_eq!(g.budget("team").await.used.values().sum::<u64>(), 0);
    g.report(&second, "now", tokens(80)).await.unwrap();
    g.release_usage(&first, "back", tokens(80)).await.unwrap();
    assert_eq!(g.budget("team").await.used.values().sum::<u64>(), 80);
}

pub(crate) async fn usage_taken_back_is_reserved_again(g: Fixture) {
    g.put_budget("team", of_tokens(100)).await;
    g.controlled(&["team"], &[], tokens(100)).await;
    let held = g.claimed().await;
    g.report(&held, "all", tokens(100)).await.unwrap();
    g.release_usage(&held, "half", tokens(50)).await.unwrap();
    let budget = g.budget("team").await;
    assert_eq!((budget.used, budget.reserved), (tokens(50), tokens(50)));
    g.controlled(&["team"], &[], tokens(50)).await;
    assert!(g.nothing_to_claim().await);
}

pub(crate) async fn a_late_reset_does_not_move_the_next_period(g: Fixture) {
    let limits = BudgetLimits { period: Some(ms(60_000)), ..of_tokens(100) };
    let since = g.put_budget("team", limits).await.since;
    g.pass(ms(75_000)).await;
    assert_eq!(g.budget("team").await.since, since + Millis::new(60_000));
}

/// A safety net must reach beyond the first ones.
pub(crate) async fn every_limit_that_work_waits_for_is_listed_in_pages(g: Fixture) {
    const LIMITS: usize = 120;
    let other = g.elsewhere();
    for number in 0..LIMITS {
        let name = format!("q{number}");
        g.under(&[name.as_str()]).await;
        other.under(&[name.as_str()]).await;
    }
    for fixture in [&g, &other] {
        while !fixture.nothing_to_claim().await {}
    }
    let (mut seen, mut after) = (BTreeSet::new(), None);
    for _ in 0..100 {
        let page = g.backend().blockers(&PartitionSet::All, after.as_ref(), 50).await.unwrap();
        assert!(page.len() <= 50);
        after = page.last().cloned();
        let mine = |namespace| namespace == g.namespace || namespace == other.namespace;
        seen.extend(page.iter().filter(|(namespace, _)| mine(namespace.clone())).cloned());
        if page.len() < 50 {
            break;
        }
    }
    assert_eq!(seen.len(), 2 * LIMITS);
}
