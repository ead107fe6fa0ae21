//! Every function that writes fails at each of its calls in turn. What that leaves has a name, and
//! repair puts it right: the store is then as if the call had been made, or had not.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod arguments;
#[path = "../ground/mod.rs"]
mod ground;
mod moving;
mod scenes;
mod words;
mod world;

use std::collections::{BTreeMap, BTreeSet};

use ff_backend_valkey::PartialWrite;
use ff_conformance::Snapshot;
use ff_core::ExecutionId;
use ff_core::machine::{Reply, Submit};
use ff_store::Store;
use ff_testkit::report;
use scenes::Scene;
use world::{Everything, World};

/// No function makes more calls than this in any scene.
const MOST_CALLS: usize = 200;

/// A store before or after what is done in it, with nothing left to put right.
struct Reference {
    everything: Everything,
    snapshot: Snapshot,
}

impl Reference {
    async fn of(scene: &Scene, acted: bool) -> Reference {
        let world = World::new().await;
        world.play(&scene.before).await;
        if acted {
            assert_eq!(world.run(&scene.act).await.is_err(), scene.refused);
        }
        let report = world.audit().await;
        assert_eq!(report.violations, [], "{}: {}", scene.verb, scene.name);
        world.store.repair().await.unwrap();
        Reference { everything: world.everything(), snapshot: world.snapshot().await }
    }
}

/// Runs a scene once for each call of its function, which fails. Tells how many there are, and how
/// often each named state was left.
async fn examine(scene: &Scene) -> (usize, BTreeMap<Option<PartialWrite>, usize>) {
    let before = Reference::of(scene, false).await;
    let after = Reference::of(scene, true).await;
    let mut left = BTreeMap::new();
    for call in 1..MOST_CALLS {
        let name = format!("{}: {}, call {call}", scene.verb, scene.name);
        let world = World::new().await;
        world.play(&scene.before).await;
        let start = world.everything();
        world.fail(scene.verb, call);
        let answer = world.run(&scene.act).await;
        if !world.failed() {
            assert_eq!(answer.is_err(), scene.refused, "{name}: {answer:?}");
            return (call - 1, left);
        }
        assert!(answer.is_err(), "{name} was answered {answer:?}");
        for torn in judge(&world, &name, &start).await {
            *left.entry(torn).or_default() += 1;
        }
        repair(&world, &name, &before, &after).await;
        if scene.repeats {
            repeat(scene, call, &after).await;
        }
    }
    panic!("{}: {} has no end", scene.verb, scene.name);
}

/// The states that a fault has left; `None` stands for a store in which nothing has changed, or
/// nothing that an audit sees.
async fn judge(world: &World, name: &str, start: &Everything) -> BTreeSet<Option<PartialWrite>> {
    let torn = world.torn(name).await;
    if world.everything() == *start {
        assert_eq!(torn, BTreeSet::new(), "{name}");
    }
    match torn.is_empty() {
        true => BTreeSet::from([None]),
        false => torn.into_iter().map(Some).collect(),
    }
}

/// Repairs, and sees that every execution is as before or as after, and that nothing else is there.
async fn repair(world: &World, name: &str, before: &Reference, after: &Reference) {
    world.store.repair().await.unwrap();
    assert_eq!(world.audit().await.violations, [], "{name}");
    let found = world.snapshot().await;
    for id in named(&[&found, &before.snapshot, &after.snapshot]) {
        let now = found.naming(id);
        let whole = now == before.snapshot.naming(id) || now == after.snapshot.naming(id);
        assert!(whole, "{name} left {id} as {now:#?}");
    }
    for (key, elements) in world.everything() {
        let known = [before, after].map(|reference| reference.everything.get(&key));
        let known: BTreeSet<_> = known.into_iter().flatten().flatten().collect();
        let strange: Vec<_> = elements.iter().filter(|one| !known.contains(one)).collect();
        assert!(strange.is_empty(), "{name} left in {key}: {strange:?}");
    }
    let again = world.store.repair().await.unwrap();
    assert_eq!(again.fixed(), 0, "{name}: a second repair finds {again:?}");
}

/// Every execution that a snapshot names.
fn named(snapshots: &[&Snapshot]) -> BTreeSet<ExecutionId> {
    let records = snapshots.iter().flat_map(|all| all.records.iter().map(|record| record.id));
    let entries = snapshots.iter().flat_map(|all| all.entries.iter().map(|(id, _)| *id));
    records.chain(entries).collect()
}

