//! The store's time, over restarts and over several processes.

use std::sync::Arc;

use crate::fixture::{self, Place, submit};
use ff_backend_sqlite::{Options, SqliteStore, backend};
use ff_core::machine::Submit;
use ff_core::{Millis, Time};
use ff_store::roles::Engine;
use ff_store::{ClientBackend, Clock, MaintenanceBackend, PartitionSet, Store, WorkerBackend};
use ff_testkit::ManualClock;

const HOUR: Millis = Millis::from_hours(1);
const STEPS: [Millis; 4] = [Millis::new(1), Millis::from_secs(1), HOUR, Millis::from_days(8)];

fn noon() -> Time {
    Time::from_ms(1_700_000_000_000)
}

fn open(place: &Place, clock: &ManualClock) -> Engine<SqliteStore> {
    backend(place.options().clock(Arc::new(clock.clone()))).unwrap()
}

async fn time(backend: &Engine<SqliteStore>) -> Time {
    backend.store().due(&PartitionSet::All, None, 1).await.unwrap().now
}

async fn offset(backend: &Engine<SqliteStore>) -> Millis {
    backend.store().due(&PartitionSet::All, None, 1).await.unwrap().offset
}

/// Fires all due timers.
async fn tick(backend: &Engine<SqliteStore>) {
    let due = backend.store().due(&PartitionSet::All, None, 100).await.unwrap().due;
    for (_, id) in due {
        backend.tick(vec![id]).await.unwrap().remove(0).unwrap();
    }
}

async fn finished(backend: &Engine<SqliteStore>) -> ff_core::ExecutionId {
    let id = submit(backend, Submit::new(fixture::new_id())).await;
    let taken = fixture::take(backend, 1).await;
    backend.complete(vec![fixture::complete(&taken[0])]).await.unwrap().remove(0).unwrap();
    id
}

#[tokio::test]
async fn a_process_with_an_older_clock_uses_the_time_of_the_store() {
    for step in STEPS {
        let place = Place::new();
        let ahead = open(&place, &ManualClock::at(noon().as_ms()));
        submit(&ahead, Submit::new(fixture::new_id())).await;
        let clock = ManualClock::at((noon() - step).as_ms());
        let behind = open(&place, &clock);
        assert_eq!(time(&behind).await, noon(), "{step}");
        let id = submit(&behind, Submit::new(fixture::new_id())).await;
        assert_eq!(behind.describe(&fixture::target(id)).await.unwrap().created, noon(), "{step}");
        clock.advance(Millis::from_secs(1));
        assert!(time(&behind).await.since(noon()) >= Millis::new(900), "{step}: it stopped");
    }
}

#[tokio::test]
async fn processes_whose_clocks_are_a_millisecond_apart_see_one_time() {
    let place = Place::new();
    let clocks = [ManualClock::at(noon().as_ms()), ManualClock::at(noon().as_ms() + 1)];
    let stores = [open(&place, &clocks[0]), open(&place, &clocks[1])];
    let mut last = Time::EPOCH;
    for turn in 0..40 {
        let (clock, store) = (&clocks[turn % 2], &stores[turn % 2]);
        let id = submit(store, Submit::new(fixture::new_id())).await;
        let created = store.describe(&fixture::target(id)).await.unwrap().created;
        assert!(created >= last, "{created} after {last}");
        last = created;
        if turn % 3 == 0 {
            clock.advance(Millis::new(1));
        }
    }
}

#[tokio::test]
async fn a_reported_time_is_not_taken_back_although_nothing_was_written() {
    let clock = ManualClock::at(noon().as_ms());
    let backend = backend(Options::memory().clock(Arc::new(clock.clone()))).unwrap();
    assert_eq!(time(&backend).await, noon());
    clock.set(noon() - HOUR);
    assert_eq!(time(&backend).await, noon());
}

#[tokio::test]
async fn a_restart_agrees_on_the_time_after_the_clock_was_set_back() {
    for step in STEPS {
        let place = Place::new();
        let clock = ManualClock::at(noon().as_ms());
        let first = open(&place, &clock);
        submit(&first, Submit::new(fixture::new_id())).await;
        clock.set(noon() - step);
        submit(&first, Submit::new(fixture::new_id())).await;
        clock.advance(Millis::from_secs(10));
        submit(&first, Submit::new(fixture::new_id())).await;
        let reported = (time(&first).await, offset(&first).await);
        drop(first);
        let second = open(&place, &clock);
        assert_eq!((time(&second).await, offset(&second).await), reported, "{step}");
        clock.advance(Millis::from_secs(1));
        let gained = time(&second).await.since(reported.0);
        assert!(gained >= Millis::new(900), "{step}: gained {gained} in a second");
    }
}

