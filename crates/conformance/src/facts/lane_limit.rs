//! The limit of a lane: how many of it run at once.

use ff_core::bounds::QUOTA;
use ff_core::explain::Reason;
use ff_core::machine::{Assignment, ClaimRequest, SetLane, Submit};
use ff_core::view::{BlockingReason, EligibilityState};
use ff_core::{Code, ExecutionId, Lane, Patch, PublicState, Resource, ResourceKey};
use ff_store::roles::LaneUpdate;
use tokio::task::JoinSet;

use crate::fixture::{Fixture, Refused, at_once, lane, ms, named};

/// This much work in lane `default`.
async fn several(g: &Fixture, count: usize) -> Vec<ExecutionId> {
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.push(g.waiting().await);
    }
    ids
}

/// Everything that is claimed.
async fn taken(g: &Fixture) -> Vec<Assignment> {
    let mut taken = Vec::new();
    for _ in 0..100 {
        let some = g.take(ClaimRequest { max: 10, ..g.claim() }).await;
        if some.is_empty() {
            return taken;
        }
        taken.extend(some);
    }
    panic!("there is no end to the work");
}

/// How many the quota of a lane counts as running.
async fn counted(g: &Fixture) -> u32 {
    let key = ResourceKey::lane(&g.namespace, &Lane::default(), g.backend().partitions());
    let all = g.snapshot().await.resources;
    all.get(&key.limit_of_lane()).and_then(Resource::as_quota).unwrap().active
}

pub(crate) async fn a_lane_runs_no_more_than_its_limit(g: Fixture) {
    assert_eq!(g.limit(2).await.max_active, Some(2));
    assert_eq!(g.lane().await.max_active, Some(2));
    several(&g, 9).await;
    let held = taken(&g).await;
    assert_eq!((held.len(), counted(&g).await, g.tickets().await.len()), (2, 2, 2));
    for assignment in &held {
        g.complete(assignment, "done").await.unwrap();
    }
    assert_eq!(taken(&g).await.len(), 2);
    assert_eq!(counted(&g).await, 2);
}

pub(crate) async fn work_that_runs_before_a_limit_is_set_is_not_counted(g: Fixture) {
    let g = g.in_one_partition();
    let ids = several(&g, 5).await;
    let before = [g.claimed().await, g.claimed().await];
    g.limit(1).await;
    let held = taken(&g).await;
    assert_eq!(held.iter().map(|taken| taken.execution).collect::<Vec<_>>(), ids[2..3]);
    for assignment in &before {
        g.complete(assignment, "done").await.unwrap();
    }
    assert_eq!((taken(&g).await.len(), counted(&g).await), (0, 1));
    g.complete(&held[0], "done").await.unwrap();
    assert_eq!(g.claimed().await.execution, ids[3]);
}

pub(crate) async fn work_that_waits_for_a_lane_limit_says_so(g: Fixture) {
    let g = g.in_one_partition();
    g.limit(1).await;
    let ids = several(&g, 2).await;
    taken(&g).await;
    let record = g.record(ids[1]).await;
    assert_eq!(record.public_state(), PublicState::RateLimited);
    let vector = record.state_vector();
    assert_eq!(vector.eligibility_state, EligibilityState::BlockedByQuota);
    assert_eq!(vector.blocking_reason, BlockingReason::WaitingForQuota);
    let explained = g.explained(ids[1]).await;
    let lane = Lane::default();
    assert_eq!(explained.reasons, [Reason::LaneLimit { lane, active: 1, max_active: Some(1) }]);
    assert!(
        explained.sentence.contains("lane default runs 1 of 1 at once"),
        "{}",
        explained.sentence
    );
    assert!(!explained.sentence.contains('@'), "{}", explained.sentence);
}

/// However work stops, its slot goes to the first that waits.
pub(crate) async fn a_slot_of_a_lane_is_freed_however_work_stops(g: Fixture) {
    let g = g.in_one_partition();
    g.limit(1).await;
    let ids = several(&g, 9).await;
    g.stop_in_every_way(&ids).await;
    // A lease that expires: its slot is freed.
    g.pass(ms(10_000)).await;
    let next = g.claimed().await;
    assert_eq!(next.execution, ids[7]);
    g.revoke(next.execution, next.fence).await.unwrap();
    assert_eq!(counted(&g).await, g.tickets().await.len() as u32);
    assert!(counted(&g).await <= 1);
}

pub(crate) async fn a_raised_limit_of_a_lane_releases_waiting_executions(g: Fixture) {
    g.limit(1).await;
    several(&g, 6).await;
    assert_eq!(taken(&g).await.len(), 1);
    g.limit(4).await;
    assert_eq!(taken(&g).await.len(), 3);
    assert_eq!(counted(&g).await, 4);
}

