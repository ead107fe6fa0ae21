//! Workers: registered while they send heartbeats, each as one process.

use std::collections::BTreeSet;

use ff_core::bounds::{PAGE, WORKER_LANES, WORKER_TTL_MAX, WORKER_TTL_MIN};
use ff_core::machine::{Register, Registered};
use ff_core::resource::Registration;
use ff_core::{Code, Partition, ResourceKey, WorkerInstanceId};
use ff_store::roles::{Registering, Session};
use ff_store::{PartitionSet, mint};
use tokio::task::JoinSet;

use crate::fixture::{Fixture, Refused, capabilities, lane, ms, worker};

/// The same worker, started once more: another process.
fn twin(registering: &Registering) -> Registering {
    Registering { session: mint::request_id(), ..registering.clone() }
}

/// The key of a worker's registration.
fn place(g: &Fixture, name: &str) -> ResourceKey {
    ResourceKey::worker(&g.namespace, &worker(name).instance, g.backend().partitions())
}

/// Reads every page of at most `limit`, and returns the instances.
async fn pages(g: &Fixture, limit: usize) -> Vec<WorkerInstanceId> {
    let (mut seen, mut after) = (Vec::new(), None);
    for _ in 0..1_000 {
        let page = g.backend().workers(&g.namespace, after.as_ref(), limit).await.unwrap();
        assert!(page.len() <= limit);
        let Some(last) = page.last() else { return seen };
        after = Some(last.worker.instance.clone());
        seen.extend(page.into_iter().map(|found| found.worker.instance));
    }
    panic!("the list has no end");
}

pub(crate) async fn a_registered_worker_is_listed_with_its_registration(g: Fixture) {
    assert_eq!(g.workers().await, []);
    let (now, registering) = (g.now().await, g.registering("ada", "cuda,python"));
    let answer = g.try_register(&registering).await.unwrap();
    assert_eq!(answer, Registered { until: now + ms(10_000) });
    let listed = Registration {
        worker: worker("ada"),
        session: registering.session,
        lanes: registering.lanes,
        capabilities: capabilities("cuda,python"),
        ttl: ms(10_000),
        registered_at: now,
        last_seen: now,
    };
    assert_eq!(g.workers().await, [listed]);
}

pub(crate) async fn lanes_are_kept_once_and_in_order(g: Fixture) {
    let lanes = ["b", "a", "c", "a", "b"].map(lane).to_vec();
    g.try_register(&Registering { lanes, ..g.registering("ada", "") }).await.unwrap();
    assert_eq!(g.workers().await[0].lanes, ["a", "b", "c"].map(lane));
}

pub(crate) async fn registering_again_changes_the_registration_and_not_its_start(g: Fixture) {
    let first = g.registering("ada", "cuda");
    let began = g.now().await;
    g.try_register(&first).await.unwrap();
    g.advance(ms(4_000)).await;
    let (lanes, capabilities) = (vec![lane("slow")], capabilities("python"));
    let again = Registering { lanes, capabilities, ttl: ms(60_000), ..first };
    let answer = g.try_register(&again).await.unwrap();
    assert_eq!(answer.until, began + ms(64_000));
    let listed = g.workers().await;
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].registered_at, listed[0].last_seen), (began, began + ms(4_000)));
    assert_eq!((&listed[0].lanes, &listed[0].capabilities), (&again.lanes, &again.capabilities));
}

pub(crate) async fn a_repeated_registration_is_one(g: Fixture) {
    let registering = g.registering("ada", "cuda");
    let first = g.try_register(&registering).await.unwrap();
    let before = g.snapshot().await.without_versions();
    assert_eq!(g.try_register(&registering).await.unwrap(), first);
    g.snapshot().await.without_versions().assert_same(&before);
    g.advance(ms(1_000)).await;
    assert_eq!(g.try_register(&registering).await.unwrap().until, first.until + ms(1_000));
}

