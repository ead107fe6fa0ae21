//! Events: what happens is logged while the feed is on, and a subscriber misses nothing.

use std::collections::{BTreeMap, BTreeSet};

use ff_core::bounds::{EVENTS_PAGE, EVENTS_WAIT_MAX};
use ff_core::event::{Event, EventKind, EventName, fold};
use ff_core::feed::FeedState;
use ff_core::machine::{ClaimRequest, Delete, Submit};
use ff_core::{Code, Kind, Millis};
use ff_store::EventsBackend;
use ff_store::events::{EventFilter, EventsPage, EventsRequest, FeedUpdate, StartAt};

use crate::fixture::events::{LATE, Reader, by_execution, feed, keep, parsed, read, request, set};
use crate::fixture::{Fixture, Refused, failure, lane, ms, tag};

pub(crate) async fn a_subscriber_begins_with_what_happens_from_now_on(g: Fixture) {
    set(&g, true).await;
    g.completed().await;
    for _ in 0..LATE {
        read(&g, StartAt::Oldest).await.unwrap();
    }
    let mut reader = Reader::start(&g).await;
    assert_eq!(reader.names().await, []);
    g.waiting().await;
    assert_eq!(reader.names().await, [EventName::Submitted]);
}

pub(crate) async fn an_event_says_all_that_it_is_selected_by(g: Fixture) {
    let mut reader = Reader::start(&g).await;
    let tags = [tag("team", "größe"), tag("empty", "")];
    let submit = Submit {
        lane: lane("letters"),
        kind: Kind::new("translate").unwrap(),
        tags: tags.into(),
        ..g.work()
    };
    let id = g.submit(submit).await;
    let claim = ClaimRequest { lane: lane("letters"), ..g.claim() };
    let held = g.take(claim).await.remove(0);
    let now = g.now().await;
    g.complete(&held, "done").await.unwrap();
    let record = g.record(id).await;
    let events = reader.all(100).await;
    let whats: Vec<_> = events.iter().map(|event| event.what).collect();
    let claimed = EventKind::Claimed { attempt: 0 };
    assert_eq!(whats, [EventKind::Submitted { from: None }, claimed, EventKind::Completed]);
    for (event, attempt) in events.iter().zip([None, Some(0), Some(0)]) {
        assert_eq!((event.execution(), &event.namespace), (id, &g.namespace));
        assert_eq!((&event.lane, &event.kind), (&record.spec.lane, &record.spec.kind));
        assert_eq!((&event.tags, event.run, event.attempt), (&record.tags, 0, attempt));
        assert!(event.at <= now && event.at >= record.created, "{event:?}");
    }
}

pub(crate) async fn every_way_to_an_end_is_told(g: Fixture) {
    use EventName as E;
    let mut reader = Reader::start(&g).await;
    let held = g.held().await;
    g.fail(&held, failure("again")).await.unwrap();
    g.pass(ms(1_000)).await;
    let held = g.claimed().await;
    g.hand_back(&held).await.unwrap();
    g.claimed().await;
    g.pass(ms(10_000)).await;
    let held = g.claimed().await;
    g.cancel(held.execution, None).await.unwrap();
    g.replay(held.execution, 0).await.unwrap();
    assert_eq!(g.claimed().await.execution, held.execution);
    let told = [
        E::Submitted,
        E::Claimed,
        E::Retrying,
        E::Woken,
        E::Claimed,
        E::HandedBack,
        E::Claimed,
        E::Reclaimed,
        E::Claimed,
        E::Cancelled,
        E::Replayed,
        E::Claimed,
    ];
    let events = reader.all(100).await;
    assert_eq!(by_execution(&events)[&held.execution], told);
    let folded = events.iter().fold(None, |state, event| fold(state, event.what));
    assert_eq!(folded, Some(g.state(held.execution).await));
    assert_eq!(events.last().map(|event| (event.run, event.attempt)), Some((1, Some(3))));
    let ids: BTreeSet<_> = events.iter().map(|event| event.id).collect();
    assert_eq!(ids.len(), events.len(), "no two events have one id");
}

