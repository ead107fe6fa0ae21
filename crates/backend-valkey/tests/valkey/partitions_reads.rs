//! Reads over several partitions, and which partition owns what.

use std::collections::BTreeSet;

use ff_conformance::TestClock;
use ff_core::limits::ExecutionLimits;
use ff_core::machine::{Fail, Submit};
use ff_core::state::Failure;
use ff_core::{Category, ExecutionId, IdempotencyKey, Lane, Millis, Namespace, ResourceName, When};
use ff_store::listing::{Filter, Listing};
use ff_store::roles::LaneUpdate;
use ff_store::{ClientBackend, DueCursor, MaintenanceBackend, Position, Store, WorkerBackend};
use ff_testkit::valkey::Server;

use crate::fixture::{self, Home, Process, claim, submit_many, take, try_submit, work};

/// Everything that a listing shows, page by page.
async fn pages(process: &Process, filter: Filter, limit: usize) -> Vec<ExecutionId> {
    let mut listing = Listing { namespace: Namespace::default(), filter, after: None, limit };
    let mut places: Vec<Position> = Vec::new();
    loop {
        let page = process.list(&listing).await.unwrap();
        assert!(page.executions.len() <= limit);
        places.extend(page.executions.iter().map(Position::of));
        listing.after = page.next;
        if listing.after.is_none() {
            break;
        }
    }
    assert!(places.is_sorted_by(|a, b| a > b), "newest first, none twice");
    places.iter().map(|place| ExecutionId::from_bytes(&place.id).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_a_listing_neither_skip_nor_repeat() {
    for partitions in [4, 64] {
        let home = Home::on(Server::shared(), partitions);
        let process = home.open().await;
        // Batches share a millisecond, so that pages end between executions of one age.
        let mut all = submit_many(&process, 700).await;
        all.sort();
        for limit in [7, 100, 1_000] {
            let mut listed = pages(&process, Filter::default(), limit).await;
            listed.sort();
            assert!(listed == all, "{} of {} in pages of {limit}", listed.len(), all.len());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_continues_after_its_cursor_while_others_submit() {
    let home = Home::on(Server::shared(), 64);
    let process = home.open().await;
    let mut before = submit_many(&process, 300).await;
    let mut listing = Listing {
        namespace: Namespace::default(),
        filter: Filter::default(),
        after: None,
        limit: 50,
    };
    let mut listed = Vec::new();
    loop {
        let page = process.list(&listing).await.unwrap();
        listed.extend(page.executions.iter().map(|view| view.id));
        submit_many(&process, 20).await;
        listing.after = page.next;
        if listing.after.is_none() {
            break;
        }
    }
    before.sort();
    listed.sort();
    assert!(listed == before, "{} of {}", listed.len(), before.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_executions_are_listed_over_all_partitions() {
    let home = Home::on(Server::shared(), 64);
    let process = home.open().await;
    submit_many(&process, 60).await;
    let mut failed = Vec::new();
    for assignment in take(&process, 30).await {
        let (category, message) = (Category::error(), "broken".into());
        let failure = Failure { category, retryable: false, message };
        process.fail(Fail { hold: assignment.hold(), failure }).await.unwrap();
        failed.push(assignment.execution);
    }
    let states = [ff_core::PublicState::Failed].into();
    let mut listed = pages(&process, Filter { states, ..Filter::default() }, 7).await;
    failed.sort();
    listed.sort();
    assert_eq!(listed, failed);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_due_timers_name_every_one() {
    let server = Server::shared();
    for partitions in [4, 64] {
        let home = Home::on(server, partitions);
        let (_, process, clock) = home.open_with_clock(server).await;
        let mut waits: Vec<_> = (1..=300).map(|number| 1_000 + number / 3).collect();
        fastrand::shuffle(&mut waits);
        for wait in &waits {
            let start = When::After(Millis::new(*wait));
            try_submit(&process, Submit { start, ..work(&process) }).await.unwrap();
        }
        let start = clock.now().await;
        clock.advance(Millis::new(1_050)).await;

        let (mut due, mut after) = (BTreeSet::new(), None);
        loop {
            let so_far = after.clone();
            let page = process.due(&ff_store::PartitionSet::All, after, 7).await.unwrap();
            assert!(page.due.is_sorted_by(|a, b| a < b), "in order, none twice: {page:?}");
            assert_eq!(page.next, Some(start + Millis::new(1_051)));
            due.extend(page.due);
            after = page.more;
            let reached = |cursor: Option<DueCursor>| cursor.and_then(|cursor| cursor.execution);
            assert!(after.is_none() || reached(so_far) < reached(after.clone()));
            if after.is_none() {
                break;
            }
        }
        assert_eq!(due.len(), waits.iter().filter(|wait| **wait <= 1_050).count());

        clock.advance(Millis::new(1_000)).await;
        let mut fired = 0;
        while fired < waits.len() {
            let ids: Vec<_> = process
                .due(&ff_store::PartitionSet::All, None, 100)
                .await
                .unwrap()
                .due
                .iter()
                .map(|(_, id)| *id)
                .collect();
            for ticked in process.tick(ids).await.unwrap() {
                assert!(ticked.unwrap().did.is_some());
                fired += 1;
            }
        }
        assert_eq!(process.due(&ff_store::PartitionSet::All, None, 1).await.unwrap().next, None);
        fixture::check(&process).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_does_not_go_with_its_key_is_refused_by_name() {
    let home = Home::on(Server::shared(), 4);
    let process = home.open().await;
    let (mut refused, mut accepted) = (0, 0);
    for number in 0..40 {
        let key = IdempotencyKey::new(format!("key-{number}")).unwrap();
        let home_of_key = process.new_id(&Namespace::default(), Some(&key));
        let submit = Submit { key: Some(key), ..work(&process) };
        let fits = |id: ExecutionId| id.partition().number() % 4;
        let goes_together = fits(submit.id) == fits(home_of_key);
        match try_submit(&process, submit.clone()).await {
            Ok(id) => {
                assert!(goes_together, "{id}");
                accepted += 1;
            }
            Err(error) => {
                assert!(!goes_together, "{error}");
                assert_eq!(
                    (error.code(), error.field()),
                    ("invalid_argument", Some("id")),
                    "{error}"
                );
                assert!(error.to_string().contains("idempotency key"), "{error}");
                refused += 1;
                // An id that was made for the key is accepted, and the key then names it.
                let mended = Submit { id: home_of_key, ..submit };
                assert_eq!(try_submit(&process, mended.clone()).await.unwrap(), home_of_key);
                let again = process.new_id(&Namespace::default(), mended.key.as_ref());
                let again = Submit { id: again, ..mended };
                assert_eq!(try_submit(&process, again).await.unwrap(), home_of_key);
            }
        }
    }
    assert!(refused > 0 && accepted > 0, "{refused} refused, {accepted} accepted");
    assert_eq!(pages(&process, Filter::default(), 100).await.len(), 40);
    fixture::check(&process).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_keeps_the_number_of_partitions_it_began_with() {
    let home = Home::on(Server::shared(), 4);
    let id = fixture::submit(&home.open().await).await;
    for requested in [1, 64] {
        let mut other = home.clone();
        other.options.partitions = Some(requested);
        let error = other.try_open().await.unwrap_err();
        assert_eq!((error.code(), error.is_retryable()), ("store_incompatible", false));
        let refused = error.to_string();
        assert!(
            refused.contains("4 partitions") && refused.contains(&requested.to_string()),
            "{refused}"
        );
    }
    let mut unsaid = home.clone();
    unsaid.options.partitions = None;
    let process = unsaid.open().await;
    assert_eq!(take(&process, 1).await[0].execution, id);
}

/// What needs admission is found in every partition, the best first, and nothing else is.
#[tokio::test(flavor = "multi_thread")]
async fn everything_that_needs_admission_is_a_candidate() {
    let home = Home::on(Server::shared(), 64);
    let process = home.open().await;
    let limits = ExecutionLimits {
        quotas: [ResourceName::new("api").unwrap()].into(),
        ..ExecutionLimits::default()
    };
    let plain = submit_many(&process, 20).await;
    let mut expected = Vec::new();
    for priority in 0..40 {
        let limited = Submit { priority, limits: limits.clone(), ..work(&process) };
        expected.insert(0, try_submit(&process, limited).await.unwrap());
    }
    let elsewhere = Submit { lane: Lane::new("other").unwrap(), limits, ..work(&process) };
    try_submit(&process, elsewhere).await.unwrap();
    let store = process.store();
    let candidates = async |most: usize| -> Vec<ExecutionId> {
        let found = store.admission_candidates(&claim(1), most).await.unwrap();
        found.iter().map(|needs| needs.execution).collect()
    };
    assert_eq!(candidates(1_000).await, expected);
    let first = candidates(3).await;
    assert!((1..=3).contains(&first.len()) && expected.starts_with(&first), "{first:?}");
    let order = LaneUpdate { paused: Some(true), ..LaneUpdate::default() };
    process.update_lane(order).await.unwrap();
    assert!(candidates(1_000).await.is_empty(), "nothing of a paused lane is asked for");
    let order = LaneUpdate { paused: Some(false), ..LaneUpdate::default() };
    process.update_lane(LaneUpdate { max_active: ff_core::Patch::Set(1), ..order }).await.unwrap();
    let all: BTreeSet<_> = expected.into_iter().chain(plain).collect();
    let found = candidates(1_000).await;
    assert_eq!(BTreeSet::from_iter(found), all, "a limited lane must admit everything");
}