pub(crate) async fn a_lowered_limit_of_a_lane_takes_nothing_away(g: Fixture) {
    g.limit(3).await;
    several(&g, 5).await;
    let held = taken(&g).await;
    g.limit(1).await;
    g.renew(held[2].hold()).await.unwrap();
    for assignment in &held[..2] {
        g.complete(assignment, "done").await.unwrap();
        assert!(g.nothing_to_claim().await, "more run than the limit allows");
    }
    g.complete(&held[2], "done").await.unwrap();
    assert_eq!(taken(&g).await.len(), 1);
}

pub(crate) async fn removing_the_limit_of_a_lane_releases_all(g: Fixture) {
    g.limit(1).await;
    let ids = several(&g, 70).await;
    let held = taken(&g).await;
    let last = ids.into_iter().rfind(|id| *id != held[0].execution).unwrap();
    assert_eq!(g.state(last).await, PublicState::RateLimited);
    assert_eq!(g.unlimit().await.max_active, None);
    assert_eq!(g.state(last).await, PublicState::Waiting);
    assert_eq!(taken(&g).await.len(), 69);
    assert_eq!(g.tickets().await.len(), 1, "nothing else is admitted");
    g.complete(&held[0], "done").await.unwrap();
    assert_eq!((counted(&g).await, g.tickets().await.len()), (0, 0));
}

pub(crate) async fn a_limit_that_returns_counts_what_it_admitted(g: Fixture) {
    g.limit(2).await;
    several(&g, 6).await;
    let held = taken(&g).await;
    g.unlimit().await;
    g.limit(2).await;
    assert_eq!((taken(&g).await.len(), counted(&g).await), (0, 2));
    g.complete(&held[0], "done").await.unwrap();
    assert_eq!((taken(&g).await.len(), counted(&g).await), (1, 2));
}

pub(crate) async fn a_limit_of_a_lane_holds_for_grants(g: Fixture) {
    let g = g.in_one_partition();
    g.limit(1).await;
    let ids = several(&g, 3).await;
    let using = g.use_of(&g.granted().await);
    assert_eq!(g.backend().grant(g.grant()).await.unwrap().offer, None);
    assert!(g.nothing_to_claim().await, "a reservation has a slot");
    let held = g.backend().claim_granted(using).await.unwrap().assignments.remove(0);
    assert_eq!((held.execution, counted(&g).await), (ids[0], 1));
    assert_eq!(g.backend().grant(g.grant()).await.unwrap().offer, None);
    g.complete(&held, "done").await.unwrap();
    assert_eq!(g.granted().await.execution, ids[1]);
}

pub(crate) async fn an_unused_reservation_frees_its_slot(g: Fixture) {
    let g = g.in_one_partition();
    g.limit(1).await;
    let ids = several(&g, 2).await;
    assert_eq!(g.granted().await.execution, ids[0]);
    g.pass(ms(60_000)).await;
    assert_eq!(g.tickets().await.len(), counted(&g).await as usize);
    assert_eq!(taken(&g).await.len(), 1);
}

pub(crate) async fn a_limit_is_of_one_lane_of_one_namespace(g: Fixture) {
    let (there, slow) = (g.elsewhere(), lane("slow"));
    g.limit(1).await;
    several(&g, 3).await;
    several(&there, 3).await;
    for _ in 0..3 {
        g.submit(Submit { lane: slow.clone(), ..g.work() }).await;
    }
    assert_eq!(taken(&g).await.len(), 1);
    assert_eq!(taken(&there).await.len(), 3);
    assert_eq!(g.take(ClaimRequest { lane: slow, max: 10, ..g.claim() }).await.len(), 3);
    assert_eq!(there.lane().await.max_active, None);
}

pub(crate) async fn a_lane_and_a_quota_admit_all_or_none(g: Fixture) {
    g.put_quota("api", at_once(5)).await;
    g.limit(2).await;
    for _ in 0..4 {
        g.under(&["api"]).await;
    }
    let held = taken(&g).await;
    assert_eq!((held.len(), counted(&g).await), (2, 2));
    assert_eq!(g.quota("api").await.active, 2, "what is refused takes nothing");
    g.put_quota("api", at_once(1)).await;
    g.complete(&held[0], "done").await.unwrap();
    assert!(g.nothing_to_claim().await, "the quota is full");
    assert_eq!((counted(&g).await, g.quota("api").await.active), (1, 1));
    g.complete(&held[1], "done").await.unwrap();
    assert_eq!(taken(&g).await.len(), 1);
    assert_eq!((counted(&g).await, g.quota("api").await.active), (1, 1));
}

pub(crate) async fn the_waiters_of_a_quota_keep_to_the_limit_of_their_lane(g: Fixture) {
    g.put_quota("api", at_once(1)).await;
    for _ in 0..6 {
        g.under(&["api"]).await;
    }
    let first = taken(&g).await;
    assert_eq!(first.len(), 1);
    g.limit(2).await;
    g.put_quota("api", at_once(6)).await;
    assert_eq!((taken(&g).await.len(), counted(&g).await), (2, 2));
    g.unlimit().await;
    assert_eq!(taken(&g).await.len(), 3);
    assert_eq!(g.quota("api").await.active, 6);
}

