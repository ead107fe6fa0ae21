//! Several processes on one file. Two stores on one file share nothing but the file, so here they
//! stand for two processes.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::fixture::{self, Place, claim, submit, take};
use ff_core::machine::Submit;
use ff_core::{Millis, Time};
use ff_store::wakeups::Wake;
use ff_store::{ClientBackend, MaintenanceBackend, Store, StoreError, WorkerBackend};

#[tokio::test]
async fn each_sees_what_the_other_was_answered() {
    let place = Place::new();
    let (one, other) = (place.open(), place.open());
    let id = submit(&one, Submit::new(fixture::new_id())).await;
    assert_eq!(other.describe(&fixture::target(id)).await.unwrap().id, id);
    let taken = take(&other, 1).await;
    assert_eq!(taken[0].execution, id);
    assert!(take(&one, 1).await.is_empty());
    one.complete(vec![fixture::complete(&taken[0])]).await.unwrap().remove(0).unwrap();
    assert!(other.describe(&fixture::target(id)).await.unwrap().outcome().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_execution_is_claimed_twice() {
    const EACH: usize = 150;
    let place = Place::new();
    let stores = [place.open(), place.open()];
    let taken = Arc::new(Mutex::new(Vec::new()));
    let mut claimers = Vec::new();
    for number in 0..8 {
        let (store, taken) = (stores[number % 2].clone(), taken.clone());
        claimers.push(tokio::spawn(async move {
            while taken.lock().unwrap().len() < 2 * EACH {
                let claimed = store.claim(claim(3), Millis::new(50)).await.unwrap();
                for assignment in claimed.assignments {
                    let done = vec![fixture::complete(&assignment)];
                    store.complete(done).await.unwrap().remove(0).unwrap();
                    taken.lock().unwrap().push(assignment.execution);
                }
            }
        }));
    }
    let mut submitted = HashSet::new();
    for _ in 0..EACH {
        for store in &stores {
            submitted.insert(submit(store, Submit::new(fixture::new_id())).await);
        }
    }
    for claimer in claimers {
        claimer.await.unwrap();
    }
    let taken = taken.lock().unwrap().clone();
    assert_eq!(taken.len(), 2 * EACH);
    assert_eq!(taken.into_iter().collect::<HashSet<_>>(), submitted);
    assert_eq!(fixture::violations(&**stores[0].store()).await, Vec::<String>::new());
}

#[tokio::test]
async fn waiters_are_woken_for_the_work_of_another_process() {
    let place = Place::new();
    let (one, other) = (place.open(), place.open());
    let woken = other.wakeups().timer_changed();
    submit(&one, Submit::new(fixture::new_id())).await;
    tokio::time::timeout(Duration::from_secs(10), woken).await.unwrap();
}

#[tokio::test]
async fn those_who_wait_for_an_end_hear_of_another_process() {
    let place = Place::new();
    let (one, other) = (place.open(), place.open());
    let id = submit(&one, Submit::new(fixture::new_id())).await;
    let taken = take(&one, 1).await;
    let mut waiting = other.wakeups().ends().wait_for(id);
    let found = waiting.read(&**other.store()).await.unwrap().unwrap();
    assert!(found.outcome().is_none());
    one.complete(vec![fixture::complete(&taken[0])]).await.unwrap().remove(0).unwrap();
    for _ in 0..30 {
        // What was written before may still be received. A poll says nothing.
        if waiting.woken().await == Wake::Announced
            && waiting.read(&**other.store()).await.unwrap().unwrap().outcome().is_some()
        {
            return;
        }
    }
    panic!("nothing was received in 30 polls");
}

#[tokio::test]
async fn the_store_does_not_take_its_own_writes_for_those_of_another_process() {
    let place = Place::new();
    let backend = place.open();
    // Only a check for writes of others wakes a timer loop that is already awake.
    backend.wakeups().arm_timer(Some(Time::EPOCH));
    let busy = Instant::now();
    while busy.elapsed() < Duration::from_millis(600) {
        submit(&backend, Submit::new(fixture::new_id())).await;
        take(&backend, 1).await;
    }
    let woken = tokio::time::timeout(Duration::ZERO, backend.wakeups().timer_changed()).await;
    assert!(woken.is_err());
}

#[tokio::test]
async fn a_process_that_stops_inside_a_transaction_makes_the_store_busy() {
    let place = Place::new();
    let timeout = Duration::from_millis(20);
    let impatient = ff_backend_sqlite::backend(place.options().busy_timeout(timeout)).unwrap();
    let stopped = place.sql();
    stopped.execute_batch("BEGIN IMMEDIATE").unwrap();
    let id = fixture::new_id();
    let answer = impatient.store().execute(vec![fixture::command(Submit::new(id))]).await.remove(0);
    assert!(matches!(answer, Err(StoreError::Busy(_))), "{answer:?}");
    assert!(impatient.store().record(id).await.unwrap().is_none(), "reads continue");
    stopped.execute_batch("ROLLBACK").unwrap();
    submit(&impatient, Submit::new(id)).await;
}
