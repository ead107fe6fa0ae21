//! Claims over several partitions: every execution once, the urgent first, and leases found again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use ff_core::bounds::PRIORITY;
use ff_core::machine::{ClaimRequest, Submit};
use ff_core::{ExecutionId, Millis, Setting};
use ff_store::{ClientBackend, Store, WorkerBackend};
use ff_testkit::report;
use ff_testkit::valkey::Server;
use tokio::task::JoinSet;

use crate::fixture::{self, Home, Process, TIMEOUT, claim, submit_many, take, try_submit, work};

/// Claims everything until `left` is used up.
async fn work_off(process: Process, left: Arc<AtomicUsize>) -> Vec<ExecutionId> {
    let by = Instant::now() + TIMEOUT;
    let mut taken = Vec::new();
    while left.load(Ordering::SeqCst) > 0 && Instant::now() < by {
        let max = fastrand::u16(1..=8);
        let claimed = process.claim(claim(max), Millis::new(100)).await.unwrap().assignments;
        assert!(claimed.len() <= usize::from(max));
        left.fetch_sub(claimed.len(), Ordering::SeqCst);
        taken.extend(claimed.iter().map(|assignment| assignment.execution));
    }
    taken
}

async fn everything_is_taken_exactly_once(partitions: u16) {
    const COUNT: usize = 3_000;
    let home = Home::on(Server::shared(), partitions);
    let (first, second) = (home.open().await, home.open().await);
    let left = Arc::new(AtomicUsize::new(COUNT));
    let mut workers = JoinSet::new();
    for process in [&first, &second] {
        for _ in 0..4 {
            workers.spawn(work_off(process.clone(), left.clone()));
        }
    }
    let mut submitted = submit_many(&first, COUNT).await;
    let mut taken: Vec<_> = workers.join_all().await.into_iter().flatten().collect();
    submitted.sort();
    taken.sort();
    assert!(taken == submitted, "{} taken of {COUNT}", taken.len());
    let places: BTreeSet<_> = taken.iter().map(|id| id.partition().number() % partitions).collect();
    assert_eq!(places.len(), usize::from(partitions), "all partitions had some");
    fixture::check(&second).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn four_partitions_are_emptied_with_everything_taken_once() {
    everything_is_taken_exactly_once(4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_partitions_are_emptied_with_everything_taken_once() {
    everything_is_taken_exactly_once(64).await;
}

/// Submits work of ten priorities, mixed.
async fn of_ten_priorities(process: &Process, count: usize) {
    let mut works: Vec<_> =
        (0..count).map(|number| Submit { priority: number as i16 % 10, ..work(process) }).collect();
    fastrand::shuffle(&mut works);
    for batch in works.chunks(100) {
        for answer in process.submit(batch.to_vec()).await.unwrap() {
            answer.unwrap();
        }
    }
}

/// The priority and age of what a process claims, in that order.
async fn taken_in_order(process: &Process, max: u16) -> Vec<(i16, u64)> {
    let mut order = Vec::new();
    loop {
        let taken = take(process, max).await;
        if taken.is_empty() {
            return order;
        }
        for assignment in taken {
            let view = process.describe(&fixture::target(assignment.execution)).await.unwrap();
            order.push((view.priority, view.created.as_ms()));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_alone_takes_the_highest_priority_of_all_partitions_first() {
    for (partitions, max) in [(4, 1), (4, 16), (64, 1), (64, 16)] {
        let home = Home::on(Server::shared(), partitions);
        let (producer, consumer) = (home.open().await, home.open().await);
        of_ten_priorities(&producer, 400).await;
        let order = taken_in_order(&consumer, max).await;
        assert_eq!(order.len(), 400);
        let priorities: Vec<_> = order.iter().map(|(priority, _)| *priority).collect();
        assert!(priorities.is_sorted_by(|a, b| a >= b), "{partitions} {max}: {priorities:?}");
        // One at a time, age decides over all partitions too.
        let by_age = order.is_sorted_by_key(|(priority, created)| (10 - priority, *created));
        assert!(by_age || max > 1, "{partitions}: {order:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_take_nearly_in_order_of_priority() {
    const COUNT: usize = 1_000;
    for partitions in [4, 64] {
        let home = Home::on(Server::shared(), partitions);
        let (producer, other) = (home.open().await, home.open().await);
        home.until_subscribed_by(Server::shared(), 2).await;
        of_ten_priorities(&producer, COUNT).await;
        let mut order: Vec<i16> = Vec::new();
        while order.len() < COUNT {
            for process in [&producer, &other] {
                for assignment in take(process, 1).await {
                    let target = fixture::target(assignment.execution);
                    order.push(process.describe(&target).await.unwrap().priority);
                }
            }
        }
        // Of the best tenth, the best two tenths and so on: how many were not among as many
        // first claimed. Taking a head is not announced, so a process learns at its next
        // claim there that the other was first.
        let late = |tenths: i16| {
            let place = COUNT / 10 * tenths as usize;
            order[place..].iter().filter(|priority| **priority >= 10 - tenths).count()
        };
        let late: Vec<_> = (1..10).map(late).collect();
        eprintln!("{partitions} partitions, late of the best tenth and so on: {late:?}");
        assert!(late.iter().all(|late| *late <= COUNT / 20), "{late:?}");
    }
}

#[tokio::test]
async fn an_urgent_execution_behind_ten_thousand_is_taken_within_two_claims() {
    const ROUNDS: usize = 100;
    let home = Home::on(Server::shared(), 64);
    let (producer, consumer) = (home.open().await, home.open().await);
    home.until_subscribed_by(Server::shared(), 2).await;
    submit_many(&producer, 10_000).await;
    let mut second = 0;
    for _ in 0..ROUNDS {
        let urgent = Submit { priority: PRIORITY, ..work(&producer) };
        let urgent = try_submit(&producer, urgent).await.unwrap();
        let mut taken = take(&consumer, 1).await;
        if taken[0].execution != urgent {
            second += 1;
            taken = take(&consumer, 1).await;
        }
        assert_eq!(taken[0].execution, urgent, "after {second} at the second claim");
    }
    eprintln!("{ROUNDS} urgent ones behind 10,000: {second} taken by the second claim");
    report::count("urgent_taken", ROUNDS as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_has_just_opened_takes_the_urgent_one_first() {
    let home = Home::on(Server::shared(), 64);
    let producer = home.open().await;
    submit_many(&producer, 1_000).await;
    for _ in 0..5 {
        let urgent = Submit { priority: PRIORITY, ..work(&producer) };
        let urgent = try_submit(&producer, urgent).await.unwrap();
        let consumer = home.open().await;
        assert_eq!(take(&consumer, 1).await[0].execution, urgent);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retried_claim_finds_its_leases_in_all_partitions() {
    for partitions in [4, 64] {
        let home = Home::on(Server::shared(), partitions);
        let (first, second) = (home.open().await, home.open().await);
        submit_many(&first, 500).await;
        let once = claim(200);
        let taken = first.claim(once.clone(), Millis::ZERO).await.unwrap().assignments;
        let places: BTreeSet<_> =
            taken.iter().map(|a| a.execution.partition().number() % partitions).collect();
        assert!(taken.len() == 200 && places.len() > 1, "{} in {places:?}", taken.len());
        let before = fixture::everything(&first).await;
        for process in [&first, &second] {
            let again = ClaimRequest { retry: true, ..once.clone() };
            let again = process.claim(again, Millis::ZERO).await.unwrap().assignments;
            let held = |of: &[ff_core::machine::Assignment]| -> Vec<_> {
                of.iter().map(|a| (a.execution, a.fence, a.until, a.input.clone())).collect()
            };
            assert_eq!(held(&again), held(&taken));
        }
        fixture::everything(&first).await.assert_same(&before);
        let fresh = ClaimRequest { retry: true, ..claim(200) };
        let more = second.claim(fresh, Millis::ZERO).await.unwrap().assignments;
        assert_eq!(more.len(), 200, "a claim that has nothing takes as any other");
    }
}

#[tokio::test]
async fn settings_are_one_for_all_processes_and_survive_them() {
    let home = Home::on(Server::shared(), 4);
    let give = async |process: &Process, value: &'static str| {
        let setting = Setting::new("ring", value).unwrap();
        process.store().setting(setting).await.unwrap()
    };
    let (one, other) = (home.open().await, home.open().await);
    assert_eq!(give(&one, "first").await, "first");
    assert_eq!(give(&other, "second").await, "first");
    drop((one, other));
    let partitions = Setting::new("partitions", "7").unwrap();
    let again = home.open().await;
    assert_eq!(give(&again, "third").await, "first");
    assert_eq!(again.store().setting(partitions).await.unwrap(), "4", "it is a setting too");
}
