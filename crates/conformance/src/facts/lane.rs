//! Lanes: an operator pauses and drains them, and resumes them.

use ff_core::bounds::{MESSAGE_BYTES, PAGE};
use ff_core::machine::{
    ClaimRequest, Claimed, CopyResource, GrantNext, Granted, SetLane, SetPriority, Submit, Withheld,
};
use ff_core::policy::Policy;
use ff_core::resource::{Body, LaneState};
use ff_core::{Code, Lane, Partition, Patch, PublicState, ResourceKey, When};
use ff_store::listing::Filter;
use ff_store::roles::{LaneUpdate, LaneView};
use tokio::task::JoinSet;

use crate::fixture::{Fixture, Refused, exit_calls, failure, key, lane, ms, steady};

/// An update of another lane than `default`.
fn of_lane(g: &Fixture, name: &str) -> LaneUpdate {
    LaneUpdate { lane: lane(name), ..g.lane_update() }
}

fn because(g: &Fixture, why: &str) -> LaneUpdate {
    LaneUpdate { paused: Some(true), reason: Some(why.into()), ..g.lane_update() }
}

/// Work with an idempotency key.
fn named(g: &Fixture) -> Submit {
    let key = Some(key("order-1"));
    Submit { id: g.backend().new_id(&g.namespace, key.as_ref()), key, ..g.work() }
}

/// The answer of a lane that has work and dispatches none.
fn withheld() -> Claimed {
    Claimed { withheld: Some(Withheld::LanePaused), ..Claimed::default() }
}

/// Reads every page of at most `limit`.
async fn pages(g: &Fixture, limit: usize) -> Vec<LaneView> {
    let (mut seen, mut after): (_, Option<Lane>) = (Vec::new(), None);
    for _ in 0..1_000 {
        let page = g.backend().lanes(&g.namespace, after.as_ref(), limit).await.unwrap();
        assert!(page.len() <= limit);
        let Some(last) = page.last() else { return seen };
        after = Some(last.lane.clone());
        seen.extend(page);
    }
    panic!("the list has no end");
}

pub(crate) async fn a_lane_without_settings_is_open(g: Fixture) {
    g.waiting().await;
    assert_eq!(g.lane().await, LaneState::default());
    assert_eq!(pages(&g, 10).await, [], "only lanes with settings are listed");
}

pub(crate) async fn a_paused_lane_gives_no_work(g: Fixture) {
    let id = g.waiting().await;
    g.pause().await;
    let before = g.snapshot().await;
    let many = ClaimRequest { max: 10, ..g.claim() };
    assert_eq!(g.try_claim(g.claim()).await.unwrap(), withheld());
    assert_eq!(g.try_claim(many).await.unwrap(), withheld());
    g.snapshot().await.assert_same(&before);
    assert_eq!(g.state(id).await, PublicState::Waiting);
}

