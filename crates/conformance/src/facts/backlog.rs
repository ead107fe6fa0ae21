//! The backlog: how much waits and for what, and how much runs.

use ff_core::limits::{Blocker, ExecutionLimits};
use ff_core::machine::{ClaimRequest, Submit};
use ff_core::{Capabilities, Lane, Patch, ResourceKind};
use ff_store::backlog::Queued;
use ff_store::roles::LaneUpdate;

use crate::fixture::{Fixture, at_once, lane, ms, named};

async fn queued(g: &Fixture, lane: &Lane) -> Option<Queued> {
    let backlog = g.backend().backlog().await.unwrap();
    backlog.queues.get(&(g.namespace.clone(), lane.clone())).copied()
}

pub(crate) async fn waiting_work_is_counted_by_lane(g: Fixture) {
    let began = g.now().await;
    for _ in 0..3 {
        g.waiting().await;
    }
    g.submit(Submit { lane: lane("other"), ..g.work() }).await;
    g.elsewhere().waiting().await;
    g.advance(ms(5_000)).await;
    g.waiting().await;
    let counted = queued(&g, &Lane::default()).await;
    assert_eq!(counted, Some(Queued { count: 4, oldest: began }));
    assert_eq!(queued(&g, &lane("other")).await.unwrap().count, 1);
    assert_eq!(queued(&g, &lane("none")).await, None);
    let backlog = g.backend().backlog().await.unwrap();
    assert_eq!(backlog.now, began + ms(5_000));
    assert_eq!(backlog.queues.len(), 3, "one of them is another namespace's");
}

pub(crate) async fn every_class_and_priority_is_counted(g: Fixture) {
    let began = g.now().await;
    g.submit(Submit { requires: Capabilities::new(["gpu"]).unwrap(), ..g.work() }).await;
    g.advance(ms(1_000)).await;
    g.submit(Submit { priority: 9_000, ..g.work() }).await;
    let counted = queued(&g, &Lane::default()).await;
    assert_eq!(counted, Some(Queued { count: 2, oldest: began }));
}

pub(crate) async fn work_that_no_live_worker_can_run_is_counted(g: Fixture) {
    let gpu = || Submit { requires: Capabilities::new(["gpu"]).unwrap(), ..g.work() };
    g.submit(gpu()).await;
    g.submit(Submit { lane: lane("other"), ..gpu() }).await;
    g.submit(gpu()).await;
    g.waiting().await;
    let unroutable = async || g.backend().backlog().await.unwrap().unroutable;
    let (here, there) =
        ((g.namespace.clone(), Lane::default()), (g.namespace.clone(), lane("other")));
    assert_eq!(unroutable().await, [(here, 2), (there.clone(), 1)].into());
    g.try_register(&g.registering("ada", "gpu")).await.unwrap();
    assert_eq!(unroutable().await, [(there, 1)].into());
}

pub(crate) async fn claimed_work_is_not_counted_as_waiting(g: Fixture) {
    g.held().await;
    assert_eq!(queued(&g, &Lane::default()).await, None);
    assert_eq!(g.backend().backlog().await.unwrap().blocked.len(), 0);
}

pub(crate) async fn running_work_is_counted_by_lane(g: Fixture) {
    let active = async || g.backend().backlog().await.unwrap().active;
    assert_eq!(active().await, [].into());
    for _ in 0..3 {
        g.held().await;
    }
    g.submit(Submit { lane: lane("other"), ..g.work() }).await;
    let other = g.take(ClaimRequest { lane: lane("other"), ..g.claim() }).await.remove(0);
    g.elsewhere().held().await;
    g.waiting().await;
    let key = |g: &Fixture, lane| (g.namespace.clone(), lane);
    let (here, there) = (key(&g, Lane::default()), key(&g.elsewhere(), Lane::default()));
    let both = [(here.clone(), 3), (there.clone(), 1)];
    assert_eq!(
        active().await,
        both.clone().into_iter().chain([(key(&g, lane("other")), 1)]).collect()
    );
    g.complete(&other, "done").await.unwrap();
    assert_eq!(active().await, both.into());
    // What is only reserved does not run.
    g.granted().await;
    assert_eq!(active().await, [(here, 3), (there, 1)].into());
}

pub(crate) async fn more_runs_than_one_slice_of_a_count_reads(g: Fixture) {
    for _ in 0..2 {
        for _ in 0..150 {
            g.waiting().await;
        }
        g.take(ClaimRequest { max: 150, ..g.claim() }).await;
    }
    let active = g.backend().backlog().await.unwrap().active;
    assert_eq!(active, [((g.namespace.clone(), Lane::default()), 300)].into());
}

pub(crate) async fn executions_that_wait_for_a_quota_are_counted(g: Fixture) {
    g.put_quota("api", at_once(1)).await;
    for _ in 0..4 {
        g.under(&["api"]).await;
    }
    while !g.take(g.claim()).await.is_empty() {}
    let on = Blocker { kind: ResourceKind::Quota, name: named("api") };
    let backlog = g.backend().backlog().await.unwrap();
    assert_eq!(backlog.blocked, [((g.namespace.clone(), on), 3)].into());
    assert_eq!(queued(&g, &Lane::default()).await, None);
}

pub(crate) async fn what_is_blocked_is_counted_once_in_its_lane_whatever_it_waits_for(g: Fixture) {
    let (default, other, full) = (Lane::default(), lane("other"), lane("full"));
    let under = |lane: &Lane, budgets: &[&str], quotas: &[&str]| {
        let names = |names: &[&str]| names.iter().map(|name| named(name)).collect();
        let (budgets, quotas) = (names(budgets), names(quotas));
        let limits = ExecutionLimits { budgets, quotas, ..ExecutionLimits::default() };
        Submit { lane: lane.clone(), limits, ..g.work() }
    };
    g.put_quota("api", at_once(1)).await;
    for _ in 0..4 {
        g.submit(under(&default, &[], &["api"])).await;
    }
    for _ in 0..3 {
        g.submit(under(&default, &["absent"], &["api", "missing"])).await;
    }
    for _ in 0..2 {
        g.submit(under(&other, &["absent"], &[])).await;
    }
    let most = Patch::Set(1);
    g.update_lane(LaneUpdate { lane: full.clone(), max_active: most, ..g.lane_update() }).await;
    for _ in 0..2 {
        g.submit(under(&full, &[], &[])).await;
    }
    g.elsewhere().under(&["api"]).await;
    for g in [g.clone(), g.elsewhere()] {
        for lane in [&default, &other, &full] {
            while queued(&g, lane).await.is_some() {
                g.take(ClaimRequest { lane: lane.clone(), max: 10, ..g.claim() }).await;
            }
        }
    }
    let counted = g.backend().backlog().await.unwrap().blocked_by_lane;
    let rival = (g.elsewhere().namespace, default.clone());
    let mine = [(default, 6), (other, 2), (full, 1)];
    let mine = mine.map(|(lane, count)| ((g.namespace.clone(), lane), count));
    assert_eq!(counted, mine.into_iter().chain([(rival, 1)]).collect());
}

pub(crate) async fn workers_are_counted(g: Fixture) {
    let count = async || g.backend().backlog().await.unwrap().workers;
    assert_eq!(count().await, 0);
    g.try_register(&g.registering("ada", "")).await.unwrap();
    g.try_register(&g.registering("bob", "")).await.unwrap();
    let rival = g.elsewhere();
    rival.try_register(&rival.registering("ada", "")).await.unwrap();
    assert_eq!(count().await, 3);
    g.pass(ms(60_000)).await;
    assert_eq!(count().await, 0);
}
