//! Durable steps and sleeps of handlers, in one virtual time with the store.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use ff_backend_memory::MemoryStore;
use ff_core::bounds::PAYLOAD_BYTES;
use ff_core::collection::{Collection, Element, ElementRange};
use ff_core::journal::{EntryKind, ReplayJournal};
use ff_core::machine::{Replay, Target};
use ff_core::{Payload, PublicState};
use ff_sdk::{Bytes, Client, Heartbeats, State, TaskContext, TaskError, WorkerRuntime};
use ff_store::roles::Engine;
use ff_store::{EngineBackend, Store, StoreError};
use ff_testkit::{Forward, Forwarding, TokioClock};
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::Instant;

use crate::fixture::Fixture;

const HOUR: Duration = Duration::from_secs(3_600);

/// The outside world: how often each call was made, and with which keys.
#[derive(Clone, Default)]
struct World(Arc<Mutex<HashMap<String, Vec<String>>>>);

impl World {
    fn call(&self, what: &str, key: String) {
        self.0.lock().unwrap().entry(what.to_owned()).or_default().push(key);
    }

    fn calls(&self, what: &str) -> Vec<String> {
        self.0.lock().unwrap().get(what).cloned().unwrap_or_default()
    }
}

async fn call(world: &World, what: &str, key: String) -> Result<String, TaskError> {
    world.call(what, key);
    Ok(format!("{what} done"))
}

/// Charges, fails once, sleeps an hour, and ships.
async fn order(world: State<World>, task: TaskContext, (): ()) -> Result<Vec<String>, TaskError> {
    let charge = task.step("charge", |key| call(&world, "charge", key)).await?;
    if task.attempt() == 0 {
        return Err(TaskError::retryable("not yet"));
    }
    task.sleep("an hour", HOUR).await?;
    let ship = task.step("ship", |key| call(&world, "ship", key)).await?;
    Ok(vec![charge, ship])
}

/// Wraps whatever it gets, and ignores how its sleep ended.
async fn careless(world: State<World>, task: TaskContext, (): ()) -> Result<String, TaskError> {
    world.call("start", String::new());
    let slept = task.sleep("nap", HOUR).await;
    world.call("after", String::new());
    match slept {
        Ok(()) => Ok("slept".to_owned()),
        Err(error) => Ok(format!("wrapped: {}", error.message())),
    }
}

async fn twice(task: TaskContext, (): ()) -> Result<u32, TaskError> {
    let one = task.step("same", |_| async { Ok::<_, TaskError>(1) }).await?;
    Ok(one + task.step("same", |_| async { Ok::<_, TaskError>(2) }).await?)
}

async fn tries_again(world: State<World>, task: TaskContext, (): ()) -> Result<usize, TaskError> {
    loop {
        let work = |key| {
            world.call("try", key);
            let tried = world.calls("try").len();
            async move { if tried < 3 { Err(TaskError::retryable("no")) } else { Ok(tried) } }
        };
        if let Ok(tried) = task.step("stubborn", work).await {
            return Ok(tried);
        }
    }
}

/// Two steps at once, of which the second ends first.
async fn at_once(task: TaskContext, (): ()) -> Result<u32, TaskError> {
    let second = Notify::new();
    let a = task.step("a", |_| async {
        second.notified().await;
        Ok::<_, TaskError>(2)
    });
    let b = async {
        let b = task.step("b", |_| async { Ok::<_, TaskError>(1) }).await;
        second.notify_one();
        b
    };
    let (a, b) = tokio::try_join!(a, b)?;
    match task.attempt() {
        0 => Err(TaskError::retryable("not yet")),
        _ => Ok(a * 10 + b),
    }
}

async fn long(world: State<World>, task: TaskContext, (): ()) -> Result<(), TaskError> {
    let result = |key| {
        world.call("long", key);
        async { Ok::<_, TaskError>(Bytes(Payload::bytes(vec![7; PAYLOAD_BYTES + 1]))) }
    };
    task.step("long", result).await.map(drop)
}

async fn fails_once(world: State<World>, task: TaskContext, (): ()) -> Result<u32, TaskError> {
    let first = task.attempt() == 0;
    let work = |key| {
        world.call("work", key);
        async move { if first { Err(TaskError::retryable("no")) } else { Ok(7) } }
    };
    task.step("work", work).await
}