/// The caller, who got an error, makes the same call again, before anybody repairs.
async fn repeat(scene: &Scene, call: usize, after: &Reference) {
    let name = format!("{}: {}, call {call}, repeated", scene.verb, scene.name);
    let world = World::new().await;
    world.play(&scene.before).await;
    world.fail(scene.verb, call);
    world.run(&scene.act).await.unwrap_err();
    assert!(world.failed(), "{name}");
    let answer = world.run(&scene.act).await;
    assert!(answer.is_ok(), "{name}: {answer:?}");
    world.store.repair().await.unwrap();
    assert_eq!(world.audit().await.violations, [], "{name}");
    let found = world.snapshot().await.without_versions();
    let told = found.differences(&after.snapshot.clone().without_versions());
    assert!(told.is_empty(), "{name}: {told:#?}");
}

/// Whoever submits the same work under another id, before anybody repairs, finds the first execution
/// or makes the only one.
#[tokio::test(flavor = "multi_thread")]
async fn no_fault_lets_two_executions_have_one_key() {
    let (first, second) = (words::laden(1), Submit { id: words::id(2), ..words::laden(1) });
    for call in 1..MOST_CALLS {
        let world = World::new().await;
        world.fail("submit", call);
        let answer = world.run(&[words::command(first.clone())]).await;
        if !world.failed() {
            assert!(answer.is_ok(), "{answer:?}");
            return;
        }
        let answer = world.run(&[words::command(second.clone())]).await.unwrap().remove(0);
        let Reply::Submitted(found) = answer else { panic!("{answer:?}") };
        world.store.repair().await.unwrap();
        assert_eq!(world.audit().await.violations, [], "call {call}");
        let records = world.snapshot().await.records;
        let ids: Vec<_> = records.iter().map(|record| record.id).collect();
        assert_eq!(ids, [found.execution], "call {call}");
        let known = world.run(&[words::command(second.clone())]).await.unwrap().remove(0);
        assert!(matches!(known, Reply::Submitted(known) if !known.created), "call {call}");
    }
}

async fn examine_all(verb: &str, scenes: Vec<Scene>) {
    let (mut pairs, mut states) = (0, BTreeMap::new());
    for scene in &scenes {
        let (calls, left) = examine(scene).await;
        eprintln!("{verb}: {}: {calls} calls, {left:?}", scene.name);
        pairs += calls;
        for (torn, count) in left {
            *states.entry(torn).or_insert(0) += count;
        }
    }
    eprintln!("{verb}: {pairs} calls in {} scenes, {states:?}", scenes.len());
    report::count("function faults", pairs as u64);
}

/// Repair fails at each of its calls, too, wherever the function of a scene has failed.
async fn examine_repair(scene: &Scene) -> usize {
    let before = Reference::of(scene, false).await;
    let after = Reference::of(scene, true).await;
    let mut pairs = 0;
    for torn_at in 1..MOST_CALLS {
        for call in 1..MOST_CALLS {
            let name = format!("{}: {} at {torn_at}, mend {call}", scene.verb, scene.name);
            let world = World::new().await;
            world.play(&scene.before).await;
            world.fail(scene.verb, torn_at);
            drop(world.run(&scene.act).await);
            if !world.fail("repair", call) {
                return pairs;
            }
            // It may go on behind a record that it could not read.
            drop(world.store.repair().await);
            if !world.failed() {
                break;
            }
            repair(&world, &name, &before, &after).await;
            pairs += 1;
        }
    }
    panic!("{}: {} has no end", scene.verb, scene.name);
}

/// One test for each function whose fault repair meets.
macro_rules! a_repair_that_fails_is_put_right_by_the_next_after {
    ($($verb:ident: $scene:expr;)+) => {
        mod a_repair_that_fails_is_put_right_by_the_next_after {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $verb() {
                let pairs = super::examine_repair(&$scene).await;
                eprintln!("mend after {}: {pairs} calls", stringify!($verb));
                super::report::count("function faults", pairs as u64);
            })+
        }
    };
}

a_repair_that_fails_is_put_right_by_the_next_after! {
    submit: crate::scenes::submit().remove(3);
    claim: crate::scenes::claim_().remove(1);
    retire: crate::scenes::retire().remove(2);
    settle: crate::scenes::settle().remove(15);
}

/// One test for each function.
macro_rules! every_fault_is_put_right_in {
    ($($verb:ident: $scenes:expr;)+) => {
        mod every_fault_is_put_right_in {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $verb() {
                super::examine_all(stringify!($verb), $scenes).await;
            })+
        }
    };
}

every_fault_is_put_right_in! {
    submit: crate::scenes::submit();
    claim: crate::scenes::claim_();
    complete: crate::scenes::complete_();
    renew: crate::scenes::renew_();
    retire: crate::scenes::retire();
    commit: crate::scenes::commit();
    settle: crate::scenes::settle();
    unblock: crate::scenes::unblock_();
}
