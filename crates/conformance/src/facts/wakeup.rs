//! Waiting claims: woken when there is work, and served by polling if a wake-up is lost.

use std::time::{Duration, Instant};

use ff_core::machine::{ClaimRequest, Claimed, Submit, Withheld};
use ff_core::policy::{Backoff, Policy, Retry};
use ff_core::{Capabilities, ExecutionId, Lane, Millis, When};
use ff_store::WorkerBackend;
use ff_store::wakeups::POLL_INTERVAL;
use tokio::task::{JoinHandle, JoinSet, yield_now};

use crate::fixture::{Fixture, failure, ms, steady};

/// How long a waiting claim waits: longer than any fact does.
const WAIT: Millis = Millis::from_secs(50);
/// A waiter that takes longer was not woken: it polled.
const PROMPT: Duration = Duration::from_millis(POLL_INTERVAL.as_millis() as u64 * 9 / 10);

fn waiter(g: &Fixture, claim: ClaimRequest) -> JoinHandle<Claimed> {
    let g = g.clone();
    tokio::spawn(async move { g.backend().claim(claim, WAIT).await.unwrap() })
}

/// The claim of a waiter, which must have one execution.
async fn got(waiter: JoinHandle<Claimed>) -> ExecutionId {
    let claimed = waiter.await.unwrap();
    assert_eq!(claimed.assignments.len(), 1, "it was woken for work");
    claimed.assignments[0].execution
}

/// Returns when `count` claims wait.
async fn until_waiting(g: &Fixture, count: usize) {
    let queue = (g.namespace.clone(), Lane::default());
    while g.backend().wakeups().waiting(&queue) != count {
        yield_now().await;
    }
}

async fn a_few_turns() {
    for _ in 0..fastrand::u32(..30) {
        yield_now().await;
    }
}

pub(crate) async fn a_waiting_claim_ends_empty_when_its_time_is_over(g: Fixture) {
    let claimed = g.backend().claim(g.claim(), ms(5)).await.unwrap();
    assert_eq!(claimed, Claimed::default());
}

pub(crate) async fn existing_work_is_claimed_without_waiting(g: Fixture) {
    let id = g.waiting().await;
    let claimed = g.backend().claim(g.claim(), WAIT).await.unwrap();
    assert_eq!(claimed.assignments[0].execution, id);
}

pub(crate) async fn a_waiter_is_woken_for_submitted_work(g: Fixture) {
    let waiting = waiter(&g, g.claim());
    until_waiting(&g, 1).await;
    let id = g.waiting().await;
    assert_eq!(got(waiting).await, id);
}

/// Every way into a queue but a submit.
const ENTRIES: &[&str] = &[
    "a delay is over",
    "a backoff is over",
    "a retry at once",
    "a lease is lost",
    "a grant expires",
    "a hand-back",
    "a revoke",
    "a delay into the past",
    "a replay",
];

/// Prepares an execution that the named event puts into its queue; the event happens when
/// the second part runs.
async fn queue_by(g: &Fixture, entry: &str, ready: impl Future<Output = ()>) -> ExecutionId {
    if entry == "a delay is over" {
        let id = g.delayed(ms(100)).await;
        ready.await;
        g.pass(ms(100)).await;
        return id;
    }
    if entry == "a grant expires" {
        let id = g.waiting().await;
        g.granted().await;
        ready.await;
        g.pass(ms(5_000)).await;
        return id;
    }
    let retry = Retry { backoff: Backoff::none(), ..steady().retry };
    let policy = match entry {
        "a retry at once" => Policy { retry, ..steady() },
        _ => steady(),
    };
    let held = g.held_under(policy).await;
    let id = held.execution;
    match entry {
        "a backoff is over" => drop(g.fail(&held, failure("broken")).await.unwrap()),
        "a replay" => drop(g.complete(&held, "done").await.unwrap()),
        _ => {}
    }
    ready.await;
    match entry {
        "a backoff is over" => g.pass(ms(1_000)).await,
        "a retry at once" => drop(g.fail(&held, failure("broken")).await.unwrap()),
        "a lease is lost" => g.pass(held.lease_ttl).await,
        "a hand-back" => drop(g.hand_back(&held).await.unwrap()),
        "a revoke" => drop(g.revoke(id, held.fence).await.unwrap()),
        "a delay into the past" => drop(g.delay(&held, When::Now).await.unwrap()),
        "a replay" => drop(g.replay(id, 0).await.unwrap()),
        _ => panic!("{entry} is not a way into a queue"),
    }
    id
}

pub(crate) async fn a_waiter_is_woken_for_every_entry_into_its_queue(g: Fixture) {
    let mut late: Vec<&str> = Vec::new();
    for entry in ENTRIES {
        let mut waiting = None;
        let ready = async {
            waiting = Some(waiter(&g, g.claim()));
            until_waiting(&g, 1).await;
        };
        let id = queue_by(&g, entry, ready).await;
        let began = Instant::now();
        assert_eq!(got(waiting.unwrap()).await, id, "{entry}");
        late.extend((began.elapsed() > PROMPT).then_some(entry));
        g.cancel(id, None).await.unwrap();
    }
    assert!(late.len() <= 1, "not woken for {late:?}");
}