async fn plain(_task: TaskContext, n: u32) -> Result<u32, TaskError> {
    Ok(n + 1)
}

fn runtime(backend: Arc<dyn EngineBackend>, world: &World) -> WorkerRuntime {
    let runtime = WorkerRuntime::new(backend).heartbeats(Heartbeats::SameRuntime);
    let runtime = runtime.state(world.clone()).on("order", order).unwrap();
    let runtime = runtime.on("careless", careless).unwrap().on("twice", twice).unwrap();
    let runtime = runtime.on("at_once", at_once).unwrap().on("long", long).unwrap();
    let runtime = runtime.on("fails_once", fails_once).unwrap().on("plain", plain).unwrap();
    runtime.on("tries_again", tries_again).unwrap()
}

/// Runs `work` with a worker, and then stops that.
async fn with_worker<F: Future>(work: impl FnOnce(Arc<Fixture>, Client, World) -> F) -> F::Output {
    let (fixture, world) = (Arc::new(Fixture::start()), World::default());
    let running = runtime(fixture.backend.clone(), &world).start().await.unwrap();
    let client = Client::new(fixture.backend.clone());
    let done = work(fixture.clone(), client, world).await;
    running.shutdown().await;
    done
}

fn target(execution: ff_core::ExecutionId) -> Target {
    Target { namespace: Default::default(), execution }
}

