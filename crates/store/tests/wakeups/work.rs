//! Wake-ups of claims and timers: which waiters are woken, which are not, and that no wake-up is lost.

use std::time::Duration;

use ff_core::{Capabilities, Lane, Namespace, Time};
use ff_store::Wakeups;
use ff_store::wakeups::{Announcement, POLL_INTERVAL, Queue, Subscription, Wake};
use tokio::time::timeout;

fn queue() -> Queue {
    (Namespace::default(), Lane::default())
}

fn work(class: &str) -> [Announcement; 1] {
    let (namespace, lane) = queue();
    [Announcement::Work { namespace, lane, class: Capabilities::parse(class).unwrap() }]
}

fn waiter(wakeups: &Wakeups, offers: &str) -> Subscription {
    let waiting = wakeups.subscribe(queue(), Capabilities::parse(offers).unwrap());
    waiting.register();
    waiting.has_read();
    waiting
}

async fn is_woken(waiting: &Subscription) -> Option<Wake> {
    timeout(POLL_INTERVAL / 4, waiting.woken()).await.ok()
}

#[tokio::test(start_paused = true)]
async fn work_wakes_the_first_waiter_that_covers_its_class() {
    let wakeups = Wakeups::default();
    let plain = waiter(&wakeups, "");
    let gpu = waiter(&wakeups, "gpu");
    let late = waiter(&wakeups, "gpu");
    wakeups.announce(work("gpu"));
    assert_eq!(is_woken(&plain).await, None);
    assert_eq!(is_woken(&gpu).await, Some(Wake::Announced));
    assert_eq!(is_woken(&late).await, None);
}

#[tokio::test(start_paused = true)]
async fn work_announced_between_registering_and_waiting_is_not_missed() {
    let wakeups = Wakeups::default();
    let waiting = wakeups.subscribe(queue(), Capabilities::NONE);
    waiting.register();
    wakeups.announce(work(""));
    waiting.has_read();
    assert_eq!(is_woken(&waiting).await, Some(Wake::Announced));
}

#[tokio::test(start_paused = true)]
async fn a_wake_up_that_its_waiter_did_not_answer_goes_to_the_others() {
    let wakeups = Wakeups::default();
    let gone = waiter(&wakeups, "");
    let next = waiter(&wakeups, "");
    wakeups.announce(work(""));
    drop(gone);
    assert!(is_woken(&next).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_goes_away_while_it_reads_wakes_the_others() {
    let wakeups = Wakeups::default();
    let gone = wakeups.subscribe(queue(), Capabilities::NONE);
    gone.register();
    let next = waiter(&wakeups, "");
    drop(gone);
    assert!(is_woken(&next).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_leaves_with_no_wake_up_wakes_no_other() {
    let wakeups = Wakeups::default();
    let gone = waiter(&wakeups, "");
    let next = waiter(&wakeups, "");
    drop(gone);
    assert_eq!(is_woken(&next).await, None);
    assert_eq!(wakeups.waiting(&queue()), 1);
}

#[tokio::test(start_paused = true)]
async fn with_every_announcement_lost_one_waiter_polls_each_turn() {
    let wakeups = Wakeups::default();
    let one = waiter(&wakeups, "");
    let two = waiter(&wakeups, "");
    let polls = |rounds: u32| {
        let (one, two) = (&one, &two);
        async move {
            let mut count = 0;
            let end = tokio::time::Instant::now() + POLL_INTERVAL * rounds;
            while tokio::time::Instant::now() < end {
                tokio::select! {
                    wake = one.woken() => assert_eq!(wake, Wake::Poll),
                    wake = two.woken() => assert_eq!(wake, Wake::Poll),
                }
                count += 1;
            }
            count
        }
    };
    let count = polls(10).await;
    assert!((9..=11).contains(&count), "{count} polls in 10 turns");
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_finds_work_by_polling_wakes_the_next() {
    let wakeups = Wakeups::default();
    let finder = waiter(&wakeups, "");
    let next = waiter(&wakeups, "");
    finder.pass_on();
    assert_eq!(is_woken(&next).await, Some(Wake::Poll));
    assert_eq!(is_woken(&finder).await, None);
}

#[tokio::test(start_paused = true)]
async fn something_unknown_wakes_every_waiter() {
    let wakeups = Wakeups::default();
    let waiters = [waiter(&wakeups, ""), waiter(&wakeups, "gpu")];
    wakeups.announce_maybe();
    for waiting in &waiters {
        assert!(is_woken(waiting).await.is_some());
    }
    timeout(Duration::from_millis(1), wakeups.timer_changed()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn only_an_earlier_timer_wakes_the_timer_loop() {
    let wakeups = Wakeups::default();
    wakeups.arm_timer(Some(Time::from_ms(100)));
    wakeups.announce([Announcement::Timer(Time::from_ms(100))]);
    assert!(timeout(POLL_INTERVAL, wakeups.timer_changed()).await.is_err());
    wakeups.announce([Announcement::Timer(Time::from_ms(99))]);
    assert!(timeout(POLL_INTERVAL, wakeups.timer_changed()).await.is_ok());
}
