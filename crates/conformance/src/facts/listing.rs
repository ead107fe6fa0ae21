//! Listings: newest first, by filter, in pages that neither skip nor repeat.

use std::collections::BTreeSet;

use ff_core::bounds::PAGE;
use ff_core::machine::Submit;
use ff_core::record::Tags;
use ff_core::{Code, ExecutionId, Kind, Lane, Millis, PublicState, When};
use ff_store::listing::{Cursor, Filter, Listing};

use crate::fixture::{Fixture, Refused, ms, tag};

fn everything() -> Filter {
    Filter::default()
}

/// Reads every page of at most `limit`; `between` runs after each.
async fn pages(
    g: &Fixture,
    filter: Filter,
    limit: usize,
    mut between: impl AsyncFnMut(&[ExecutionId]),
) -> Vec<ExecutionId> {
    let mut listing = Listing { limit, ..g.listing(filter) };
    let mut seen = Vec::new();
    for _ in 0..1_000 {
        let page = g.try_list(&listing).await.unwrap();
        assert!(page.executions.len() <= limit);
        let ids: Vec<_> = page.executions.iter().map(|record| record.id).collect();
        between(&ids).await;
        seen.extend(ids);
        match page.next {
            Some(next) => listing.after = Some(next.to_string().parse().unwrap()),
            None => return seen,
        }
    }
    panic!("the listing has no end");
}

/// The order of a listing: by creation, and within a millisecond by id.
async fn newest_first(g: &Fixture, ids: impl IntoIterator<Item = ExecutionId>) -> Vec<ExecutionId> {
    let mut known = BTreeSet::new();
    for id in ids {
        known.insert((g.record(id).await.created, id));
    }
    known.into_iter().rev().map(|(_, id)| id).collect()
}

pub(crate) async fn the_newest_come_first(g: Fixture) {
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(g.waiting().await);
        g.advance(ms(1)).await;
    }
    ids.reverse();
    assert_eq!(g.listed(everything()).await, ids);
}

pub(crate) async fn an_empty_namespace_lists_nothing(g: Fixture) {
    let page = g.try_list(&g.listing(everything())).await.unwrap();
    assert_eq!((page.executions, page.next), (vec![], None));
}

pub(crate) async fn a_listing_shows_whole_records(g: Fixture) {
    let id = g.waiting().await;
    let page = g.try_list(&g.listing(everything())).await.unwrap();
    assert_eq!(page.executions, [g.record(id).await]);
}

pub(crate) async fn lane_and_kind_filter(g: Fixture) {
    let lane = Lane::new("slow").unwrap();
    let kind = Kind::new("render").unwrap();
    let slow = g.submit(Submit { lane: lane.clone(), ..g.work() }).await;
    g.advance(ms(1)).await;
    let render = g.submit(Submit { kind: kind.clone(), ..g.work() }).await;
    assert_eq!(g.listed(Filter { lane: Some(lane.clone()), ..everything() }).await, [slow]);
    assert_eq!(g.listed(Filter { kind: Some(kind.clone()), ..everything() }).await, [render]);
    let both = Filter { lane: Some(lane), kind: Some(kind), ..everything() };
    assert!(g.listed(both).await.is_empty(), "every part of a filter must hold");
}

pub(crate) async fn every_state_can_be_listed(g: Fixture) {
    let expired = g.expired().await;
    let completed = g.completed().await;
    let failed = g.failed().await;
    let cancelled = g.cancelled().await;
    let active = g.held().await.execution;
    let paused = g.held().await;
    g.delay(&paused, When::Now).await.unwrap();
    let waiting = g.waiting().await;
    let delayed = g.delayed(ms(50)).await;
    for (state, id) in [
        (PublicState::Waiting, waiting),
        (PublicState::Delayed, delayed),
        (PublicState::Active, active),
        (PublicState::Resumable, paused.execution),
        (PublicState::Completed, completed),
        (PublicState::Failed, failed),
        (PublicState::Cancelled, cancelled),
        (PublicState::Expired, expired),
    ] {
        let filter = Filter { states: [state].into(), ..everything() };
        assert_eq!(g.listed(filter).await, [id], "{state}");
    }
    let states = [PublicState::Failed, PublicState::Completed].into();
    let mut ended = g.listed(Filter { states, ..everything() }).await;
    ended.sort();
    let mut expected = [failed, completed];
    expected.sort();
    assert_eq!(ended, expected, "in either state");
}

pub(crate) async fn work_that_no_worker_can_run_is_listed_as_such(g: Fixture) {
    let lacking = Filter { lacks_worker: true, ..everything() };
    g.waiting().await;
    let gpu = g.needing("gpu").await;
    g.advance(ms(1)).await;
    let both = g.needing("gpu,python").await;
    g.registered("ada", "gpu").await;
    let page = g.try_list(&g.listing(everything())).await.unwrap();
    assert_eq!((page.executions.len(), page.lacks_worker), (3, [both].into()));
    assert_eq!(g.listed(lacking.clone()).await, [both]);
    g.registered("bob", "gpu,python").await;
    assert!(g.listed(lacking.clone()).await.is_empty());
    g.advance(ms(10_000)).await;
    assert_eq!(g.listed(lacking.clone()).await, [both, gpu], "both workers are silent");
    g.cancel(both, None).await.unwrap();
    assert_eq!(g.listed(lacking).await, [gpu]);
}

