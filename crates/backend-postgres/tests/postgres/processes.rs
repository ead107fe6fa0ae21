//! Several processes on one schema. Two stores on one schema share nothing but the database, so here they
//! stand for two processes.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ff_conformance::TestClock;
use ff_core::Millis;
use ff_core::machine::Submit;
use ff_store::wakeups::Wake;
use ff_store::{
    ClientBackend, EngineId, MaintenanceBackend, PartitionSet, Store, StoreError, WorkerBackend,
    mint,
};

use crate::calls::{Place, claim, complete, new_id, submit, take, target, violations};
use crate::fixture::sql;

#[tokio::test]
async fn each_sees_what_the_other_was_answered() {
    let place = Place::new().await;
    let (one, other) = (place.open().await, place.open().await);
    let id = submit(&one).await;
    assert_eq!(other.describe(&target(id)).await.unwrap().id, id);
    let taken = take(&other, 1).await;
    assert_eq!(taken[0].execution, id);
    assert!(take(&one, 1).await.is_empty());
    one.complete(vec![complete(&taken[0])]).await.unwrap().remove(0).unwrap();
    assert!(other.describe(&target(id)).await.unwrap().outcome().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_execution_is_claimed_twice_and_none_is_left() {
    const EACH: usize = 100;
    let place = Place::new().await;
    let stores = [place.open().await, place.open().await];
    let taken = Arc::new(Mutex::new(Vec::new()));
    let mut claimers = Vec::new();
    for number in 0..8 {
        let (store, taken) = (stores[number % 2].clone(), taken.clone());
        claimers.push(tokio::spawn(async move {
            while taken.lock().unwrap().len() < 2 * EACH {
                let claimed = store.claim(claim(3), Millis::new(50)).await.unwrap();
                for assignment in claimed.assignments {
                    let done = vec![complete(&assignment)];
                    store.complete(done).await.unwrap().remove(0).unwrap();
                    taken.lock().unwrap().push(assignment.execution);
                }
            }
        }));
    }
    let mut submitted = HashSet::new();
    for _ in 0..EACH {
        for store in &stores {
            submitted.insert(submit(store).await);
        }
    }
    for claimer in claimers {
        claimer.await.unwrap();
    }
    let taken = taken.lock().unwrap().clone();
    assert_eq!(taken.len(), 2 * EACH);
    assert_eq!(taken.into_iter().collect::<HashSet<_>>(), submitted);
    assert_eq!(violations(&**stores[0].store()).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_claim_waits_for_what_another_transaction_holds_and_may_give_back() {
    let place = Place::new().await;
    let store = place.open().await;
    let id = submit(&store).await;
    let mut other = sql().await;
    let held = other.transaction().await.unwrap();
    held.batch_execute(&format!("SELECT 1 FROM {}.execution FOR UPDATE", place.schema()))
        .await
        .unwrap();
    let claiming = {
        let store = store.clone();
        tokio::spawn(async move { take(&store, 1).await })
    };
    let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    let waiting = ff_testkit::wait::until_async(Duration::from_secs(10), async || {
        let waiting: i64 = held.query_one(waits, &[]).await.unwrap().get(0);
        (waiting > 0).then_some(())
    });
    waiting.await.expect("the claim waits");
    held.rollback().await.unwrap();
    assert_eq!(claiming.await.unwrap()[0].execution, id);
}

#[tokio::test]
async fn a_process_that_stops_inside_a_transaction_makes_the_store_busy() {
    let place = Place::new().await;
    let mut options = place.options();
    options.busy_timeout = Duration::from_millis(20);
    let impatient = ff_backend_postgres::backend(&options).await.unwrap();
    let id = submit(&impatient).await;
    let mut other = sql().await;
    let held = other.transaction().await.unwrap();
    held.batch_execute(&format!("SELECT 1 FROM {}.execution FOR UPDATE", place.schema()))
        .await
        .unwrap();
    let cancel = mint::command(ff_core::machine::Delete { target: target(id) });
    let answer = impatient.store().execute(vec![cancel]).await.remove(0);
    assert!(matches!(answer, Err(StoreError::Busy(_))), "{answer:?}");
    assert!(impatient.store().record(id).await.unwrap().is_some(), "reads continue");
    submit(&impatient).await;
}

#[tokio::test]
async fn waiters_are_woken_for_the_work_of_another_process() {
    let place = Place::new().await;
    let (one, other) = (place.open().await, place.open().await);
    let queue = (claim(1).namespace, claim(1).lane);
    let waiting = other.wakeups().subscribe(queue, claim(1).capabilities);
    for _ in 0..30 {
        waiting.register();
        waiting.has_read();
        submit(&one).await;
        if waiting.woken().await == Wake::Announced {
            return;
        }
    }
    panic!("nothing was announced in 30 polls");
}

#[tokio::test]
async fn a_listener_that_was_cut_off_listens_again() {
    let place = Place::new().await;
    let (one, other) = (place.open().await, place.open().await);
    let cut = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
         WHERE query ~ 'LISTEN ff_{}$' AND pid <> pg_backend_pid()",
        place.schema()
    );
    let ended: i64 = sql().await.query_one(&cut, &[]).await.unwrap().get(0);
    assert_eq!(ended, 2);
    let listening = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE query ~ 'LISTEN ff_{}$'",
        place.schema()
    );
    let client = sql().await;
    let again = ff_testkit::wait::until_async(Duration::from_secs(20), async || {
        let listeners: i64 = client.query_one(&listening, &[]).await.unwrap().get(0);
        (listeners == 2).then_some(())
    });
    again.await.expect("both listen again");
    let queue = (claim(1).namespace, claim(1).lane);
    let waiting = other.wakeups().subscribe(queue, claim(1).capabilities);
    for _ in 0..30 {
        waiting.register();
        waiting.has_read();
        submit(&one).await;
        if waiting.woken().await == Wake::Announced {
            return;
        }
    }
    panic!("nothing was announced in 30 polls");
}

#[tokio::test]
async fn those_who_wait_for_an_end_hear_of_another_process() {
    let place = Place::new().await;
    let (one, other) = (place.open().await, place.open().await);
    let id = submit(&one).await;
    let taken = take(&one, 1).await;
    let mut waiting = other.wakeups().ends().wait_for(id);
    let found = waiting.read(&**other.store()).await.unwrap().unwrap();
    assert!(found.outcome().is_none());
    one.complete(vec![complete(&taken[0])]).await.unwrap().remove(0).unwrap();
    for _ in 0..30 {
        // What was written before may still be announced. A poll tells nothing.
        if waiting.woken().await == Wake::Announced
            && waiting.read(&**other.store()).await.unwrap().unwrap().outcome().is_some()
        {
            return;
        }
    }
    panic!("nothing was announced in 30 polls");
}

#[tokio::test]
async fn an_engine_that_leaves_is_heard_of_in_another_process() {
    let place = Place::new().await;
    let (one, other) = (place.open().await, place.open().await);
    let engine = EngineId::new(7);
    one.store().engine_heartbeat(engine).await.unwrap();
    assert_eq!(other.store().engine_heartbeat(EngineId::new(8)).await.unwrap().len(), 2);
    other.wakeups().engines_changed().await;
    one.store().leave(engine).await.unwrap();
    other.wakeups().engines_changed().await;
    assert_eq!(other.store().engine_heartbeat(EngineId::new(8)).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_engine_that_dies_is_counted_out_after_six_seconds() {
    let place = Place::new().await;
    let (one, other) = (place.open().await, place.open().await);
    let (dead, alive) = (EngineId::new(7), EngineId::new(8));
    one.store().engine_heartbeat(dead).await.unwrap();
    let both = other.store().engine_heartbeat(alive).await.unwrap();
    let shares = [dead, alive].map(|engine| PartitionSet::of(engine, &both, 1));
    let owners = shares.iter().filter(|share| !share.is_empty());
    assert_eq!(owners.count(), 1, "one of them has the timers");
    drop(one);
    place.clock.advance(Millis::new(6_001)).await;
    let left = other.store().engine_heartbeat(alive).await.unwrap();
    assert_eq!(left, [alive]);
    assert_eq!(PartitionSet::of(alive, &left, 1), PartitionSet::All);
}

#[tokio::test]
async fn one_key_names_one_execution_whichever_process_is_asked() {
    let place = Place::new().await;
    let stores = [place.open().await, place.open().await];
    for round in 0..20 {
        let keyed = |_| {
            let key = ff_core::IdempotencyKey::new(format!("order-{round}")).unwrap();
            Submit { key: Some(key), ..Submit::new(new_id()) }
        };
        let submits = stores.iter().map(keyed).zip(&stores);
        let running: Vec<_> = submits
            .map(|(work, store)| {
                let store = store.clone();
                tokio::spawn(
                    async move { store.submit(vec![work]).await.unwrap().remove(0).unwrap() },
                )
            })
            .collect();
        let mut named = HashSet::new();
        for one in running {
            named.insert(one.await.unwrap().execution);
        }
        assert_eq!(named.len(), 1, "round {round}");
    }
    assert_eq!(violations(&**stores[0].store()).await, Vec::<String>::new());
}