#[tokio::test]
async fn a_lease_ends_after_a_restart_with_a_clock_that_was_set_back() {
    for step in STEPS {
        let place = Place::new();
        let clock = ManualClock::at(noon().as_ms());
        let first = open(&place, &clock);
        submit(&first, Submit::new(fixture::new_id())).await;
        let lost = fixture::take(&first, 1).await.remove(0);
        drop(first);
        clock.set(noon() - step);
        let second = open(&place, &clock);
        tick(&second).await;
        assert!(fixture::take(&second, 1).await.is_empty(), "{step}: it is still held");
        clock.advance(Millis::new(lost.lease_ttl.get() * 6 / 5));
        tick(&second).await;
        assert_eq!(fixture::take(&second, 1).await[0].execution, lost.execution, "{step}");
    }
}

#[tokio::test]
async fn a_process_that_starts_during_a_jump_removes_nothing() {
    let place = Place::new();
    let clock = ManualClock::at(noon().as_ms());
    let id = finished(&open(&place, &clock)).await;
    clock.set(noon() + Millis::from_days(8));
    for _ in 0..3 {
        // Each is a separate process, and writes.
        let backend = open(&place, &clock);
        submit(&backend, Submit::new(fixture::new_id())).await;
        tick(&backend).await;
        assert!(backend.store().record(id).await.unwrap().is_some(), "during the jump");
        clock.advance(Millis::from_secs(1));
    }
    clock.set(noon() + Millis::from_secs(3));
    for _ in 0..10 {
        let backend = open(&place, &clock);
        submit(&backend, Submit::new(fixture::new_id())).await;
        tick(&backend).await;
        assert!(backend.store().record(id).await.unwrap().is_some(), "after the jump");
        clock.advance(Millis::from_secs(60));
    }
}

#[tokio::test]
async fn a_process_that_starts_after_a_long_pause_removes_expired_work_a_minute_later() {
    let place = Place::new();
    let clock = ManualClock::at(noon().as_ms());
    let id = finished(&open(&place, &clock)).await;
    clock.set(noon() + Millis::from_days(8));
    let backend = open(&place, &clock);
    tick(&backend).await;
    assert!(backend.store().record(id).await.unwrap().is_some());
    assert_eq!(time(&backend).await, Clock::now(&clock), "time itself is followed at once");
    clock.advance(Millis::from_secs(61));
    tick(&backend).await;
    assert!(backend.store().record(id).await.unwrap().is_none());
}

#[tokio::test]
async fn a_process_that_starts_after_a_pause_does_not_delay_one_that_has_watched_the_clock() {
    let place = Place::new();
    let clock = ManualClock::at(noon().as_ms());
    let watching = open(&place, &clock);
    let id = finished(&watching).await;
    clock.advance(Millis::from_days(8));
    time(&watching).await;
    submit(&open(&place, &clock), Submit::new(fixture::new_id())).await;
    tick(&watching).await;
    assert!(watching.store().record(id).await.unwrap().is_none());
}

#[tokio::test]
async fn time_is_one_over_restarts_and_processes_whatever_the_clock_is_set_to() {
    let mut set = [0_u32; 4];
    for seed in 0..20 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let place = Place::new();
        let clock = ManualClock::at(noon().as_ms());
        let mut stores = [open(&place, &clock), open(&place, &clock)];
        let mut last = Time::EPOCH;
        for _ in 0..60 {
            let which = rng.usize(..2);
            match rng.u8(..4) {
                0 => {
                    let step = rng.usize(..STEPS.len());
                    set[step] += 1;
                    let now = Clock::now(&clock);
                    clock.set(if rng.bool() { now + STEPS[step] } else { now - STEPS[step] });
                }
                1 => stores[which] = open(&place, &clock),
                _ => clock.advance(Millis::new(rng.u64(..3_000))),
            }
            let id = submit(&stores[which], Submit::new(fixture::new_id())).await;
            let created = stores[which].describe(&fixture::target(id)).await.unwrap().created;
            assert!(created >= last, "seed {seed}: {created} after {last}");
            clock.advance(Millis::new(100));
            let later = time(&stores[which]).await;
            assert!(later.since(created) >= Millis::new(79), "seed {seed}: {later}, {created}");
            last = created;
        }
    }
    assert!(set.iter().all(|times| *times > 20), "{set:?}");
}