pub(crate) async fn a_waiter_is_woken_when_its_lane_is_resumed(g: Fixture) {
    let mut late = 0;
    for _ in 0..5 {
        g.pause().await;
        let id = g.waiting().await;
        let waiting = waiter(&g, g.claim());
        until_waiting(&g, 1).await;
        for _ in 0..10 {
            assert!(g.nothing_to_claim().await, "also for another claim meanwhile");
        }
        g.resume().await;
        let began = Instant::now();
        assert_eq!(got(waiting).await, id);
        late += u32::from(began.elapsed() > PROMPT);
    }
    assert!(late <= 1, "{late} of 5 waiters were not woken");
}

pub(crate) async fn a_waiter_of_a_paused_lane_learns_why_it_got_nothing(g: Fixture) {
    g.waiting().await;
    g.pause().await;
    let claimed = g.backend().claim(g.claim(), ms(5)).await.unwrap();
    assert_eq!(claimed.withheld, Some(Withheld::LanePaused));
    assert!(claimed.assignments.is_empty());
}

pub(crate) async fn of_two_waiters_one_gets_one_execution(g: Fixture) {
    let mut waiters = JoinSet::new();
    for _ in 0..2 {
        let (g, claim) = (g.clone(), g.claim());
        waiters.spawn(async move { g.backend().claim(claim, WAIT).await.unwrap() });
    }
    until_waiting(&g, 2).await;
    let first = g.waiting().await;
    let claimed = waiters.join_next().await.unwrap().unwrap();
    assert_eq!(claimed.assignments[0].execution, first);
    until_waiting(&g, 1).await;
    let second = g.waiting().await;
    let claimed = waiters.join_next().await.unwrap().unwrap();
    assert_eq!(claimed.assignments[0].execution, second);
}

pub(crate) async fn as_many_waiters_as_executions_get_one_each(g: Fixture) {
    let waiters: Vec<_> = (0..10).map(|_| waiter(&g, g.claim())).collect();
    until_waiting(&g, 10).await;
    let works: Vec<_> = (0..10).map(|_| g.work()).collect();
    let mut ids: Vec<_> = works.iter().map(|work| work.id).collect();
    g.backend().submit(works).await.unwrap();
    let mut taken = Vec::new();
    for waiter in waiters {
        taken.push(got(waiter).await);
    }
    taken.sort();
    ids.sort();
    assert_eq!(taken, ids);
}

pub(crate) async fn a_waiter_that_cannot_run_it_blocks_no_other(g: Fixture) {
    let cuda = Capabilities::new(["cuda"]).unwrap();
    let plain = waiter(&g, g.claim());
    until_waiting(&g, 1).await;
    let special = waiter(&g, ClaimRequest { capabilities: cuda.clone(), ..g.claim() });
    until_waiting(&g, 2).await;
    let id = g.submit(Submit { requires: cuda, ..g.work() }).await;
    assert_eq!(got(special).await, id);
    let id = g.waiting().await;
    assert_eq!(got(plain).await, id);
}

pub(crate) async fn waiters_of_other_lanes_and_namespaces_are_not_woken(g: Fixture) {
    let there = g.elsewhere();
    let elsewhere = waiter(&there, there.claim());
    until_waiting(&there, 1).await;
    let slow = ClaimRequest { lane: Lane::new("slow").unwrap(), ..g.claim() };
    let slow_lane = (g.namespace.clone(), slow.lane.clone());
    let other_lane = waiter(&g, slow);
    while g.backend().wakeups().waiting(&slow_lane) != 1 {
        yield_now().await;
    }
    g.waiting().await;
    assert_eq!(g.backend().wakeups().waiting(&slow_lane), 1);
    until_waiting(&there, 1).await;
    elsewhere.abort();
    other_lane.abort();
}

pub(crate) async fn a_claim_racing_a_submit_does_not_miss_it(g: Fixture) {
    let rounds = 500;
    let mut late = 0;
    for _ in 0..rounds {
        let waiting = waiter(&g, g.claim());
        let submitter = g.clone();
        let submitting = tokio::spawn(async move {
            a_few_turns().await;
            (submitter.waiting().await, Instant::now())
        });
        let taken = got(waiting).await;
        let (id, submitted) = submitting.await.unwrap();
        assert_eq!(taken, id);
        late += u32::from(submitted.elapsed() > PROMPT);
        // A stalled machine may resemble one missed wake-up; a race that loses wake-ups loses more.
        assert!(late <= 2, "{late} of at most {rounds} waiters were not woken");
    }
}