pub(crate) async fn another_process_cannot_take_the_place_of_a_live_one(g: Fixture) {
    let first = g.registering("ada", "cuda");
    g.try_register(&first).await.unwrap();
    let before = g.snapshot().await;
    assert_eq!(g.try_register(&twin(&first)).await.refused(), Code::WorkerAlive);
    g.advance(ms(9_999)).await;
    assert_eq!(g.try_register(&twin(&first)).await.refused(), Code::WorkerAlive);
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_silent_worker_is_replaced_at_once(g: Fixture) {
    let first = g.registering("ada", "cuda");
    g.try_register(&first).await.unwrap();
    g.advance(ms(10_000)).await;
    let second = twin(&first);
    let answer = g.try_register(&second).await.unwrap();
    assert_eq!(answer.until, g.now().await + ms(10_000));
    let listed = g.workers().await;
    assert_eq!((listed.len(), listed[0].session), (1, second.session));
    assert_eq!(listed[0].registered_at, g.now().await, "it is another registration");
}

pub(crate) async fn a_replaced_worker_is_refused(g: Fixture) {
    let first = g.registering("ada", "cuda");
    g.try_register(&first).await.unwrap();
    g.advance(ms(10_000)).await;
    let second = twin(&first);
    g.try_register(&second).await.unwrap();
    let before = g.snapshot().await;
    assert_eq!(g.heartbeat(&first.session()).await.refused(), Code::NotRegistered);
    assert_eq!(g.try_register(&first).await.refused(), Code::WorkerAlive);
    g.disconnect(&first.session()).await;
    assert!(!g.backend().tick_resource(place(&g, "ada")).await.unwrap());
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_returning_worker_starts_a_new_registration(g: Fixture) {
    let registering = g.registering("ada", "");
    g.try_register(&registering).await.unwrap();
    g.advance(ms(10_000)).await;
    g.try_register(&registering).await.unwrap();
    assert_eq!(g.workers().await[0].registered_at, g.now().await);
}

pub(crate) async fn of_processes_that_register_at_once_one_is_registered(g: Fixture) {
    let mut racing = JoinSet::new();
    for _ in 0..8 {
        let (g, registering) = (g.clone(), g.registering("ada", "cuda"));
        racing.spawn(async move { (registering.session, g.try_register(&registering).await) });
    }
    let (done, refused): (Vec<_>, Vec<_>) =
        racing.join_all().await.into_iter().partition(|(_, answer)| answer.is_ok());
    assert_eq!(done.len(), 1);
    for (_, answer) in refused {
        assert_eq!(answer.refused(), Code::WorkerAlive);
    }
    assert_eq!(g.workers().await[0].session, done[0].0);
}

pub(crate) async fn a_heartbeat_extends_the_registration(g: Fixture) {
    let session = g.registered("ada", "cuda").await;
    let began = g.now().await;
    for _ in 0..3 {
        g.advance(ms(9_999)).await;
        let answer = g.heartbeat(&session).await.unwrap();
        assert_eq!(answer.until, g.now().await + ms(10_000));
    }
    let listed = g.workers().await;
    assert_eq!((listed[0].registered_at, listed[0].last_seen), (began, g.now().await));
    assert_eq!(listed[0].capabilities, capabilities("cuda"));
}

pub(crate) async fn a_heartbeat_without_a_registration_is_refused(g: Fixture) {
    let known = g.registered("ada", "").await;
    let before = g.snapshot().await;
    let there = g.elsewhere().namespace;
    for unknown in [
        Session { session: mint::request_id(), ..known.clone() },
        Session { instance: worker("bob").instance, ..known.clone() },
        Session { namespace: there, ..known },
    ] {
        let refused = g.heartbeat(&unknown).await.refused();
        assert_eq!(refused, Code::NotRegistered, "{unknown:?}");
    }
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_heartbeat_after_the_silence_is_refused(g: Fixture) {
    let session = g.registered("ada", "").await;
    g.advance(ms(10_000)).await;
    let before = g.snapshot().await;
    assert_eq!(g.heartbeat(&session).await.refused(), Code::NotRegistered);
    g.snapshot().await.assert_same(&before);
    g.pass(ms(0)).await;
    assert_eq!(g.heartbeat(&session).await.refused(), Code::NotRegistered);
}

pub(crate) async fn the_timer_of_a_registration_is_acted_on_where_that_is(g: Fixture) {
    let registering = g.registering("ada", "");
    let everywhere = (0..g.backend().partitions()).map(|number| ResourceKey {
        partition: Partition::new(number).unwrap(),
        ..place(&g, "ada")
    });
    let keys: BTreeSet<_> = everywhere.collect();
    for key in keys.clone() {
        let Registering { worker, session, lanes, capabilities, .. } = registering.clone();
        let ttl = ms(1_000);
        g.run(Register { key, worker, session, lanes, capabilities, ttl }).await.unwrap();
    }
    g.advance(ms(1_000)).await;
    assert_eq!(BTreeSet::from_iter(g.due_resources().await), keys);
    g.pass(ms(0)).await;
    for key in keys {
        assert_eq!(g.store().resource(&key).await.unwrap(), None, "{key:?}");
    }
}

pub(crate) async fn a_worker_that_leaves_is_gone(g: Fixture) {
    let registering = g.registering("ada", "");
    g.try_register(&registering).await.unwrap();
    g.disconnect(&registering.session()).await;
    assert_eq!(g.workers().await, []);
    assert_eq!(g.heartbeat(&registering.session()).await.refused(), Code::NotRegistered);
    let before = g.snapshot().await;
    assert!(before.resource_timers.is_empty(), "nothing is left of it");
    g.disconnect(&registering.session()).await;
    g.snapshot().await.assert_same(&before);
    g.try_register(&twin(&registering)).await.unwrap();
}

pub(crate) async fn a_worker_cannot_end_another_registration(g: Fixture) {
    let known = g.registered("ada", "").await;
    g.registered("bob", "").await;
    let before = g.snapshot().await;
    let there = g.elsewhere().namespace;
    for other in [
        Session { session: mint::request_id(), ..known.clone() },
        Session { instance: worker("bob").instance, ..known.clone() },
        Session { namespace: there, ..known },
    ] {
        g.disconnect(&other).await;
    }
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_silent_worker_is_removed_by_time_alone(g: Fixture) {
    g.registered("ada", "").await;
    g.advance(ms(10_000)).await;
    assert_eq!(g.due_resources().await, [place(&g, "ada")]);
    assert!(g.backend().tick_resource(place(&g, "ada")).await.unwrap());
    assert_eq!(g.workers().await, []);
    assert_eq!(g.due_resources().await, []);
    assert!(!g.backend().tick_resource(place(&g, "ada")).await.unwrap());
}

pub(crate) async fn a_worker_that_sends_heartbeats_stays(g: Fixture) {
    let session = g.registered("ada", "").await;
    g.advance(ms(9_999)).await;
    g.heartbeat(&session).await.unwrap();
    g.advance(ms(9_999)).await;
    let before = g.snapshot().await;
    assert_eq!(g.due_resources().await, []);
    assert!(!g.backend().tick_resource(place(&g, "ada")).await.unwrap());
    g.snapshot().await.assert_same(&before);
    g.pass(ms(1)).await;
    assert_eq!(g.workers().await, []);
}

pub(crate) async fn the_end_of_a_registration_is_a_timer(g: Fixture) {
    let early = g.now().await + ms(10_000);
    g.delayed(ms(20_000)).await;
    g.registered("ada", "").await;
    let timers = g.backend().due(&PartitionSet::All, None, 10).await.unwrap();
    assert_eq!((timers.resources, timers.next), (vec![], Some(early)));
    g.pass(ms(10_000)).await;
    let timers = g.backend().due(&PartitionSet::All, None, 10).await.unwrap();
    assert_eq!(timers.next, Some(early + ms(10_000)));
}

pub(crate) async fn workers_are_listed_in_order_and_in_pages(g: Fixture) {
    let mut names: Vec<_> = (0..23).map(|n| format!("w{n:02}")).collect();
    names.rotate_left(9);
    for name in &names {
        g.registered(name, "").await;
        g.elsewhere().registered(&format!("{name}x"), "").await;
    }
    names.sort();
    let all: Vec<_> = names.iter().map(|name| worker(name).instance).collect();
    for limit in [1, 2, 7, 22, 23, 24] {
        assert_eq!(pages(&g, limit).await, all, "pages of {limit}");
    }
}

pub(crate) async fn a_page_continues_after_a_worker_that_has_left(g: Fixture) {
    let sessions = [g.registered("a", "").await, g.registered("b", "").await];
    g.registered("c", "").await;
    g.disconnect(&sessions[1]).await;
    let after = Some(&sessions[1].instance);
    let page = g.backend().workers(&g.namespace, after, 10).await.unwrap();
    assert_eq!((page.len(), &page[0].worker), (1, &worker("c")));
}

pub(crate) async fn a_worker_shows_in_its_own_namespace_alone(g: Fixture) {
    let there = g.elsewhere();
    g.registered("ada", "").await;
    assert_eq!(there.workers().await, []);
    there.registered("bob", "").await;
    for (fixture, name) in [(&g, "ada"), (&there, "bob")] {
        let listed = fixture.workers().await;
        assert_eq!((listed.len(), &listed[0].worker), (1, &worker(name)));
    }
}

pub(crate) async fn one_instance_id_is_a_worker_in_each_namespace(g: Fixture) {
    let there = g.elsewhere();
    let mine = g.registered("ada", "cuda").await;
    let theirs = there.registered("ada", "python").await;
    g.advance(ms(5_000)).await;
    g.heartbeat(&mine).await.unwrap();
    g.pass(ms(5_000)).await;
    assert_eq!(there.workers().await, [], "only one of them sent heartbeats");
    assert_eq!(there.heartbeat(&theirs).await.refused(), Code::NotRegistered);
    assert_eq!(g.workers().await[0].capabilities, capabilities("cuda"));
    there.registered("ada", "python").await;
    g.disconnect(&mine).await;
    assert_eq!(there.workers().await[0].capabilities, capabilities("python"));
}

pub(crate) async fn a_registration_out_of_bounds_is_refused(g: Fixture) {
    let known = g.registering("ada", "cuda");
    g.try_register(&known).await.unwrap();
    let before = g.snapshot().await;
    let lanes: Vec<_> = (0..=WORKER_LANES).map(|n| lane(&format!("l{n}"))).collect();
    let ttl = |ttl| Registering { ttl, ..known.clone() };
    for (what, bad, code) in [
        ("no lane", Registering { lanes: vec![], ..known.clone() }, Code::InvalidArgument),
        ("many lanes", Registering { lanes, ..known.clone() }, Code::TooLarge),
        ("no silence", ttl(ms(0)), Code::InvalidArgument),
        ("short", ttl(ms(WORKER_TTL_MIN.get() - 1)), Code::InvalidArgument),
        ("long", ttl(ms(WORKER_TTL_MAX.get() + 1)), Code::InvalidArgument),
    ] {
        assert_eq!(g.try_register(&bad).await.refused(), code, "{what}");
    }
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_registration_at_the_bounds_is_kept(g: Fixture) {
    let lanes: Vec<_> = (0..WORKER_LANES).map(|n| lane(&format!("l{n:02}"))).collect();
    for ttl in [WORKER_TTL_MIN, WORKER_TTL_MAX] {
        let name = format!("w{}", ttl.get());
        let registering = Registering { lanes: lanes.clone(), ttl, ..g.registering(&name, "") };
        let answer = g.try_register(&registering).await.unwrap();
        assert_eq!(answer.until, g.now().await + ttl);
    }
    for listed in g.workers().await {
        assert_eq!(listed.lanes, lanes);
    }
}

pub(crate) async fn a_page_of_no_or_too_many_workers_is_refused(g: Fixture) {
    for limit in [0, PAGE + 1, usize::MAX] {
        let refused = g.backend().workers(&g.namespace, None, limit).await.refused();
        assert_eq!(refused, Code::InvalidArgument, "{limit}");
    }
    g.backend().workers(&g.namespace, None, PAGE).await.unwrap();
}

pub(crate) async fn a_worker_that_is_gone_keeps_what_it_holds(g: Fixture) {
    let session = g.registered("ada", "").await;
    let assignment = g.held().await;
    g.registered("bob", "").await;
    g.disconnect(&session).await;
    g.renew(assignment.hold()).await.unwrap();
    g.pass(ms(assignment.lease_ttl.get() - 1)).await;
    g.complete(&assignment, "done").await.unwrap();
}
