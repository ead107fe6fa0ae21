//! The timer loop on a manual clock, and its wake-ups in tokio's paused time.

use std::sync::Arc;
use std::time::Duration;

use ff_backend_memory::MemoryStore;
use ff_core::machine::{Submit, Target};
use ff_core::{Millis, Namespace, PublicState, When};
use ff_engine::timers::{Options, Timers};
use ff_store::EngineBackend;
use ff_store::roles::Engine;
use ff_testkit::ManualClock;
use tokio_util::sync::CancellationToken;

fn engine(clock: &ManualClock) -> Arc<dyn EngineBackend> {
    Arc::new(Engine::new(MemoryStore::serial(Arc::new(clock.clone()))))
}

async fn delayed(backend: &dyn EngineBackend, ms: u64) -> Target {
    let namespace = Namespace::default();
    let id = backend.new_id(&namespace, None);
    let submit = Submit { start: When::After(Millis::new(ms)), ..Submit::new(id) };
    backend.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    Target { namespace, execution: id }
}

async fn state(backend: &dyn EngineBackend, target: &Target) -> PublicState {
    backend.describe(target).await.unwrap().public_state()
}

#[tokio::test]
async fn a_cycle_drains_more_than_one_batch_and_reports_how_long_to_sleep() {
    let clock = ManualClock::default();
    let backend = engine(&clock);
    for _ in 0..250 {
        delayed(&*backend, 1_000).await;
    }
    let later = delayed(&*backend, 5_000).await;
    clock.advance(Millis::new(1_000));
    let timers = Timers::new(backend.clone(), Options::default());
    let report = timers.run_once().await.unwrap();
    assert_eq!((report.fired, report.errors), (250, 0));
    assert_eq!(report.sleep, Some(Duration::from_millis(4_000)));
    assert_eq!(state(&*backend, &later).await, PublicState::Delayed);
}

#[tokio::test]
async fn nothing_fires_before_its_time() {
    let clock = ManualClock::default();
    let backend = engine(&clock);
    let target = delayed(&*backend, 1_000).await;
    let timers = Timers::new(backend.clone(), Options::default());
    clock.advance(Millis::new(999));
    assert_eq!(timers.run_once().await.unwrap().fired, 0);
    assert_eq!(state(&*backend, &target).await, PublicState::Delayed);
    clock.advance(Millis::new(1));
    assert_eq!(timers.run_once().await.unwrap().fired, 1);
    assert_eq!(state(&*backend, &target).await, PublicState::Waiting);
}

#[tokio::test(start_paused = true)]
async fn a_sleeping_loop_wakes_for_an_earlier_timer() {
    let clock = ManualClock::default();
    let backend = engine(&clock);
    let hour = Duration::from_secs(3_600);
    let options = Options { longest_sleep: hour, ..Options::default() };
    let timers = Timers::new(backend.clone(), options);
    let shutdown = CancellationToken::new();
    let stop = shutdown.clone();
    let running = tokio::spawn(async move { timers.run(stop).await });
    tokio::task::yield_now().await;
    let started = tokio::time::Instant::now();
    let target = delayed(&*backend, 50).await;
    clock.advance(Millis::new(50));
    while state(&*backend, &target).await == PublicState::Delayed {
        assert!(started.elapsed() < hour / 2, "the loop slept through an earlier timer");
        tokio::time::advance(Duration::from_millis(10)).await;
    }
    shutdown.cancel();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stop_that_was_sent_before_the_loop_started_is_seen() {
    let shutdown = CancellationToken::new();
    shutdown.cancel();
    let timers = Timers::new(engine(&ManualClock::default()), Options::default());
    tokio::time::timeout(Duration::from_secs(1), timers.run(shutdown)).await.unwrap();
}
