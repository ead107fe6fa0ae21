//! Processes wake each other: at once while announcements flow, within a second when
//! none does, and always in the end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use ff_core::bounds::CLAIM_WAIT_MAX;
use ff_core::continuation::ContinuationKind;
use ff_core::machine::{Assignment, Delay, Fail, Submit, ToyLater};
use ff_core::policy::Backoff;
use ff_core::state::Failure;
use ff_core::{Category, ExecutionId, Millis, Payload, PublicState, When};
use ff_store::wakeups::POLL_INTERVAL;
use ff_store::{ClientBackend, MaintenanceBackend, WorkerBackend};
use ff_testkit::report;
use ff_testkit::valkey::Server;
use tokio::runtime::Builder;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::{JoinHandle, yield_now};

use crate::fixture::{
    self, Home, Process, TIMEOUT, claim, complete, submit, target, try_submit, until, work,
};

/// Nothing is announced.
const MUTE: &str = "
    wrap_call = function(raw)
      return function(name, ...)
        if name == 'SPUBLISH' then
          return 0
        end
        return raw(name, ...)
      end
    end
";

fn waiter(process: &Process) -> JoinHandle<(Assignment, Instant)> {
    let process = process.clone();
    tokio::spawn(async move {
        let claimed = process.claim(claim(1), CLAIM_WAIT_MAX).await.unwrap();
        (claimed.assignments.into_iter().next().expect("work came"), Instant::now())
    })
}

async fn until_waiting(process: &Process) {
    while !process.wakeups().anybody_waits() {
        yield_now().await;
    }
}

/// How long work that one process submits takes to reach a claim that waits in another.
async fn hand_offs(home: &Home, rounds: usize) -> Vec<Duration> {
    let (producer, consumer) = (home.open().await, home.open().await);
    home.until_subscribed_by(Server::shared(), 2).await;
    let mut spans = Vec::new();
    for _ in 0..rounds {
        let waiting = waiter(&consumer);
        until_waiting(&consumer).await;
        let id = submit(&producer).await;
        let submitted = Instant::now();
        let (taken, at) = waiting.await.unwrap();
        assert_eq!(taken.execution, id);
        spans.push(at.saturating_duration_since(submitted));
    }
    spans.sort();
    spans
}