pub(crate) async fn all_given_tags_must_match(g: Fixture) {
    let with = |tags: &[(&str, &str)]| Submit {
        tags: tags.iter().map(|(key, value)| tag(key, value)).collect::<Tags>(),
        ..g.work()
    };
    let both = g.submit(with(&[("team", "blue"), ("env", "test")])).await;
    g.advance(ms(1)).await;
    let one = g.submit(with(&[("team", "blue"), ("env", "live")])).await;
    g.submit(with(&[])).await;
    let tagged = |tags: &[(&str, &str)]| Filter {
        tags: tags.iter().map(|(key, value)| tag(key, value)).collect(),
        ..everything()
    };
    assert_eq!(g.listed(tagged(&[("team", "blue")])).await, [one, both]);
    assert_eq!(g.listed(tagged(&[("team", "blue"), ("env", "test")])).await, [both]);
    assert!(g.listed(tagged(&[("team", "bl")])).await.is_empty());
}

pub(crate) async fn a_span_of_time_includes_its_start_and_not_its_end(g: Fixture) {
    let start = g.now().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(g.waiting().await);
        g.advance(ms(10)).await;
    }
    let (from, to) = (Some(start + ms(10)), Some(start + ms(30)));
    assert_eq!(g.listed(Filter { from, to, ..everything() }).await, [ids[2], ids[1]]);
    assert_eq!(g.listed(Filter { from, ..everything() }).await.len(), 4);
    assert_eq!(g.listed(Filter { to, ..everything() }).await.len(), 3);
    let empty = Filter { from: to, to: from, ..everything() };
    assert!(g.listed(empty).await.is_empty());
}

pub(crate) async fn pages_of_one_millisecond_neither_skip_nor_repeat(g: Fixture) {
    let mut works: Vec<_> = (0..25).map(|_| g.work()).collect();
    let ids: Vec<_> = works.iter().map(|work| work.id).collect();
    works.rotate_left(11);
    g.backend().submit(works).await.unwrap();
    let ids = newest_first(&g, ids).await;
    for limit in [1, 2, 7, 24, 25, 26] {
        let seen = pages(&g, everything(), limit, async |_| {}).await;
        assert_eq!(seen, ids, "pages of {limit}");
    }
}

pub(crate) async fn pages_hold_while_executions_change(g: Fixture) {
    let mut ids = Vec::new();
    for n in 0..30 {
        ids.push(g.waiting().await);
        g.advance(ms(n % 2)).await;
    }
    let ids = newest_first(&g, ids).await;
    let seen = pages(&g, everything(), 4, async |page| {
        g.waiting().await;
        let claimed = g.claimed().await;
        g.fail(&claimed, crate::fixture::permanent("broken")).await.unwrap();
        g.cancel(page[0], None).await.ok();
    })
    .await;
    let once: BTreeSet<_> = seen.iter().copied().collect();
    assert_eq!(once.len(), seen.len(), "none is repeated");
    assert_eq!(seen, ids, "none is skipped, and none that is newer appears");
}

pub(crate) async fn a_cursor_outlives_its_execution(g: Fixture) {
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(g.cancelled().await);
        g.advance(Millis::from_hours(1)).await;
    }
    ids.reverse();
    let mut listing = Listing { limit: 2, ..g.listing(everything()) };
    let first = g.try_list(&listing).await.unwrap();
    listing.after = first.next;
    g.advance(Millis::from_days(1)).await;
    g.tick(ids[1]).await;
    let second = g.try_list(&listing).await.unwrap();
    let shown: Vec<_> = second.executions.iter().map(|record| record.id).collect();
    assert_eq!(shown, ids[2..4]);
}

pub(crate) async fn failed_work_is_listed_in_pages_too(g: Fixture) {
    let mut failed = Vec::new();
    for _ in 0..9 {
        failed.push(g.failed().await);
        g.completed().await;
    }
    let failed = newest_first(&g, failed).await;
    let filter = Filter { states: [PublicState::Failed].into(), ..everything() };
    assert_eq!(pages(&g, filter, 2, async |_| {}).await, failed);
}

pub(crate) async fn filters_hold_over_pages(g: Fixture) {
    let kind = Kind::new("rare").unwrap();
    let mut rare = Vec::new();
    for n in 0..40 {
        match n % 8 {
            0 => rare.push(g.submit(Submit { kind: kind.clone(), ..g.work() }).await),
            _ => drop(g.waiting().await),
        }
    }
    let rare = newest_first(&g, rare).await;
    let filter = Filter { kind: Some(kind), ..everything() };
    assert_eq!(pages(&g, filter, 2, async |_| {}).await, rare);
}

pub(crate) async fn a_page_of_nothing_or_of_too_much_is_refused(g: Fixture) {
    for limit in [0, PAGE + 1, usize::MAX] {
        let listing = Listing { limit, ..g.listing(everything()) };
        assert_eq!(g.try_list(&listing).await.refused(), Code::InvalidArgument, "{limit}");
    }
    g.try_list(&Listing { limit: PAGE, ..g.listing(everything()) }).await.unwrap();
}

pub(crate) async fn a_cursor_that_was_not_given_is_refused(g: Fixture) {
    for _ in 0..2 {
        g.waiting().await;
    }
    let page = g.try_list(&Listing { limit: 1, ..g.listing(everything()) }).await.unwrap();
    let good = page.next.unwrap().to_string();
    for bad in [
        "".to_owned(),
        "nonsense".to_owned(),
        good[1..].to_owned(),
        format!("{good}0"),
        format!("2{}", &good[1..]),
        good.to_uppercase(),
        good.replace(|c: char| c.is_ascii_digit(), "x"),
        format!("1{}", "f".repeat(44)),
        "1é".repeat(15),
    ] {
        let refusal = bad.parse::<Cursor>().unwrap_err();
        assert_eq!(refusal.code(), Code::InvalidArgument, "{bad:?}");
        assert_eq!(refusal.field(), Some("cursor"));
    }
}