pub(crate) async fn an_event_that_is_read_again_has_its_id(g: Fixture) {
    let mut reader = Reader::start(&g).await;
    let begin = reader.cursor.clone();
    for _ in 0..3 {
        g.completed().await;
    }
    let first = reader.all(100).await;
    assert_eq!(first.len(), 9);
    reader.cursor = begin;
    let ids = |events: &[Event]| -> BTreeSet<_> { events.iter().map(|event| event.id).collect() };
    let again = reader.all(2).await;
    assert_eq!((ids(&again), again.len()), (ids(&first), 9), "whatever the pages");
    assert_eq!(by_execution(&again), by_execution(&first));
}

pub(crate) async fn a_subscriber_misses_nothing_whatever_its_pages(g: Fixture) {
    let mut readers = Vec::new();
    for _ in 0..4 {
        readers.push(Reader::start(&g).await);
    }
    let (mut seen, mut made) = (vec![Vec::new(); readers.len()], BTreeMap::new());
    for round in 0..12 {
        let id = g.waiting().await;
        let mut told = vec![EventName::Submitted];
        if round % 3 > 0 {
            let held = g.claimed().await;
            made.entry(held.execution).or_insert_with(Vec::new).push(EventName::Claimed);
            g.complete(&held, "done").await.unwrap();
            made.entry(held.execution).or_default().push(EventName::Completed);
        }
        told.append(made.entry(id).or_default());
        made.insert(id, told);
        // Each reads at its own pace.
        for (pace, (reader, seen)) in readers.iter_mut().zip(&mut seen).enumerate() {
            if round % (pace + 1) == 0 {
                seen.extend(reader.page(pace + 1).await);
            }
        }
    }
    for (reader, mut seen) in readers.iter_mut().zip(seen) {
        seen.extend(reader.all(5).await);
        assert_eq!(by_execution(&seen), made);
    }
}

pub(crate) async fn commits_at_the_same_time_are_all_told(g: Fixture) {
    let mut reader = Reader::start(&g).await;
    let mut submits = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let g = g.clone();
        submits.spawn(async move {
            let mut ids = Vec::new();
            for _ in 0..5 {
                ids.push(g.waiting().await);
            }
            ids
        });
    }
    let mut seen = Vec::new();
    let mut ids = BTreeSet::new();
    while let Some(done) = submits.join_next().await {
        ids.extend(done.unwrap());
        seen.extend(reader.page(3).await);
    }
    seen.extend(reader.all(100).await);
    let told: BTreeSet<_> = seen.iter().map(Event::execution).collect();
    assert_eq!((told, seen.len()), (ids, 40));
}

pub(crate) async fn a_submit_that_races_the_switch_is_told_once_it_is_acknowledged(g: Fixture) {
    let racing = {
        let g = g.clone();
        tokio::spawn(async move {
            for _ in 0..20 {
                g.waiting().await;
            }
        })
    };
    // Whatever partition a submit is in, the switch is acknowledged before it or after it.
    let start = read(&g, StartAt::Now).await.unwrap();
    let mut ids = BTreeSet::new();
    for _ in 0..20 {
        ids.insert(g.waiting().await);
    }
    racing.await.unwrap();
    let mut reader = Reader { g: g.clone(), cursor: start.cursor.to_string() };
    let told: BTreeSet<_> = reader.all(100).await.iter().map(Event::execution).collect();
    assert!(told.is_superset(&ids), "{} of 20", told.intersection(&ids).count());
}

pub(crate) async fn a_refused_command_tells_nothing(g: Fixture) {
    let mut reader = Reader::start(&g).await;
    let held = g.held().await;
    g.complete(&held, "done").await.unwrap();
    reader.all(100).await;
    g.fail(&held, failure("late")).await.unwrap_err();
    g.replay(held.execution, 7).await.unwrap_err();
    g.complete(&held, "done").await.unwrap();
    assert_eq!(reader.names().await, [], "nor does a repeated one");
}

pub(crate) async fn another_namespace_tells_nothing(g: Fixture) {
    let rival = g.elsewhere();
    let mut reader = Reader::start(&g).await;
    let theirs = Reader::start(&rival).await;
    rival.completed().await;
    assert_eq!(reader.names().await, []);
    let foreign = read(&g, parsed(&theirs.cursor)).await;
    assert_eq!(foreign.refused(), Code::InvalidArgument);
}

