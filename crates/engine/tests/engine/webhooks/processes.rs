//! Several processes on one store: one of them delivers, and what one leaves another continues.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ff_core::bounds::WEBHOOK_TURN;
use ff_core::feed::Trim;
use ff_core::{Millis, Namespace, Time};
use ff_engine::webhooks::DeliveryOptions;
use ff_store::Store;
use ff_store::events::FeedUpdate;

use super::receiver::{self, Answer, Receiver};
use super::{Fixture, quick};

const EVENTS: usize = 200;

#[tokio::test]
async fn of_two_processes_one_delivers_each_event() {
    let one = Fixture::new();
    let other = one.another();
    let mut receiver = Receiver::start(|_| Answer::Status(200, "")).await;
    one.set("a", receiver.url(), 1).await;
    let running = [one.start(quick()), other.start(quick())];
    for _ in 0..EVENTS {
        one.submitted().await;
    }
    one.until("a", |webhook| webhook.tally.delivered == EVENTS as u64).await;
    for services in running {
        services.stop().await;
    }
    let mut times = BTreeMap::<_, usize>::new();
    for got in receiver.come() {
        *times.entry(got.id().to_owned()).or_default() += 1;
    }
    assert_eq!(times.len(), EVENTS);
    assert!(times.values().all(|times| *times == 1), "{times:?}");
}

#[tokio::test]
async fn a_process_that_stops_leaves_the_rest_to_the_next_at_once() {
    let fixture = Fixture::new();
    let is_open = Arc::new(AtomicBool::new(false));
    let opened = is_open.clone();
    let mut receiver = Receiver::start(move |_| match opened.load(Ordering::SeqCst) {
        true => Answer::Status(200, ""),
        false => Answer::Never,
    })
    .await;
    fixture.set("a", receiver.url(), 1).await;
    let id = fixture.submitted().await;
    let running = fixture.start(quick());
    receiver.next().await;
    running.stop().await;
    is_open.store(true, Ordering::SeqCst);
    let ended = fixture.store.now().await.unwrap();
    let running = fixture.start(quick());
    assert_eq!(receiver.next().await.json()["execution"], id.to_string());
    let webhook = fixture.until("a", |webhook| webhook.tally.delivered == 1).await;
    assert!(webhook.turn >= 2 && webhook.tally.last_delivered >= Some(ended));
    running.stop().await;
}

#[test]
fn a_killed_process_costs_a_repeated_delivery_and_never_a_lost_one() {
    let rest = tokio::runtime::Runtime::new().unwrap();
    let fixture = Fixture::new();
    let mut receiver = rest.block_on(Receiver::start(|_| Answer::Status(200, "")));
    rest.block_on(fixture.set("a", receiver.url(), 1));
    let mut missing = BTreeSet::new();
    for turn in 1..=3 {
        // It ends like a killed one: with everything in the middle of what it does.
        let process = tokio::runtime::Runtime::new().unwrap();
        let way = fixture.another();
        let _running = process.block_on(async { way.start(quick()) });
        for _ in 0..EVENTS {
            missing.insert(rest.block_on(fixture.submitted()).to_string());
        }
        rest.block_on(fixture.until("a", |webhook| webhook.turn >= turn));
        missing.remove(rest.block_on(receiver.next()).json()["execution"].as_str().unwrap());
        process.shutdown_timeout(receiver::LIMIT);
        // Its turn and its share of the store end.
        fixture.clock.advance(WEBHOOK_TURN);
    }
    rest.block_on(async {
        let running = fixture.start(quick());
        let all = |webhook: &ff_core::webhook::Webhook| {
            webhook.tally.delivered as usize >= EVENTS && webhook.turn >= 4
        };
        fixture.until("a", all).await;
        while !missing.is_empty() {
            missing.remove(receiver.next().await.json()["execution"].as_str().unwrap());
        }
        running.stop().await;
    });
}

#[tokio::test]
async fn a_gap_in_the_log_is_counted_and_what_follows_is_sent() {
    let fixture = Fixture::new();
    let mut receiver = Receiver::start(|_| Answer::Status(200, "")).await;
    fixture.set("a", receiver.url(), 1).await;
    fixture.submitted().await;
    let all = Trim { before: Time::MAX, most: 0 };
    while fixture.store.trim_events(&Namespace::default(), all).await.unwrap() {}
    let running = fixture.start(DeliveryOptions { ..quick() });
    fixture.until("a", |webhook| webhook.tally.gaps == 1).await;
    let id = fixture.submitted().await;
    assert_eq!(receiver.next().await.json()["execution"], id.to_string());
    // A feed that was off has a gap too. What happened shortly before may come again.
    fixture.clock.advance(Millis::from_secs(10));
    let off = FeedUpdate { on: Some(false), ..FeedUpdate::default() };
    fixture.backend.set_feed(off).await.unwrap();
    fixture.until("a", |webhook| webhook.tally.gaps == 2).await;
    let id = fixture.submitted().await;
    assert_eq!(receiver.next().await.json()["execution"], id.to_string());
    running.stop().await;
}