#[tokio::test(flavor = "multi_thread")]
async fn work_reaches_a_waiting_claim_of_another_process_at_once() {
    let home = Home::on(Server::shared(), 64);
    let spans = hand_offs(&home, 300).await;
    let (median, most) = (spans[150], spans[299]);
    eprintln!("hand-off between processes: median {median:?}, most {most:?}");
    assert!(median < POLL_INTERVAL / 20, "{spans:?}");
    // One may be delayed by a busy machine; if polling found the work, half would be late.
    assert!(spans[294] < POLL_INTERVAL / 4, "{spans:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unannounced_work_is_found_by_polling() {
    let home = Home::on(Server::shared(), 64).with_prelude(MUTE);
    let spans = hand_offs(&home, 5).await;
    eprintln!("hand-off without announcements: {spans:?}");
    assert!(spans.iter().all(|span| *span < POLL_INTERVAL * 2), "{spans:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timer_that_is_due_soon_wakes_another_process() {
    let home = Home::on(Server::shared(), 64);
    let (producer, engine) = (home.open().await, home.open().await);
    home.until_subscribed_by(Server::shared(), 2).await;
    let far = engine.due(&ff_store::PartitionSet::All, None, 1).await.unwrap().now
        + Millis::from_hours(1);
    engine.wakeups().disarm_timer();
    engine.wakeups().arm_timer(Some(far));
    let start = When::After(Millis::new(500));
    try_submit(&producer, Submit { start, ..work(&producer) }).await.unwrap();
    let woken = tokio::time::timeout(TIMEOUT, engine.wakeups().timer_changed());
    woken.await.expect("the timer loop is woken");
}

/// What is due in five seconds is not announced; a scan for work sees it.
#[tokio::test(flavor = "multi_thread")]
async fn another_process_sees_when_a_continuation_is_due() {
    let home = Home::on(Server::shared(), 4);
    let (producer, engine) = (home.open().await, home.open().await);
    let far = engine.due(&ff_store::PartitionSet::All, None, 1).await.unwrap().now
        + Millis::from_hours(1);
    engine.wakeups().disarm_timer();
    engine.wakeups().arm_timer(Some(far));
    let (target, add) = (target(work(&producer).id), vec![(ContinuationKind(200), 1)]);
    let later = ToyLater { target, changes: false, add, count: BTreeMap::new(), at_zero: None };
    producer.run(later).await.unwrap();
    let waiting = waiter(&engine);
    let woken = tokio::time::timeout(TIMEOUT, engine.wakeups().timer_changed());
    woken.await.expect("the timer loop is woken");
    submit(&producer).await;
    waiting.await.unwrap();
}

/// How an execution ended: its state, how many attempts it took, and its result.
type Ending = (PublicState, u32, Option<Vec<u8>>);

/// Work of every kind, done by four workers of another process. Its outcomes, by input.
async fn play(home: &Home) -> BTreeMap<String, Ending> {
    let (producer, consumer) = (home.open().await, home.open().await);
    home.until_subscribed_by(Server::shared(), 2).await;
    let mut tasks: Vec<_> = (0..4).map(|_| tokio::spawn(serve(consumer.clone()))).collect();
    tasks.push(tokio::spawn(let_time_pass(consumer.clone())));
    until_waiting(&consumer).await;
    let mut all = BTreeMap::new();
    for number in 0..60 {
        let (kind, priority) = (["done", "retry", "delay", "later"][number % 4], number as i16 % 3);
        let input = format!("{kind} {number}");
        let mut submit = Submit { input: Payload::bytes(input.clone()), ..work(&producer) };
        submit.priority = priority;
        submit.policy.backoff = Backoff::none().into();
        if kind == "later" {
            submit.start = When::After(Millis::new(50));
        }
        all.insert(input, try_submit(&producer, submit).await.unwrap());
    }
    let mut endings = BTreeMap::new();
    for (input, id) in all {
        endings.insert(input, ended(&producer, id).await);
    }
    tasks.iter().for_each(JoinHandle::abort);
    fixture::check(&producer).await;
    endings
}

async fn ended(process: &Process, id: ExecutionId) -> Ending {
    let view = until("an execution to end", async || {
        let view = process.describe(&target(id)).await.unwrap();
        view.outcome().is_some().then_some(view)
    });
    let view = view.await;
    let result = process.result(&target(id), None).await.ok();
    let attempts = view.attempt.as_ref().map_or(0, |attempt| attempt.number + 1);
    (view.public_state(), attempts, result.map(|result| result.bytes.to_vec()))
}

/// A worker: does what the input says, and claims the next.
async fn serve(process: Process) {
    loop {
        let claimed = process.claim(claim(2), CLAIM_WAIT_MAX).await.unwrap();
        for taken in claimed.assignments {
            let first = taken.fence.epoch == 1;
            if first && taken.input.bytes.starts_with(b"retry") {
                let category = Category::error();
                let failure = Failure { category, retryable: true, message: "once".into() };
                process.fail(Fail { hold: taken.hold(), failure }).await.unwrap();
            } else if first && taken.input.bytes.starts_with(b"delay") {
                let until = When::After(Millis::new(50));
                process.delay(Delay { hold: taken.hold(), until, step: None }).await.unwrap();
            } else {
                complete(&process, &taken).await.unwrap();
            }
        }
    }
}

/// The work of the engine.
async fn let_time_pass(process: Process) {
    loop {
        let due = process.due(&ff_store::PartitionSet::All, None, 100).await.unwrap().due;
        let ids: Vec<_> = due.into_iter().map(|(_, id)| id).collect();
        if !ids.is_empty() {
            process.tick(ids).await.unwrap();
        }
        let _ = tokio::time::timeout(POLL_INTERVAL / 20, process.wakeups().timer_changed()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_announcements_every_outcome_is_the_same() {
    let loud = Home::on(Server::shared(), 64);
    let mute = Home::on(Server::shared(), 64).with_prelude(MUTE);
    let started = Instant::now();
    let announced = play(&loud).await;
    let between = Instant::now();
    assert_eq!(play(&mute).await, announced);
    eprintln!("announced: {:?}, silent: {:?}", between - started, between.elapsed());
    assert!(
        announced.values().all(|(state, ..)| *state == PublicState::Completed),
        "{announced:?}"
    );
}

/// How often the last claim of a partition races a submit, unless `FF_RACES` is set.
const RACES: u64 = 10_000;
/// How long a wake may take to be called lost: in the waiting process the clock is stopped, so
/// only an announcement ever wakes it.
const LOST: Duration = Duration::from_secs(20);

#[test]
fn no_wake_is_lost_when_the_last_claim_of_a_partition_races_a_submit() {
    let races = std::env::var("FF_RACES").map_or(RACES, |races| races.parse().unwrap());
    let home = Home::on(Server::shared(), 1);
    let (claimed, mut woken) = unbounded_channel::<ExecutionId>();
    let counted = Arc::new(AtomicU64::new(0));
    let started = Instant::now();

    let (consumer_home, count) = (home.clone(), counted.clone());
    let consumer = std::thread::spawn(move || {
        with_stopped_clock(async {
            let consumer = consumer_home.open().await;
            for _ in 0..races {
                let mut taken = consumer.claim(claim(1), CLAIM_WAIT_MAX).await.unwrap().assignments;
                claimed.send(taken.remove(0).execution).unwrap();
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
    });
    let producer = std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let producer = home.open().await;
            home.until_subscribed_by(Server::shared(), 2).await;
            let mut pending = Vec::new();
            for round in 0..races {
                pending.push(submit(&producer).await);
                // Sometimes the queue is emptied before the next submit, sometimes during it.
                let most = if round % 3 == 0 { 0 } else { 1 };
                while pending.len() > most {
                    // Of two of the same millisecond, either comes first.
                    let id = woken.recv().await.unwrap();
                    let place = pending.iter().position(|other| *other == id);
                    pending.swap_remove(place.expect("it is claimed once"));
                }
                for _ in 0..fastrand::u32(..20) {
                    yield_now().await;
                }
            }
        });
    });

    let (done, ends) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send((producer.join(), consumer.join())));
    let mut before = u64::MAX;
    loop {
        match ends.recv_timeout(LOST) {
            Ok((producer, consumer)) => {
                producer.unwrap();
                consumer.unwrap();
                break;
            }
            Err(RecvTimeoutError::Timeout) => {
                let now = counted.load(Ordering::SeqCst);
                assert_ne!(now, before, "a wake was lost after {now} races");
                before = now;
            }
            Err(RecvTimeoutError::Disconnected) => panic!("the race was not run"),
        }
    }
    assert_eq!(counted.load(Ordering::SeqCst), races);
    eprintln!("{races} races, no wake lost, in {:?}", started.elapsed());
    report::count("wake_races", races);
}

/// Runs `work` with a stopped clock: a wait for a time never ends.
fn with_stopped_clock(work: impl Future<Output = ()>) {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let (until_dropped, hold) = std::sync::mpsc::channel::<()>();
    // A paused clock jumps when there is nothing to do, unless a blocking task is running.
    runtime.spawn_blocking(move || hold.recv());
    runtime.block_on(work);
    drop(until_dropped);
}