pub(crate) async fn a_filter_selects_by_every_part(g: Fixture) {
    let start = Reader::start(&g).await.cursor;
    let mut ids = Vec::new();
    for (of_lane, kind, team) in [("a", "x", "red"), ("b", "x", "blue"), ("a", "y", "blue")] {
        let submit = Submit {
            lane: lane(of_lane),
            kind: Kind::new(kind).unwrap(),
            tags: [tag("team", team)].into(),
            ..g.work()
        };
        ids.push(g.submit(submit).await);
        g.take(ClaimRequest { lane: lane(of_lane), ..g.claim() }).await;
    }
    let none = EventFilter::default;
    let cases = [
        (none(), vec![0, 0, 1, 1, 2, 2]),
        (EventFilter { names: [EventName::Claimed].into(), ..none() }, vec![0, 1, 2]),
        (EventFilter { lane: Some(lane("a")), ..none() }, vec![0, 0, 2, 2]),
        (EventFilter { kind: Some(Kind::new("x").unwrap()), ..none() }, vec![0, 0, 1, 1]),
        (EventFilter { execution: Some(ids[1]), ..none() }, vec![1, 1]),
        (EventFilter { tags: vec![tag("team", "blue")], ..none() }, vec![1, 1, 2, 2]),
        (EventFilter { tags: vec![tag("team", "green")], ..none() }, vec![]),
    ];
    for (filter, wanted) in cases {
        let (mut found, mut cursor) = (Vec::new(), start.clone());
        for _ in 0..4 * LATE {
            let request =
                EventsRequest { filter: filter.clone(), limit: 2, ..request(&g, parsed(&cursor)) };
            let page = g.backend().events(request).await.unwrap();
            found.extend(page.events.iter().map(Event::execution));
            cursor = page.cursor.to_string();
        }
        found.sort();
        let mut expected: Vec<_> = wanted.into_iter().map(|n: usize| ids[n]).collect();
        expected.sort();
        assert_eq!(found, expected, "{filter:?}");
        let mut behind = Reader { g: g.clone(), cursor };
        assert_eq!(behind.names().await, [], "what is not selected is behind the cursor too");
    }
}

pub(crate) async fn a_wait_ends_with_the_first_event(g: Fixture) {
    let reader = Reader::start(&g).await;
    let waits = {
        let g = g.clone();
        let request =
            EventsRequest { wait: EVENTS_WAIT_MAX, ..request(&g, parsed(&reader.cursor)) };
        tokio::spawn(async move { g.backend().events(request).await.unwrap() })
    };
    let id = g.waiting().await;
    let page = waits.await.unwrap();
    assert_eq!(page.events.iter().map(Event::execution).collect::<Vec<_>>(), [id]);
}

pub(crate) async fn a_wait_finds_what_no_hint_told_of(g: Fixture) {
    let reader = Reader::start(&g).await;
    let deaf = g.without_wakeups();
    let request = EventsRequest { wait: EVENTS_WAIT_MAX, ..request(&g, parsed(&reader.cursor)) };
    let waits = tokio::spawn(async move { deaf.events(request).await.unwrap() });
    let id = g.waiting().await;
    assert_eq!(waits.await.unwrap().events[0].execution(), id);
}

pub(crate) async fn a_wait_for_what_is_not_selected_comes_back_behind_it(g: Fixture) {
    let reader = Reader::start(&g).await;
    g.waiting().await;
    let filter = EventFilter { names: [EventName::Failed].into(), ..EventFilter::default() };
    let wait = ms(1_200);
    let request = EventsRequest { filter, wait, ..request(&g, parsed(&reader.cursor)) };
    let page = g.backend().events(request).await.unwrap();
    assert_eq!(page.events, []);
    let mut behind = Reader { g: g.clone(), cursor: page.cursor.to_string() };
    assert_eq!(behind.names().await, []);
}

