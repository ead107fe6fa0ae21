//! Wake-ups: who is called, who is not, and that no call is lost.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use ff_core::{Capabilities, Lane, Namespace, Time};
use ff_store::Wakeups;
use ff_store::wakeups::{Announcement, Call, NET, Queue, Ticket};
use tokio::time::timeout;

fn queue() -> Queue {
    (Namespace::default(), Lane::default())
}

fn work(class: &str) -> [Announcement; 1] {
    let (namespace, lane) = queue();
    [Announcement::Work { namespace, lane, class: Capabilities::parse(class).unwrap() }]
}

fn waiter(wakeups: &Wakeups, offers: &str) -> Ticket {
    let ticket = wakeups.ticket(queue(), Capabilities::parse(offers).unwrap());
    ticket.join();
    ticket.looked();
    ticket
}

async fn is_called(ticket: &Ticket) -> Option<Call> {
    timeout(NET / 4, ticket.called()).await.ok()
}

#[tokio::test(start_paused = true)]
async fn work_calls_the_first_waiter_that_covers_its_class() {
    let wakeups = Wakeups::default();
    let plain = waiter(&wakeups, "");
    let gpu = waiter(&wakeups, "gpu");
    let late = waiter(&wakeups, "gpu");
    wakeups.announce(work("gpu"));
    assert_eq!(is_called(&plain).await, None);
    assert_eq!(is_called(&gpu).await, Some(Call::Announced));
    assert_eq!(is_called(&late).await, None);
}

#[tokio::test(start_paused = true)]
async fn work_announced_between_joining_and_waiting_is_heard() {
    let wakeups = Wakeups::default();
    let ticket = wakeups.ticket(queue(), Capabilities::NONE);
    ticket.join();
    wakeups.announce(work(""));
    ticket.looked();
    assert_eq!(is_called(&ticket).await, Some(Call::Announced));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_its_waiter_did_not_answer_goes_to_the_others() {
    let wakeups = Wakeups::default();
    let gone = waiter(&wakeups, "");
    let next = waiter(&wakeups, "");
    wakeups.announce(work(""));
    drop(gone);
    assert!(is_called(&next).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_goes_away_while_it_looks_lets_the_others_look() {
    let wakeups = Wakeups::default();
    let gone = wakeups.ticket(queue(), Capabilities::NONE);
    gone.join();
    let next = waiter(&wakeups, "");
    drop(gone);
    assert!(is_called(&next).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_leaves_with_nothing_owed_disturbs_nobody() {
    let wakeups = Wakeups::default();
    let gone = waiter(&wakeups, "");
    let next = waiter(&wakeups, "");
    drop(gone);
    assert_eq!(is_called(&next).await, None);
    assert_eq!(wakeups.waiting(&queue()), 1);
}

#[tokio::test(start_paused = true)]
async fn with_every_announcement_lost_one_waiter_looks_each_turn() {
    let wakeups = Wakeups::default();
    let one = waiter(&wakeups, "");
    let two = waiter(&wakeups, "");
    let looks = |rounds: u32| {
        let (one, two) = (&one, &two);
        async move {
            let mut count = 0;
            let end = tokio::time::Instant::now() + NET * rounds;
            while tokio::time::Instant::now() < end {
                tokio::select! {
                    call = one.called() => assert_eq!(call, Call::Net),
                    call = two.called() => assert_eq!(call, Call::Net),
                }
                count += 1;
            }
            count
        }
    };
    let count = looks(10).await;
    assert!((9..=11).contains(&count), "{count} looks in 10 turns");
}

#[tokio::test(start_paused = true)]
async fn who_finds_work_by_the_net_lets_the_next_look() {
    let wakeups = Wakeups::default();
    let finder = waiter(&wakeups, "");
    let next = waiter(&wakeups, "");
    finder.pass_on();
    assert_eq!(is_called(&next).await, Some(Call::Net));
    assert_eq!(is_called(&finder).await, None);
}

#[tokio::test(start_paused = true)]
async fn something_unknown_calls_everybody() {
    let wakeups = Wakeups::default();
    let waiters = [waiter(&wakeups, ""), waiter(&wakeups, "gpu")];
    wakeups.announce_maybe();
    for ticket in &waiters {
        assert!(is_called(ticket).await.is_some());
    }
    timeout(Duration::from_millis(1), wakeups.timer_changed()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn only_an_earlier_timer_wakes_the_timer_loop() {
    let wakeups = Wakeups::default();
    wakeups.arm_timer(Some(Time::from_ms(100)));
    wakeups.announce([Announcement::Timer(Time::from_ms(100))]);
    assert!(timeout(NET, wakeups.timer_changed()).await.is_err());
    wakeups.announce([Announcement::Timer(Time::from_ms(99))]);
    assert!(timeout(NET, wakeups.timer_changed()).await.is_ok());
}