#[tokio::test(start_paused = true)]
async fn a_step_runs_once_over_failures_and_sleeps() {
    with_worker(|fixture, client, world| async move {
        let since = Instant::now();
        let task = client.submit("order", &()).await.unwrap();
        let done: Vec<String> = client.wait(task.execution).await.unwrap();
        assert_eq!(done, ["charge done", "ship done"]);
        assert!(since.elapsed() >= HOUR);
        assert_eq!((world.calls("charge").len(), world.calls("ship").len()), (1, 1));
        let page = fixture.backend.steps(&target(task.execution), 0, 10).await.unwrap();
        let kinds = page.entries.iter().map(|it| (it.entry.name.as_str(), it.entry.what.kind()));
        let expected =
            [("charge", EntryKind::Step), ("an hour", EntryKind::Sleep), ("ship", EntryKind::Step)];
        assert_eq!(kinds.collect::<Vec<_>>(), expected);
        let record = fixture.record(&target(task.execution)).await;
        assert_eq!((record.epoch, record.run.failures), (3, 1), "the sleep cost no attempt");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_wraps_errors_and_ignores_results_is_parked() {
    with_worker(|fixture, client, world| async move {
        let task = client.submit("careless", &()).await.unwrap();
        let is_parked =
            async || fixture.state(&target(task.execution)).await == PublicState::Delayed;
        for turn in 0.. {
            if is_parked().await {
                break;
            }
            assert!(turn < 10_000, "the handler is not parked");
            yield_now().await;
        }
        assert_eq!((world.calls("start").len(), world.calls("after").len()), (1, 0));
        assert_eq!(client.wait::<String>(task.execution).await.unwrap(), "slept");
        assert_eq!((world.calls("start").len(), world.calls("after").len()), (2, 1));
        assert_eq!(fixture.record(&target(task.execution)).await.epoch, 2);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_used_twice_fails_for_good_and_says_so() {
    with_worker(|fixture, client, _| async move {
        let task = client.submit("twice", &()).await.unwrap();
        let error = client.wait::<u32>(task.execution).await.unwrap_err().to_string();
        assert!(error.contains("the handler used the name same for two"), "{error}");
        assert_eq!(fixture.record(&target(task.execution)).await.run.failures, 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_step_may_be_tried_again_in_the_same_attempt() {
    with_worker(|fixture, client, _| async move {
        let task = client.submit("tries_again", &()).await.unwrap();
        assert_eq!(client.wait::<usize>(task.execution).await.unwrap(), 3);
        assert_eq!(fixture.record(&target(task.execution)).await.epoch, 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn steps_at_once_are_all_kept() {
    with_worker(|fixture, client, _| async move {
        let task = client.submit("at_once", &()).await.unwrap();
        assert_eq!(client.wait::<u32>(task.execution).await.unwrap(), 21);
        let page = fixture.backend.journal(&target(task.execution), 0, 10).await.unwrap();
        let names: Vec<_> = page.entries.iter().map(|it| it.entry.name.as_str()).collect();
        assert_eq!(names, ["b", "a"], "in the order in which they ended");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_result_over_the_limit_fails_for_good_because_its_step_has_run() {
    with_worker(|fixture, client, world| async move {
        let task = client.submit("long", &()).await.unwrap();
        let error = client.wait::<()>(task.execution).await.unwrap_err().to_string();
        assert!(error.contains("step long has run, and its result cannot be kept"), "{error}");
        assert!(error.contains("1048577 bytes"), "{error}");
        assert_eq!(world.calls("long").len(), 1, "it is not run again");
        let record = fixture.record(&target(task.execution)).await;
        assert_eq!(record.run.failures, 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_step_runs_again_with_the_same_key() {
    with_worker(|_, client, world| async move {
        let task = client.submit("fails_once", &()).await.unwrap();
        assert_eq!(client.wait::<u32>(task.execution).await.unwrap(), 7);
        let keys = world.calls("work");
        assert_eq!(keys.len(), 2);
        assert_eq!(keys[0], keys[1]);
        assert!(keys[0].starts_with(&format!("{}-0-", task.execution)), "{}", keys[0]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_replay_repeats_what_it_hides_under_a_new_key() {
    with_worker(|fixture, client, world| async move {
        let task = client.submit("order", &()).await.unwrap();
        client.wait::<Vec<String>>(task.execution).await.unwrap();
        let replay = |run, journal| Replay { target: target(task.execution), run, journal };
        fixture.backend.replay(replay(0, ReplayJournal::Keep)).await.unwrap();
        client.wait::<Vec<String>>(task.execution).await.unwrap();
        assert_eq!((world.calls("charge").len(), world.calls("ship").len()), (1, 1));
        let up_to = ReplayJournal::UpTo("an hour".parse().unwrap());
        fixture.backend.replay(replay(1, up_to)).await.unwrap();
        client.wait::<Vec<String>>(task.execution).await.unwrap();
        assert_eq!((world.calls("charge").len(), world.calls("ship").len()), (1, 2));
        let keys = world.calls("ship");
        assert_ne!(keys[0], keys[1]);
    })
    .await;
}

/// A store that counts reads of journals.
struct Counting {
    store: MemoryStore,
    reads: Arc<AtomicUsize>,
}

#[async_trait]
impl Forward for Counting {
    fn beneath(&self) -> &dyn Store {
        &self.store
    }

    async fn elements(&self, range: ElementRange) -> Result<Vec<Element>, StoreError> {
        if range.collection == Collection::Steps {
            self.reads.fetch_add(1, Ordering::SeqCst);
        }
        self.store.elements(range).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_plain_task_never_reads_its_journal_and_others_read_it_once() {
    let reads = Arc::new(AtomicUsize::new(0));
    let store = MemoryStore::serial(Arc::new(TokioClock::start()));
    let counting = Counting { store, reads: reads.clone() };
    let backend: Arc<dyn EngineBackend> = Arc::new(Engine::new(Forwarding(counting)));
    let timers = ff_engine::timers::Timers::new(backend.clone(), Default::default());
    let stop = tokio_util::sync::CancellationToken::new();
    let stopped = stop.clone();
    tokio::spawn(async move { timers.run(stopped).await });
    let world = World::default();
    let running = runtime(backend.clone(), &world).start().await.unwrap();
    let client = Client::new(backend);
    let task = client.submit("plain", &1).await.unwrap();
    assert_eq!(client.wait::<u32>(task.execution).await.unwrap(), 2);
    assert_eq!(reads.load(Ordering::SeqCst), 0);
    let task = client.submit("order", &()).await.unwrap();
    client.wait::<Vec<String>>(task.execution).await.unwrap();
    assert_eq!(reads.load(Ordering::SeqCst), 2, "in the second hold and in the third");
    running.shutdown().await;
    stop.cancel();
}