pub(crate) async fn a_dropped_waiter_hands_back_what_it_claimed(g: Fixture) {
    for _ in 0..200 {
        let leaving = waiter(&g, g.claim());
        a_few_turns().await;
        let id = g.waiting().await;
        a_few_turns().await;
        leaving.abort();
        let taken = match leaving.await {
            Ok(claimed) => claimed.assignments[0].clone(),
            Err(_gone) => {
                let claimed = g.backend().claim(g.claim(), WAIT).await.unwrap();
                claimed.assignments.first().expect("it was handed back").clone()
            }
        };
        assert_eq!(taken.execution, id);
        assert_eq!(taken.fence.attempt, 0, "nothing is lost but a little time");
        g.complete(&taken, "done").await.unwrap();
    }
}

pub(crate) async fn a_dropped_claim_of_several_hands_back_all(g: Fixture) {
    let three = || ClaimRequest { max: 3, ..g.claim() };
    for turns in 0..50 {
        for _ in 0..3 {
            g.waiting().await;
        }
        let leaving = waiter(&g, three());
        for _ in 0..turns % 25 {
            tokio::task::yield_now().await;
        }
        leaving.abort();
        let mut taken = match leaving.await {
            Ok(claimed) => claimed.assignments,
            Err(_gone) => Vec::new(),
        };
        while taken.len() < 3 {
            let claimed = g.backend().claim(three(), WAIT).await.unwrap();
            assert!(!claimed.assignments.is_empty(), "they were handed back");
            taken.extend(claimed.assignments);
        }
        for one in taken {
            assert_eq!(one.fence.attempt, 0, "nothing is lost but a little time");
            g.complete(&one, "done").await.unwrap();
        }
    }
}

pub(crate) async fn a_wakeup_of_a_dropped_waiter_reaches_the_next(g: Fixture) {
    for _ in 0..200 {
        let leaving = waiter(&g, g.claim());
        until_waiting(&g, 1).await;
        let staying = waiter(&g, g.claim());
        until_waiting(&g, 2).await;
        let id = g.waiting().await;
        a_few_turns().await;
        leaving.abort();
        match leaving.await {
            Ok(claimed) => {
                assert_eq!(claimed.assignments[0].execution, id);
                staying.abort();
                staying.await.expect_err("there was one execution");
            }
            Err(_gone) => assert_eq!(got(staying).await, id),
        }
    }
}

pub(crate) async fn without_announcements_polling_finds_the_best_work(g: Fixture) {
    let (without_wakeups, claim) = (g.without_wakeups(), g.claim());
    let waiting = without_wakeups.clone();
    let waiting = tokio::spawn(async move { waiting.claim(claim, WAIT).await.unwrap() });
    without_wakeups.store().until_scanned(1).await;
    let low = g.work();
    let high = Submit { priority: 5, ..g.work() };
    let expected = high.id;
    let since = Instant::now();
    g.backend().submit(vec![low, high]).await.unwrap();
    let claimed = waiting.await.unwrap();
    assert_eq!(claimed.assignments[0].execution, expected);
    assert!(since.elapsed() < POLL_INTERVAL * 5, "found after {:?}", since.elapsed());
}

pub(crate) async fn without_announcements_every_waiter_is_served(g: Fixture) {
    let cuda = Capabilities::new(["cuda"]).unwrap();
    let without_wakeups = g.without_wakeups();
    let mut waiters = JoinSet::new();
    for capabilities in [Capabilities::NONE, cuda.clone()] {
        let (without_wakeups, claim) =
            (without_wakeups.clone(), ClaimRequest { capabilities, ..g.claim() });
        waiters.spawn(async move { without_wakeups.claim(claim, WAIT).await.unwrap() });
    }
    without_wakeups.store().until_scanned(2).await;
    g.submit(Submit { requires: cuda, ..g.work() }).await;
    g.waiting().await;
    for claimed in waiters.join_all().await {
        assert_eq!(claimed.assignments.len(), 1);
    }
}

pub(crate) async fn the_timer_loop_learns_of_an_earlier_timer(g: Fixture) {
    let wakeups = g.backend().wakeups();
    wakeups.disarm_timer();
    wakeups.arm_timer(Some(g.now().await + ms(1_000)));
    g.delayed(ms(2_000)).await;
    let woken = tokio::time::timeout(Duration::ZERO, wakeups.timer_changed()).await;
    assert!(woken.is_err(), "a later timer wakes nothing");
    g.delayed(ms(500)).await;
    wakeups.timer_changed().await;
}

pub(crate) async fn the_timer_loop_learns_of_a_timer_set_while_it_reads(g: Fixture) {
    let wakeups = g.backend().wakeups();
    wakeups.disarm_timer();
    let next = g.backend().due(&ff_store::PartitionSet::All, None, 10).await.unwrap().next;
    g.delayed(ms(500)).await;
    wakeups.arm_timer(next);
    wakeups.timer_changed().await;
}
