//! Group commit: many calls, one transaction, separate answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::fixture::{self, Place, command, submit, take, target};
use ff_backend_sqlite::{Options, backend};
use ff_core::collection::{Collection, ElementRange};
use ff_core::machine::{Cancel, Renew, Submit};
use ff_core::policy::Policy;
use ff_core::{Capabilities, Millis, Time};
use ff_store::{Clock, MaintenanceBackend, Store, StoreError, SystemClock, WorkerBackend};

#[tokio::test]
async fn a_refused_command_does_not_keep_the_rest_of_its_group_from_being_written() {
    let place = Place::new();
    let backend = place.open();
    let (first, last) = (fixture::new_id(), fixture::new_id());
    let unknown = Cancel { target: target(fixture::new_id()), grace: None, reason: None };
    let batch = vec![command(Submit::new(first)), command(unknown), command(Submit::new(last))];
    let answers = backend.store().execute(batch).await;
    assert!(answers[0].is_ok() && answers[2].is_ok());
    assert!(answers[1].as_ref().unwrap_err().refusal().is_some());
    assert!(backend.store().record(first).await.unwrap().is_some());
    assert!(backend.store().record(last).await.unwrap().is_some());
    assert_eq!(backend.store().stats().commits, 1);
}

#[tokio::test]
async fn commands_that_change_nothing_commit_nothing() {
    let place = Place::new();
    let backend = place.open();
    let unknown = Cancel { target: target(fixture::new_id()), grace: None, reason: None };
    backend.store().execute(vec![command(unknown)]).await.remove(0).unwrap_err();
    assert!(take(&backend, 1).await.is_empty());
    let stats = backend.store().stats();
    assert_eq!((stats.commands, stats.groups, stats.commits), (2, 2, 0));
}

#[tokio::test]
async fn a_command_sees_what_the_ones_before_it_in_its_group_wrote() {
    let place = Place::new();
    let backend = place.open();
    let id = fixture::new_id();
    let batch = vec![command(Submit::new(id)), command(fixture::claim(1))];
    let replies = fixture::accepted(&backend, batch).await;
    match &replies[1] {
        ff_core::machine::Reply::Claimed(claimed) => {
            assert_eq!(claimed.assignments[0].execution, id);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn calls_that_wait_together_share_a_transaction() {
    const CALLS: u64 = 50;
    let place = Place::new();
    let backend = place.open();
    let stopped = place.sql();
    stopped.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut calls = Vec::new();
    for _ in 0..CALLS {
        let backend = backend.clone();
        let submit = async move { submit(&backend, Submit::new(fixture::new_id())).await };
        calls.push(tokio::spawn(submit));
        // Runs the call up to where it waits for its answer.
        tokio::task::yield_now().await;
    }
    stopped.execute_batch("ROLLBACK").unwrap();
    for call in calls {
        call.await.unwrap();
    }
    let stats = backend.store().stats();
    assert_eq!(stats.commands, CALLS);
    assert!(stats.commits <= 2, "{stats:?}");
}

#[tokio::test]
async fn dropping_the_store_finishes_what_is_queued() {
    let place = Place::new();
    let backend = place.open();
    let id = fixture::new_id();
    let call = backend.store().execute(vec![command(Submit::new(id))]);
    // Polled once, so that the call is queued, and then dropped.
    let mut call = Box::pin(call);
    tokio::select! {
        biased;
        _ = &mut call => {}
        () = std::future::ready(()) => {}
    }
    drop(call);
    drop(backend);
    assert!(place.open().store().record(id).await.unwrap().is_some());
}

/// A clock that panics on request.
struct Broken(Arc<AtomicBool>);

impl Clock for Broken {
    fn now(&self) -> Time {
        assert!(!self.0.load(Ordering::SeqCst), "the clock is broken, as the test wants it");
        SystemClock.now()
    }

    fn elapsed(&self) -> Millis {
        SystemClock.elapsed()
    }
}

#[tokio::test]
async fn a_panic_of_the_writer_is_answered_and_survived() {
    let place = Place::new();
    let broken = Arc::new(AtomicBool::new(true));
    let clock = Arc::new(Broken(broken.clone()));
    let backend = backend(place.options().clock(clock)).unwrap();
    let id = fixture::new_id();
    let answer = backend.store().execute(vec![command(Submit::new(id))]).await.remove(0);
    assert!(matches!(answer, Err(StoreError::Unavailable(_))), "{answer:?}");
    broken.store(false, Ordering::SeqCst);
    submit(&backend, Submit::new(id)).await;
}

#[tokio::test]
async fn classes_are_claimed_in_the_order_of_their_queues() {
    let place = Place::new();
    for options in [place.options(), Options::memory()] {
        let backend = backend(options).unwrap();
        let mut expected = Vec::new();
        for number in 0..40 {
            let mut work = Submit::new(fixture::new_id());
            work.priority = 100 - number;
            work.requires = match number % 4 {
                0 => Capabilities::NONE,
                class => Capabilities::new([format!("class-{class}")]).unwrap(),
            };
            let id = submit(&backend, work).await;
            // The worker does not offer the third class.
            if number % 4 != 3 {
                expected.push(id);
            }
        }
        let mut taken = Vec::new();
        for max in [1, 2, 5, 40] {
            let mut claim = fixture::claim(max);
            claim.capabilities = Capabilities::new(["class-1", "class-2"]).unwrap();
            let claimed = backend.claim(claim, Millis::ZERO).await.unwrap();
            taken.extend(claimed.assignments.iter().map(|assignment| assignment.execution));
            assert_eq!(fixture::violations(&**backend.store()).await, Vec::<String>::new());
        }
        assert_eq!(taken, expected);
    }
}

#[tokio::test]
async fn a_retired_execution_leaves_nothing_behind() {
    let place = Place::new();
    let clock = ff_testkit::ManualClock::default();
    let backend = backend(place.options().clock(Arc::new(clock.clone()))).unwrap();
    let mut work = Submit::new(fixture::new_id());
    work.key = Some(ff_core::IdempotencyKey::new("order-1").unwrap());
    work.requires = Capabilities::new(["gpu"]).unwrap();
    let id = submit(&backend, work.clone()).await;
    let mut claim = fixture::claim(1);
    claim.capabilities = work.requires.clone();
    let taken = backend.claim(claim.clone(), Millis::ZERO).await.unwrap().assignments;
    // The lease is lost, so that there is an earlier attempt to remove too.
    clock.advance(Policy::default().lease_ttl);
    backend.tick(vec![id]).await.unwrap().remove(0).unwrap();
    let stale = vec![command(Renew { hold: taken[0].hold() })];
    backend.store().execute(stale).await.remove(0).unwrap_err();
    claim.request = ff_store::mint::request_id();
    let taken = backend.claim(claim, Millis::ZERO).await.unwrap().assignments;
    let attempts = ElementRange { owner: id, collection: Collection::Attempts, from: 0, limit: 10 };
    assert_eq!(backend.store().elements(attempts).await.unwrap().len(), 1);
    backend.complete(vec![fixture::complete(&taken[0])]).await.unwrap().remove(0).unwrap();
    assert_eq!(fixture::violations(&**backend.store()).await, Vec::<String>::new());
    clock.advance(Policy::default().retention);
    backend.tick(vec![id]).await.unwrap().remove(0).unwrap();
    assert!(backend.store().rows().await.unwrap().next().await.is_none());
}