pub(crate) async fn a_limit_of_a_lane_keeps_the_order_of_its_work(g: Fixture) {
    let g = g.in_one_partition();
    g.limit(1).await;
    let mut ids = several(&g, 3).await;
    let mut held = g.claimed().await;
    assert_eq!(held.execution, ids.remove(0));
    assert!(g.nothing_to_claim().await);
    g.advance(ms(1)).await;
    let urgent = g.submit(Submit { priority: 5, ..g.work() }).await;
    assert!(g.nothing_to_claim().await);
    for id in [urgent, ids[0], ids[1]] {
        g.complete(&held, "done").await.unwrap();
        held = g.claimed().await;
        assert_eq!(held.execution, id);
    }
}

pub(crate) async fn a_pause_keeps_the_limit_of_its_lane(g: Fixture) {
    g.limit(1).await;
    let settings = g.pause().await;
    assert_eq!((settings.paused, settings.max_active), (true, Some(1)), "unset fields stay");
    several(&g, 3).await;
    assert!(g.nothing_to_claim().await);
    let settings = g.resume().await;
    assert_eq!((settings.paused, settings.max_active), (false, Some(1)));
    assert_eq!(taken(&g).await.len(), 1);
}

pub(crate) async fn a_drain_outlasts_the_limit_of_its_lane(g: Fixture) {
    g.limit(1).await;
    several(&g, 3).await;
    assert_eq!(taken(&g).await.len(), 1);
    g.drain().await;
    assert_eq!(g.try_submit(g.work()).await.refused(), Code::LaneDraining);
    g.unlimit().await;
    assert_eq!(g.try_submit(g.work()).await.refused(), Code::LaneDraining);
    assert_eq!(taken(&g).await.len(), 2);
}

pub(crate) async fn a_limit_holds_from_its_acknowledgement(g: Fixture) {
    several(&g, 60).await;
    let mut claimers = JoinSet::new();
    for _ in 0..3 {
        let g = g.clone();
        claimers.spawn(async move {
            loop {
                let taken = g.take(g.claim()).await;
                if taken.is_empty() {
                    return;
                }
                tokio::task::yield_now().await;
            }
        });
    }
    g.limit(2).await;
    claimers.join_all().await;
    assert!(counted(&g).await <= 2);
    let active = g.snapshot().await.records;
    let late = active.values().filter(|record| record.admission.is_some()).count();
    assert_eq!(late as u32, counted(&g).await);
}

pub(crate) async fn a_limit_whose_caller_dies_is_spread_by_its_timer(g: Fixture) {
    several(&g, 30).await;
    let key = ResourceKey::lane(&g.namespace, &Lane::default(), g.backend().partitions());
    let at_home = SetLane {
        key: key.clone(),
        paused: None,
        draining: None,
        max_active: Patch::Set(2),
        defaults: Patch::Unset,
        reason: None,
        spread: true,
    };
    g.run(at_home).await.unwrap();
    g.pass(ms(5_000)).await;
    assert_eq!(taken(&g).await.len(), 2);
}

pub(crate) async fn bad_limits_of_a_lane_are_refused(g: Fixture) {
    let before = g.snapshot().await;
    for most in [0, QUOTA + 1] {
        let order = LaneUpdate { max_active: Patch::Set(most), ..g.lane_update() };
        assert_eq!(g.backend().update_lane(order).await.refused(), Code::InvalidArgument);
    }
    assert_eq!(g.unlimit().await.generation, 0, "there is nothing to remove");
    g.snapshot().await.assert_same(&before);
    g.limit(QUOTA).await;
}

pub(crate) async fn the_quota_of_a_lane_cannot_be_named(g: Fixture) {
    g.limit(1).await;
    let before = g.snapshot().await;
    let own = named("@default");
    let put = g.backend().put_quota(&g.namespace, &own, at_once(9)).await;
    assert_eq!(put.refused(), Code::InvalidArgument);
    let put = g.backend().put_budget(&g.namespace, &own, crate::fixture::of_tokens(9)).await;
    assert_eq!(put.refused(), Code::InvalidArgument);
    let gone = g.backend().delete_quota(&g.namespace, &own).await;
    assert_eq!(gone.refused(), Code::InvalidArgument);
    let read = g.backend().quota(&g.namespace, &own).await;
    assert_eq!(read.refused(), Code::InvalidArgument);
    let mut work = g.work();
    work.limits.quotas = [own].into();
    assert_eq!(g.try_submit(work).await.refused(), Code::InvalidArgument);
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn the_quota_of_a_lane_is_not_listed(g: Fixture) {
    g.limit(1).await;
    for name in ["0", "Z", "z"] {
        g.put_quota(name, at_once(1)).await;
    }
    for limit in 1..5 {
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = g.backend().quotas(&g.namespace, after.as_ref(), limit).await.unwrap();
            let Some(last) = page.last() else { break };
            after = Some(last.name.clone());
            seen.extend(page.into_iter().map(|quota| quota.name.to_string()));
        }
        assert_eq!(seen, ["0", "Z", "z"], "pages of {limit}");
    }
}