pub(crate) async fn events_outlive_their_execution(g: Fixture) {
    let mut reader = Reader::start(&g).await;
    let id = g.submit(Submit { tags: [tag("team", "red")].into(), ..g.work() }).await;
    let held = g.claimed().await;
    g.complete(&held, "done").await.unwrap();
    g.backend().delete(Delete { target: g.target(id) }).await.unwrap();
    let events = reader.all(100).await;
    let last = events.last().unwrap();
    assert_eq!((last.what, last.execution()), (EventKind::Retired, id));
    assert_eq!(last.tags, [tag("team", "red")].into());
}

pub(crate) async fn what_time_retires_is_told(g: Fixture) {
    let mut reader = Reader::start(&g).await;
    keep(&g, Some(Millis::from_days(30)), None).await;
    let id = g.completed().await;
    g.pass(Millis::from_hours(25)).await;
    let told = by_execution(&reader.all(100).await).remove(&id).unwrap();
    assert_eq!(told.last(), Some(&EventName::Retired));
}

pub(crate) async fn two_processes_read_the_same(g: Fixture) {
    let (one, other) = (g.process(), g.process());
    let mut reader = Reader::start(&g).await;
    let begin = parsed(&reader.cursor);
    for _ in 0..3 {
        g.completed().await;
    }
    let told = reader.all(100).await;
    for process in [one, other] {
        let page = process.events(request(&g, begin.clone())).await.unwrap();
        assert_eq!(by_execution(&page.events), by_execution(&told));
    }
}

pub(crate) async fn what_is_asked_past_a_bound_is_refused(g: Fixture) {
    let asked = |limit, wait| EventsRequest { limit, wait, ..request(&g, StartAt::Now) };
    for (limit, wait) in [(0, ms(0)), (EVENTS_PAGE + 1, ms(0)), (1, ms(EVENTS_WAIT_MAX.get() + 1))]
    {
        let refused = g.backend().events(asked(limit, wait)).await;
        assert_eq!(refused.refused(), Code::InvalidArgument, "{limit} {wait}");
    }
    let all =
        |retention, most| FeedUpdate { namespace: g.namespace.clone(), on: None, retention, most };
    for update in [
        all(Some(ms(999)), None),
        all(Some(Millis::from_days(91)), None),
        all(None, Some(0)),
        all(None, Some(100_000_001)),
    ] {
        assert_eq!(g.backend().set_feed(update).await.refused(), Code::InvalidArgument);
    }
    assert_eq!(feed(&g).await, FeedState::default());
}

pub(crate) async fn the_latest_events_can_be_read_alone(g: Fixture) {
    let mut reader = Reader::start(&g).await;
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(g.waiting().await);
        g.advance(ms(1_000)).await;
    }
    reader.all(100).await;
    let latest = |limit| EventsRequest { limit, ..request(&g, StartAt::Latest) };
    let of = |page: &EventsPage| page.events.iter().map(Event::execution).collect::<Vec<_>>();
    for limit in [1, 4, 6, 100] {
        let page = g.backend().events(latest(limit)).await.unwrap();
        assert_eq!(of(&page), ids[ids.len().saturating_sub(limit)..], "{limit} at most");
        assert!(!page.more);
    }
    let only = EventFilter { execution: Some(ids[1]), ..EventFilter::default() };
    let page = g.backend().events(EventsRequest { filter: only, ..latest(2) }).await.unwrap();
    assert_eq!(of(&page), [ids[1]], "the latest that are wanted, however far back");
    let mut behind = Reader { g: g.clone(), cursor: page.cursor.to_string() };
    assert_eq!(behind.names().await, [], "nothing comes twice");
    g.waiting().await;
    assert_eq!(behind.names().await, [EventName::Submitted], "and nothing is skipped");
}

pub(crate) async fn the_latest_events_are_those_since_the_feed_is_on(g: Fixture) {
    set(&g, true).await;
    g.completed().await;
    set(&g, false).await;
    g.advance(Millis::from_secs(60)).await;
    set(&g, true).await;
    let id = g.waiting().await;
    for _ in 0..LATE {
        read(&g, StartAt::Oldest).await.unwrap();
    }
    let page = read(&g, StartAt::Latest).await.unwrap();
    assert_eq!(page.events.iter().map(Event::execution).collect::<Vec<_>>(), [id]);
}
