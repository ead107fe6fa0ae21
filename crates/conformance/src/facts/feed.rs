//! Feeds: off until somebody reads, kept on by who reads, trimmed by time and count.

use ff_core::bounds::EVENTS_WAIT_MAX;
use ff_core::event::{Event, EventName};
use ff_core::feed::FeedState;
use ff_core::machine::{CopyResource, FeedChange, SetFeed};
use ff_core::resource::Body;
use ff_core::{Millis, Partition, ResourceKey};
use ff_store::events::{EventsRequest, StartAt};

use crate::fixture::events::{LATE, Reader, by_execution, feed, keep, read, request, set};
use crate::fixture::{Fixture, ms};

pub(crate) async fn nothing_is_logged_until_somebody_reads(g: Fixture) {
    g.completed().await;
    assert_eq!(feed(&g).await, FeedState::default());
    let mut reader = Reader::start(&g).await;
    let now = feed(&g).await;
    assert!(now.on && !now.pinned && now.epoch == 1, "{now:?}");
    assert_eq!(reader.names().await, [], "what happened before is not promised");
    let id = g.waiting().await;
    let events = reader.all(100).await;
    assert_eq!(by_execution(&events), [(id, vec![EventName::Submitted])].into());
}

pub(crate) async fn old_events_are_removed_and_a_cursor_before_them_has_expired(g: Fixture) {
    set(&g, true).await;
    keep(&g, Some(ms(60_000)), None).await;
    let early = Reader::start(&g).await;
    let mut late = Reader::start(&g).await;
    g.waiting().await;
    assert_eq!(late.all(100).await.len(), 1);
    g.pass(ms(59_000)).await;
    assert!(!early.has_expired().await);
    let id = g.waiting().await;
    g.pass(ms(30_000)).await;
    assert!(early.has_expired().await, "it has not seen what was removed");
    assert_eq!(by_execution(&late.all(100).await), [(id, vec![EventName::Submitted])].into());
    g.pass(ms(120_000)).await;
    assert_eq!(late.names().await, [], "one that has seen all that was removed has not expired");
    let mut oldest = Vec::new();
    for _ in 0..LATE {
        oldest = read(&g, StartAt::Oldest).await.unwrap().events;
    }
    assert_eq!(oldest, [], "and everything is removed");
}

pub(crate) async fn no_more_events_are_kept_than_the_feed_says(g: Fixture) {
    let g = g.in_one_partition();
    set(&g, true).await;
    let most = 5 * u64::from(g.backend().partitions());
    keep(&g, None, Some(most)).await;
    let early = Reader::start(&g).await;
    for _ in 0..9 {
        g.waiting().await;
    }
    for _ in 0..LATE {
        read(&g, StartAt::Oldest).await.unwrap();
    }
    g.pass(ms(10_000)).await;
    assert!(early.has_expired().await);
    let page = read(&g, StartAt::Oldest).await.unwrap();
    assert_eq!(page.events.len(), 5, "the newest are kept");
}

pub(crate) async fn what_is_removed_between_two_pages_is_not_skipped_silently(g: Fixture) {
    let g = g.in_one_partition();
    set(&g, true).await;
    keep(&g, Some(ms(60_000)), None).await;
    let mut reader = Reader::start(&g).await;
    for _ in 0..6 {
        g.waiting().await;
    }
    for _ in 0..LATE {
        read(&g, StartAt::Oldest).await.unwrap();
    }
    assert_eq!(reader.page(2).await.len(), 2);
    g.pass(ms(90_000)).await;
    assert!(reader.has_expired().await);
}

pub(crate) async fn a_feed_that_nobody_reads_goes_off(g: Fixture) {
    keep(&g, Some(ms(60_000)), None).await;
    let mut reader = Reader::start(&g).await;
    g.waiting().await;
    assert_eq!(reader.names().await.len(), 1);
    g.pass(ms(40_000)).await;
    assert_eq!(reader.names().await, [], "who reads keeps it on");
    g.pass(ms(40_000)).await;
    assert!(feed(&g).await.on);
    g.pass(ms(40_000)).await;
    assert!(!feed(&g).await.on, "nobody has read for as long as events are kept");
    g.pass(ms(60_000)).await;
    g.waiting().await;
    assert!(g.snapshot().await.events.is_empty(), "its log is empty, and nothing is logged");
    assert!(g.snapshot().await.resource_timers.is_empty(), "and it has no timer");
    assert!(reader.has_expired().await, "it was off in between");
    assert_eq!(feed(&g).await.epoch, 2);
    let mut anew = Reader::start(&g).await;
    g.waiting().await;
    assert_eq!(anew.names().await, [EventName::Submitted]);
}

pub(crate) async fn a_feed_that_an_operator_switched_on_stays_on(g: Fixture) {
    keep(&g, Some(ms(60_000)), None).await;
    assert!(set(&g, true).await.pinned);
    g.pass(Millis::from_hours(1)).await;
    assert!(feed(&g).await.on);
    assert!(!set(&g, false).await.on);
}

pub(crate) async fn a_cursor_ends_when_the_feed_was_off(g: Fixture) {
    let reader = Reader::start(&g).await;
    set(&g, false).await;
    g.completed().await;
    set(&g, true).await;
    assert!(reader.has_expired().await, "something may have happened in between");
}

pub(crate) async fn who_begins_after_a_switch_is_not_refused(g: Fixture) {
    // A reader of the process follows the log, and learns of the switch later.
    let wait = ms(20);
    let now = || EventsRequest { wait, ..request(&g, StartAt::Now) };
    g.backend().events(now()).await.unwrap();
    set(&g, false).await;
    let begun = g.backend().events(now()).await.unwrap();
    let id = g.waiting().await;
    let from = StartAt::After(begun.cursor);
    let later = EventsRequest { wait: EVENTS_WAIT_MAX, ..request(&g, from) };
    assert_eq!(g.backend().events(later).await.unwrap().events[0].execution(), id);
}

pub(crate) async fn the_oldest_event_is_the_first_since_the_feed_is_on(g: Fixture) {
    set(&g, true).await;
    g.waiting().await;
    set(&g, false).await;
    g.advance(ms(10_000)).await;
    set(&g, true).await;
    let id = g.waiting().await;
    let mut told = Vec::new();
    for _ in 0..LATE {
        told = read(&g, StartAt::Oldest).await.unwrap().events;
    }
    assert_eq!(told.iter().map(Event::execution).collect::<Vec<_>>(), [id]);
}

pub(crate) async fn a_switch_whose_caller_dies_is_spread_by_its_timer(g: Fixture) {
    let partitions = g.backend().partitions();
    let key = ResourceKey::feed(&g.namespace, partitions);
    g.run(SetFeed { key, change: FeedChange::Read, partitions }).await.unwrap();
    g.pass(ms(5_000)).await;
    let mut reader = Reader::start(&g).await;
    for _ in 0..30 {
        g.waiting().await;
    }
    assert_eq!(reader.all(100).await.len(), 30, "every partition logs");
}

pub(crate) async fn an_earlier_switch_never_replaces_a_later_one(g: Fixture) {
    let mut reader = Reader::start(&g).await;
    let before = g.snapshot().await;
    for number in 0..g.backend().partitions() {
        let key = ResourceKey::feed_in(Partition::new(number).unwrap(), &g.namespace);
        let body = Box::new(Body::Feed(FeedState::default()));
        g.run(CopyResource { key, body }).await.unwrap();
    }
    g.snapshot().await.assert_same(&before);
    g.waiting().await;
    assert_eq!(reader.names().await, [EventName::Submitted]);
}