pub(crate) async fn a_paused_lane_grants_no_work(g: Fixture) {
    g.waiting().await;
    g.pause().await;
    let before = g.snapshot().await;
    let granted = g.backend().grant(g.grant()).await.unwrap();
    assert_eq!(granted, Granted { withheld: Some(Withheld::LanePaused), ..Granted::default() });
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_grant_of_a_paused_lane_cannot_be_used(g: Fixture) {
    g.waiting().await;
    let using = g.use_of(&g.granted().await);
    g.pause().await;
    let before = g.snapshot().await;
    assert_eq!(g.backend().claim_granted(using.clone()).await.refused(), Code::LanePaused);
    g.snapshot().await.assert_same(&before);
    g.resume().await;
    let claimed = g.backend().claim_granted(using.clone()).await.unwrap();
    assert_eq!(claimed.assignments[0].execution, using.target.execution);
}

pub(crate) async fn a_grant_that_expires_in_a_paused_lane_waits_there(g: Fixture) {
    let id = g.waiting().await;
    let using = g.use_of(&g.granted().await);
    g.pause().await;
    g.pass(ms(5_000)).await;
    assert_eq!(g.backend().claim_granted(using).await.refused(), Code::StaleGrant);
    assert_eq!(g.try_claim(g.claim()).await.unwrap(), withheld());
    g.resume().await;
    assert_eq!(g.claimed().await.execution, id);
}

pub(crate) async fn a_claim_repeated_after_a_pause_finds_its_leases(g: Fixture) {
    for _ in 0..3 {
        g.waiting().await;
    }
    let (claim, grant) = (g.claim(), g.grant());
    let taken = g.try_claim(claim.clone()).await.unwrap();
    let reserved = g.backend().grant(grant.clone()).await.unwrap();
    let using = g.use_of(&g.granted().await);
    let used = g.backend().claim_granted(using.clone()).await.unwrap();
    g.pause().await;
    let before = g.snapshot().await;
    let again = ClaimRequest { retry: true, ..claim };
    assert_eq!(g.try_claim(again).await.unwrap(), taken);
    let again = GrantNext { retry: true, ..grant };
    assert_eq!(g.backend().grant(again).await.unwrap(), reserved);
    assert_eq!(g.backend().claim_granted(using).await.unwrap(), used);
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_paused_lane_without_work_withholds_nothing(g: Fixture) {
    g.pause().await;
    assert_eq!(g.try_claim(g.claim()).await.unwrap(), Claimed::default());
    g.needing("cuda").await;
    assert_eq!(g.try_claim(g.claim()).await.unwrap(), Claimed::default(), "nothing it could run");
    assert_eq!(g.backend().grant(g.grant()).await.unwrap(), Granted::default());
}

pub(crate) async fn held_work_continues_in_a_paused_lane(g: Fixture) {
    let exits = exit_calls(&g.held().await.hold()).len();
    for exit in 0..exits {
        let assignment = g.held().await;
        g.pause().await;
        g.renew(assignment.hold()).await.unwrap();
        g.progress(&assignment, 50).await.unwrap();
        let (call, action) = exit_calls(&assignment.hold()).swap_remove(exit);
        g.run(action).await.unwrap_or_else(|error| panic!("{call}: {error}"));
        g.resume().await;
        g.cancel(assignment.execution, None).await.ok();
    }
}

pub(crate) async fn a_resumed_lane_gives_its_work_in_the_old_order(g: Fixture) {
    let first = g.waiting().await;
    g.advance(ms(1)).await;
    let second = g.waiting().await;
    g.pause().await;
    g.advance(ms(1)).await;
    let third = g.waiting().await;
    let urgent = g.submit(Submit { priority: 5, ..g.work() }).await;
    assert_eq!(g.try_claim(g.claim()).await.unwrap(), withheld());
    g.advance(ms(60_000)).await;
    g.resume().await;
    for id in [urgent, first, second, third] {
        assert_eq!(g.claimed().await.execution, id);
    }
}

pub(crate) async fn an_update_applies_to_one_lane_of_one_namespace(g: Fixture) {
    let (there, slow) = (g.elsewhere(), lane("slow"));
    g.update_lane(LaneUpdate { paused: Some(true), draining: Some(true), ..g.lane_update() }).await;
    let other = g.submit(Submit { lane: slow.clone(), ..g.work() }).await;
    let claim = ClaimRequest { lane: slow.clone(), ..g.claim() };
    assert_eq!(g.take_ids(claim).await, [other]);
    let theirs = there.waiting().await;
    assert_eq!(there.claimed().await.execution, theirs);
    assert_eq!(there.lane().await, LaneState::default());
    assert_eq!(g.backend().lane(&g.namespace, &slow).await.unwrap(), LaneState::default());
    there.resume().await;
    assert!(g.lane().await.paused && g.lane().await.draining);
}

pub(crate) async fn timers_fire_in_a_paused_lane(g: Fixture) {
    let delayed = g.delayed(ms(500)).await;
    let expiring = g.waiting_under(Policy { deadline: Some(ms(1_000)), ..steady() }).await;
    g.pause().await;
    g.pass(ms(500)).await;
    assert_eq!(g.state(delayed).await, PublicState::Waiting, "its delay is over");
    g.pass(ms(500)).await;
    assert_eq!(g.state(expiring).await, PublicState::Expired);
    assert_eq!(g.try_claim(g.claim()).await.unwrap(), withheld());
    g.resume().await;
    assert_eq!(g.claimed().await.execution, delayed);
}

pub(crate) async fn work_that_returns_to_a_paused_lane_waits_there(g: Fixture) {
    let lost = g.held().await;
    let failing = g.held().await;
    g.pause().await;
    g.fail(&failing, failure("broken")).await.unwrap();
    g.pass(lost.lease_ttl).await;
    for id in [lost.execution, failing.execution] {
        assert_eq!(g.state(id).await, PublicState::Waiting);
    }
    assert_eq!(g.try_claim(g.claim()).await.unwrap(), withheld());
    g.resume().await;
    let attempts = [g.claimed().await, g.claimed().await].map(|taken| taken.fence.attempt);
    assert_eq!(attempts, [1, 1]);
}

pub(crate) async fn work_in_a_paused_lane_can_be_changed(g: Fixture) {
    let ended = g.completed().await;
    let first = g.waiting().await;
    g.advance(ms(1)).await;
    let (second, third) = (g.waiting().await, g.waiting().await);
    g.pause().await;
    let target = g.target(second);
    g.backend().set_priority(SetPriority { target, priority: 7 }).await.unwrap();
    g.cancel(third, None).await.unwrap();
    g.advance(ms(1)).await;
    assert_eq!(g.replay(ended, 0).await.unwrap(), 1);
    assert_eq!(g.try_claim(g.claim()).await.unwrap(), withheld());
    g.resume().await;
    for id in [second, first, ended] {
        assert_eq!(g.claimed().await.execution, id);
    }
    assert!(g.nothing_to_claim().await);
}

pub(crate) async fn a_pause_holds_from_its_acknowledgement(g: Fixture) {
    for _ in 0..60 {
        g.waiting().await;
    }
    let mut claimers = JoinSet::new();
    for _ in 0..3 {
        let g = g.clone();
        claimers.spawn(async move {
            while g.try_claim(g.claim()).await.unwrap().withheld.is_none() {
                tokio::task::yield_now().await;
            }
        });
    }
    g.pause().await;
    // They may have claimed everything before: an empty queue withholds nothing.
    g.waiting().await;
    let before = g.snapshot().await;
    claimers.join_all().await;
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_draining_lane_takes_no_new_work(g: Fixture) {
    g.drain().await;
    let before = g.snapshot().await;
    let later = Submit { start: When::After(ms(500)), ..g.work() };
    for work in [g.work(), later, named(&g)] {
        assert_eq!(g.try_submit(work).await.refused(), Code::LaneDraining);
    }
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_draining_lane_refuses_only_its_own_part_of_a_batch(g: Fixture) {
    g.drain().await;
    let elsewhere = Submit { lane: lane("slow"), ..g.work() };
    let answers = g.backend().submit(vec![g.work(), elsewhere, g.work()]).await.unwrap();
    let created: Vec<_> = answers.into_iter().map(|answer| answer.is_ok()).collect();
    assert_eq!(created, [false, true, false]);
}

pub(crate) async fn a_draining_lane_is_worked_off(g: Fixture) {
    let queued = g.waiting().await;
    g.advance(ms(1)).await;
    let reserved = g.waiting().await;
    let delayed = g.delayed(ms(500)).await;
    g.drain().await;
    assert_eq!(g.claimed().await.execution, queued);
    let using = g.use_of(&g.granted().await);
    assert_eq!(using.target.execution, reserved);
    g.backend().claim_granted(using).await.unwrap();
    g.pass(ms(500)).await;
    assert_eq!(g.claimed().await.execution, delayed);
}

pub(crate) async fn a_draining_lane_still_retries(g: Fixture) {
    let failing = g.held().await;
    g.drain().await;
    g.fail(&failing, failure("broken")).await.unwrap();
    g.pass(ms(1_000)).await;
    let second = g.claimed().await;
    assert_eq!((second.execution, second.fence.attempt), (failing.execution, 1));
    g.pass(second.lease_ttl).await;
    assert_eq!(g.claimed().await.fence.attempt, 2);
}

pub(crate) async fn a_draining_lane_recognises_repeated_submits(g: Fixture) {
    let (plain, named, renamed) = (g.work(), named(&g), named(&g));
    for work in [&plain, &named] {
        g.submit(work.clone()).await;
    }
    g.drain().await;
    let before = g.snapshot().await;
    for (work, first) in [(plain.clone(), plain.id), (renamed.clone(), named.id)] {
        let answer = g.try_submit(work).await.unwrap();
        assert_eq!((answer.execution, answer.created), (first, false));
    }
    let other = Submit { priority: 9, ..plain };
    assert_eq!(g.try_submit(other).await.refused(), Code::IdConflict);
    let other = Submit { priority: 9, ..renamed };
    assert_eq!(g.try_submit(other).await.refused(), Code::IdempotencyConflict);
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_drain_holds_from_its_acknowledgement(g: Fixture) {
    let mut submitters = JoinSet::new();
    for _ in 0..3 {
        let g = g.clone();
        submitters.spawn(async move {
            loop {
                match g.try_submit(g.work()).await {
                    Ok(_) => tokio::task::yield_now().await,
                    refused => return refused.refused(),
                }
            }
        });
    }
    g.waiting().await;
    g.drain().await;
    let before = g.snapshot().await;
    assert_eq!(submitters.join_all().await, [Code::LaneDraining; 3]);
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_resumed_lane_takes_and_gives_work(g: Fixture) {
    g.update_lane(LaneUpdate { paused: Some(true), draining: Some(true), ..g.lane_update() }).await;
    assert_eq!(g.try_submit(g.work()).await.refused(), Code::LaneDraining);
    g.resume().await;
    let id = g.waiting().await;
    assert_eq!(g.claimed().await.execution, id);
}

pub(crate) async fn pausing_and_draining_are_independent(g: Fixture) {
    let id = g.waiting().await;
    g.pause().await;
    let both = g.drain().await;
    assert!(both.paused && both.draining, "unset fields stay as they are");
    assert_eq!(g.try_claim(g.claim()).await.unwrap(), withheld());
    g.update_lane(LaneUpdate { paused: Some(false), ..g.lane_update() }).await;
    assert_eq!(g.claimed().await.execution, id);
    assert_eq!(g.try_submit(g.work()).await.refused(), Code::LaneDraining);
    let open = g.update_lane(LaneUpdate { draining: Some(false), ..g.lane_update() }).await;
    assert!(open.is_open());
    g.waiting().await;
}

pub(crate) async fn a_repeated_update_changes_nothing(g: Fixture) {
    let settings = g.update_lane(because(&g, "rest")).await;
    let before = g.snapshot().await;
    g.advance(ms(1_000)).await;
    assert_eq!(g.update_lane(because(&g, "rest")).await, settings);
    g.snapshot().await.assert_same(&before);
    g.resume().await;
    let before = g.snapshot().await;
    g.resume().await;
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn an_update_without_effect_is_not_stored(g: Fixture) {
    let before = g.snapshot().await;
    assert_eq!(g.resume().await, LaneState::default());
    let idle = LaneUpdate { reason: Some("rest".into()), ..g.lane_update() };
    assert_eq!(g.update_lane(idle).await, LaneState::default());
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn reason_and_time_are_kept(g: Fixture) {
    let began = g.now().await;
    let settings = g.update_lane(because(&g, "rest")).await;
    assert_eq!((settings.reason.as_deref(), settings.since), (Some("rest"), began));
    assert_eq!(g.lane().await, settings);
    g.advance(ms(1_000)).await;
    let settings = g.update_lane(because(&g, "repair")).await;
    assert_eq!((settings.reason.as_deref(), settings.since), (Some("repair"), began + ms(1_000)));
    g.advance(ms(1_000)).await;
    let settings = g.resume().await;
    assert_eq!((settings.reason.as_deref(), settings.since), (None, began + ms(2_000)));
    assert_eq!(g.lane().await, settings);
}

pub(crate) async fn a_reason_over_the_limit_is_refused(g: Fixture) {
    let before = g.snapshot().await;
    let long = because(&g, &"x".repeat(MESSAGE_BYTES + 1));
    assert_eq!(g.backend().update_lane(long).await.refused(), Code::TooLarge);
    g.snapshot().await.assert_same(&before);
    g.update_lane(because(&g, &"x".repeat(MESSAGE_BYTES))).await;
}

pub(crate) async fn lanes_are_listed_in_order_and_in_pages(g: Fixture) {
    let there = g.elsewhere();
    let mut settings = Vec::new();
    for n in [3, 11, 0, 7, 5, 1, 9, 10, 2, 8, 6, 4] {
        let name = format!("l{n:02}");
        let state = g.update_lane(LaneUpdate { paused: Some(true), ..of_lane(&g, &name) }).await;
        settings.push(LaneView { lane: lane(&name), state });
        there.update_lane(LaneUpdate { draining: Some(true), ..of_lane(&there, "l05x") }).await;
        g.advance(ms(1)).await;
    }
    settings.sort_by(|a, b| a.lane.cmp(&b.lane));
    for limit in [1, 2, 5, 11, 12, 13] {
        assert_eq!(pages(&g, limit).await, settings, "pages of {limit}");
    }
    assert_eq!(pages(&there, 10).await.len(), 1);
    for limit in [0, PAGE + 1] {
        let refused = g.backend().lanes(&g.namespace, None, limit).await.refused();
        assert_eq!(refused, Code::InvalidArgument, "{limit}");
    }
}

pub(crate) async fn an_update_whose_caller_dies_is_spread_by_its_timer(g: Fixture) {
    for _ in 0..30 {
        g.waiting().await;
    }
    let key = ResourceKey::lane(&g.namespace, &Lane::default(), g.backend().partitions());
    let paused = Some(true);
    let at_home = SetLane {
        key: key.clone(),
        paused,
        draining: None,
        max_active: Patch::Unset,
        defaults: Patch::Unset,
        reason: None,
        spread: true,
    };
    g.run(at_home).await.unwrap();
    g.advance(ms(5_000)).await;
    assert_eq!(g.due_resources().await, [key]);
    g.pass(ms(0)).await;
    let timers = g.snapshot().await.resource_timers;
    assert!(timers.is_empty(), "every partition has it: {timers:?}");
    let many = ClaimRequest { max: 30, ..g.claim() };
    assert_eq!(g.try_claim(many).await.unwrap(), withheld());
    assert_eq!(g.listed(Filter::default()).await.len(), 30);
}

pub(crate) async fn an_earlier_update_never_replaces_a_later_one(g: Fixture) {
    let earlier = g.pause().await;
    g.resume().await;
    let before = g.snapshot().await;
    for number in 0..g.backend().partitions() {
        let partition = Partition::new(number).unwrap();
        let key = ResourceKey::lane_in(partition, &g.namespace, &Lane::default());
        let body = Box::new(Body::Lane(earlier.clone()));
        g.run(CopyResource { key, body }).await.unwrap();
    }
    g.snapshot().await.assert_same(&before);
    let id = g.waiting().await;
    assert_eq!(g.claimed().await.execution, id);
}
