//! Durable steps: what a holder has recorded is there for every later attempt, once.

use ff_core::bounds::{JOURNAL_BYTES, PAYLOAD_BYTES, STEPS};
use ff_core::collection::{Collection, ElementRange};
use ff_core::journal::Recorded;
use ff_core::machine::{Assignment, LeaseRef, RecordStep, ToySteps};
use ff_core::payload::ContentType;
use ff_core::{Code, Payload, StepName};

use crate::fixture::{Fixture, Refused, forged, ms, permanent, step};

/// Results whose bytes must come out as they went in.
fn odd_results() -> Vec<Payload> {
    let typed = |bytes: &'static [u8]| Payload {
        content_type: ContentType::new("text/plain; charset=utf-8").unwrap(),
        ..Payload::bytes(bytes)
    };
    vec![
        Payload::bytes(""),
        Payload::json(""),
        Payload::json("null"),
        Payload::json(" {\"a\" : 1.50} "),
        Payload::bytes(&b"\x00\xff\xfe\r\n"[..]),
        typed(b"\xc3\x28"),
    ]
}

pub(crate) async fn a_recorded_step_is_found_by_a_retry(g: Fixture) {
    let first = g.held().await;
    g.record_step(&first, "charge", "paid").await.unwrap();
    g.fail(&first, crate::fixture::failure("broken")).await.unwrap();
    g.pass(ms(1_000)).await;
    let second = g.claimed().await;
    assert_eq!((second.fence.attempt, second.steps), (1, 1));
    assert_eq!(g.visible(second.execution).await, [("charge".into(), step("paid"))]);
}

pub(crate) async fn a_recorded_step_is_found_after_a_lost_lease(g: Fixture) {
    let first = g.held().await;
    g.record_step(&first, "charge", "paid").await.unwrap();
    g.pass(ms(10_000)).await;
    let second = g.claimed_by("bob").await;
    assert_eq!((second.fence.attempt, second.steps, second.generation), (1, 1, 0));
    g.record_step(&second, "ship", "sent").await.unwrap();
    let expected = [("charge".to_owned(), step("paid")), ("ship".to_owned(), step("sent"))];
    assert_eq!(g.visible(first.execution).await, expected);
    let entries = g.steps(first.execution).await;
    let attempts: Vec<_> = entries.iter().map(|it| (it.entry.run, it.entry.attempt)).collect();
    assert_eq!(attempts, [(0, 0), (0, 1)]);
}

pub(crate) async fn a_recorded_step_is_found_by_whoever_continues_the_attempt(g: Fixture) {
    for how in ["hand back", "delay", "revoke"] {
        let first = g.held().await;
        g.record_step(&first, "charge", "paid").await.unwrap();
        match how {
            "hand back" => drop(g.hand_back(&first).await.unwrap()),
            "delay" => drop(g.delay(&first, ff_core::When::Now).await.unwrap()),
            _ => drop(g.revoke(first.execution, first.fence).await.unwrap()),
        }
        let second = g.claimed_by("bob").await;
        assert_eq!((second.fence.attempt, second.steps), (0, 1), "{how}");
        g.complete(&second, "done").await.unwrap();
    }
}

pub(crate) async fn a_first_attempt_has_nothing_to_read(g: Fixture) {
    let first = g.held().await;
    assert_eq!((first.steps, first.generation), (0, 0));
    assert!(g.visible(first.execution).await.is_empty());
}

pub(crate) async fn a_step_whose_reply_was_lost_is_recorded_once(g: Fixture) {
    let held = g.held().await;
    let first = g.record_step(&held, "charge", "paid").await.unwrap();
    g.record_step(&held, "ship", "sent").await.unwrap();
    let before = g.snapshot().await;
    g.advance(ms(5)).await;
    assert_eq!(g.record_step(&held, "charge", "paid").await.unwrap(), first);
    g.snapshot().await.assert_same(&before);
    g.hand_back(&held).await.unwrap();
    let again = g.claimed_by("bob").await;
    assert_eq!(g.record_step(&again, "charge", "paid").await.unwrap(), first);
}

pub(crate) async fn another_result_of_a_recorded_step_is_refused(g: Fixture) {
    let held = g.held().await;
    g.record_step(&held, "charge", "paid").await.unwrap();
    let before = g.snapshot().await;
    for other in [Payload::bytes("unpaid"), Payload::bytes(""), Payload::json("paid")] {
        let answer = g.record_payload(&held, "charge", other).await;
        assert_eq!(answer.refused(), Code::StepConflict);
    }
    g.snapshot().await.assert_same(&before);
    g.record_step(&held, "Charge", "unpaid").await.unwrap();
}

pub(crate) async fn a_stale_holder_records_nothing(g: Fixture) {
    let stale = g.held().await;
    g.record_step(&stale, "charge", "paid").await.unwrap();
    g.pass(ms(10_000)).await;
    let present = g.claimed_by("bob").await;
    let before = g.snapshot().await;
    for name in ["charge", "ship"] {
        let answer = g.record_step(&stale, name, "paid").await;
        assert_eq!(answer.refused(), Code::StaleLease, "{name}");
    }
    for (what, hold) in forged(&present.hold()) {
        let answer = g.backend().record_step(of(&hold, "ship", Payload::bytes("x"))).await;
        assert_eq!(answer.refused(), Code::StaleLease, "{what}");
    }
    g.snapshot().await.assert_same(&before);
    g.complete(&present, "done").await.unwrap();
    assert_eq!(g.record_step(&present, "late", "x").await.refused(), Code::StaleLease);
}

pub(crate) async fn a_holder_that_is_past_its_lease_records_nothing(g: Fixture) {
    let held = g.held().await;
    g.advance(ms(10_000)).await;
    let before = g.snapshot().await;
    assert_eq!(g.record_step(&held, "charge", "paid").await.refused(), Code::StaleLease);
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_holder_that_is_asked_to_stop_still_records(g: Fixture) {
    let held = g.held().await;
    g.cancel(held.execution, Some(ms(5_000))).await.unwrap();
    g.record_step(&held, "charge", "paid").await.unwrap();
    g.fail(&held, permanent("stopped")).await.unwrap();
    assert_eq!(g.visible(held.execution).await.len(), 1);
}

pub(crate) async fn the_bytes_of_a_result_come_out_as_they_went_in(g: Fixture) {
    let held = g.held().await;
    let results = odd_results();
    for (n, result) in results.iter().enumerate() {
        g.record_payload(&held, &format!("größe {n}"), result.clone()).await.unwrap();
    }
    let found: Vec<_> = g.visible(held.execution).await.into_iter().map(|(_, what)| what).collect();
    let expected: Vec<_> = results.into_iter().map(Recorded::Step).collect();
    assert_eq!(found, expected);
}

pub(crate) async fn a_result_has_a_bound(g: Fixture) {
    let held = g.held().await;
    let most = Payload::bytes(vec![0xa7; PAYLOAD_BYTES]);
    g.record_payload(&held, "most", most.clone()).await.unwrap();
    let before = g.snapshot().await;
    let over = Payload::bytes(vec![0xa7; PAYLOAD_BYTES + 1]);
    assert_eq!(g.record_payload(&held, "over", over).await.refused(), Code::TooLarge);
    g.snapshot().await.assert_same(&before);
    assert_eq!(g.visible(held.execution).await, [("most".into(), Recorded::Step(most))]);
    assert!(JOURNAL_BYTES > PAYLOAD_BYTES as u64);
}

/// As long as a journal can be.
pub(crate) async fn a_long_journal_is_read_in_pages(g: Fixture) {
    let held = g.held().await;
    let target = g.target(held.execution);
    let name = |n: u64| StepName::new(format!("step {n}")).unwrap();
    for from in (0..STEPS).step_by(500) {
        let steps = (from..from + 500).map(|n| (name(n), number(n))).collect();
        g.run(ToySteps { target: target.clone(), steps }).await.unwrap();
    }
    assert_eq!(g.record_step(&held, "one more", "x").await.refused(), Code::LimitReached);
    let known = g.record_payload(&held, "step 7", number(7)).await.unwrap();
    assert_eq!(known.number, 7, "what is recorded is found before the bound applies");
    g.hand_back(&held).await.unwrap();
    assert_eq!(u64::from(g.claimed().await.steps), STEPS);
    let (mut from, mut read, mut pages) = (Some(0), 0, 0);
    while let Some(first) = from {
        let page = g.backend().journal(&target, first, 1_000).await.unwrap();
        for it in page.entries {
            assert_eq!((it.entry.number, it.entry.name), (read, name(read)));
            assert_eq!((it.visible, it.entry.what), (true, Recorded::Step(number(read))));
            read += 1;
        }
        (from, pages) = (page.next, pages + 1);
    }
    assert_eq!((read, pages), (STEPS, 10));
    let middle = g.backend().steps(&target, 9_990, 2).await.unwrap();
    let numbers: Vec<_> = middle.entries.iter().map(|it| it.entry.number).collect();
    assert_eq!((numbers, middle.next), (vec![9_990, 9_991], Some(9_992)));
    assert!(g.backend().steps(&target, STEPS, 2).await.unwrap().entries.is_empty());
}

/// A result of its own for each step.
fn number(n: u64) -> Payload {
    Payload::json(n.to_string())
}

pub(crate) async fn a_page_of_long_results_ends_early_and_says_where(g: Fixture) {
    let held = g.held().await;
    for name in ["a", "b", "c"] {
        let long = Payload::bytes(vec![name.as_bytes()[0]; PAYLOAD_BYTES / 2]);
        g.record_payload(&held, name, long).await.unwrap();
    }
    let target = g.target(held.execution);
    let mut next = Some(0);
    let mut found = Vec::new();
    while let Some(from) = next {
        let page = g.backend().journal(&target, from, 1_000).await.unwrap();
        assert!(page.entries.len() < 3, "one read answers about a megabyte");
        found.extend(page.entries.into_iter().map(|it| it.entry.name.to_string()));
        next = page.next;
    }
    assert_eq!(found, ["a", "b", "c"]);
}

pub(crate) async fn another_namespace_finds_no_journal(g: Fixture) {
    let held = g.held().await;
    g.record_step(&held, "charge", "paid").await.unwrap();
    let other = g.elsewhere();
    let target = other.target(held.execution);
    assert_eq!(other.backend().steps(&target, 0, 10).await.refused(), Code::NotFound);
    assert_eq!(other.backend().journal(&target, 0, 10).await.refused(), Code::NotFound);
    let foreign = LeaseRef { target, ..held.hold() };
    let answer = other.backend().record_step(of(&foreign, "ship", Payload::bytes("x"))).await;
    assert_eq!(answer.refused(), Code::NotFound);
    let nothing = g.target(g.new_id());
    assert_eq!(g.backend().steps(&nothing, 0, 10).await.refused(), Code::NotFound);
}

pub(crate) async fn a_page_has_a_bound(g: Fixture) {
    let target = g.target(g.waiting().await);
    for limit in [0, 1_001] {
        assert_eq!(g.backend().steps(&target, 0, limit).await.refused(), Code::InvalidArgument);
        assert_eq!(g.backend().journal(&target, 0, limit).await.refused(), Code::InvalidArgument);
    }
}

pub(crate) async fn a_journal_is_removed_with_its_execution(g: Fixture) {
    let held = g.held().await;
    g.record_step(&held, "charge", "paid").await.unwrap();
    g.complete(&held, "done").await.unwrap();
    assert_eq!(g.visible(held.execution).await.len(), 1, "it is readable after the end");
    g.pass(ff_core::Millis::from_days(2)).await;
    let (owner, collection) = (held.execution, Collection::Steps);
    let range = ElementRange { owner, collection, from: 0, limit: 10 };
    assert!(g.store().elements(range).await.unwrap().is_empty());
    let target = g.target(held.execution);
    assert_eq!(g.backend().steps(&target, 0, 10).await.refused(), Code::NotFound);
}

pub(crate) async fn steps_recorded_at_once_are_all_there(g: Fixture) {
    let held = g.held().await;
    let record = |name: &'static str| g.record_step(&held, name, name);
    let (a, b, c) = tokio::join!(record("a"), record("b"), record("c"));
    let mut numbers = [a.unwrap().number, b.unwrap().number, c.unwrap().number];
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2]);
    let mut names: Vec<_> = g.visible(held.execution).await.into_iter().map(|(n, _)| n).collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "b", "c"]);
}

pub(crate) async fn of_two_results_of_one_name_at_once_one_is_kept(g: Fixture) {
    let held = g.held().await;
    let record = |result: &'static str| g.record_step(&held, "charge", result);
    let answers = tokio::join!(record("a"), record("b"));
    let kept = match answers {
        (Ok(_), b) => (b.refused(), "a"),
        (a, Ok(_)) => (a.refused(), "b"),
        neither => panic!("{neither:?}"),
    };
    assert_eq!(kept.0, Code::StepConflict);
    assert_eq!(g.visible(held.execution).await, [("charge".into(), step(kept.1))]);
}

fn of(hold: &LeaseRef, name: &str, result: Payload) -> RecordStep {
    RecordStep { hold: hold.clone(), name: StepName::new(name).unwrap(), result }
}

/// Work whose attempt recorded `names` and then completed.
async fn completed_with(g: &Fixture, names: &[&'static str]) -> Assignment {
    let held = g.held().await;
    for name in names {
        g.record_step(&held, name, name).await.unwrap();
    }
    g.complete(&held, "done").await.unwrap();
    held
}

pub(crate) async fn a_replay_keeps_the_journal_unless_it_says_otherwise(g: Fixture) {
    let id = completed_with(&g, &["a", "b"]).await.execution;
    g.replay(id, 0).await.unwrap();
    let again = g.claimed().await;
    assert_eq!((again.run, again.steps, again.generation), (1, 2, 0));
    assert_eq!(g.record_step(&again, "a", "other").await.refused(), Code::StepConflict);
    g.record_step(&again, "c", "c").await.unwrap();
    assert_eq!(g.names(id).await, ["a", "b", "c"]);
}

pub(crate) async fn a_replay_can_drop_the_journal(g: Fixture) {
    let id = completed_with(&g, &["a", "b"]).await.execution;
    g.replay_with(id, 0, "drop").await.unwrap();
    let again = g.claimed().await;
    assert_eq!((again.steps, again.generation), (0, 1));
    assert!(g.names(id).await.is_empty());
    g.record_step(&again, "b", "anew").await.unwrap();
    assert_eq!(g.visible(id).await, [("b".into(), step("anew"))]);
    let all: Vec<_> = g.steps(id).await.into_iter().map(|it| (it.entry.run, it.visible)).collect();
    assert_eq!(all, [(0, false), (0, false), (1, true)], "old entries stay readable");
}

pub(crate) async fn a_replay_can_keep_the_journal_up_to_a_step(g: Fixture) {
    let id = completed_with(&g, &["a", "b", "c"]).await.execution;
    g.replay_with(id, 0, "b").await.unwrap();
    let again = g.claimed().await;
    assert_eq!((again.steps, again.generation), (2, 1));
    assert_eq!(g.names(id).await, ["a", "b"]);
    g.record_step(&again, "c", "anew").await.unwrap();
    g.record_step(&again, "d", "d").await.unwrap();
    g.complete(&again, "done").await.unwrap();
    assert_eq!(g.names(id).await, ["a", "b", "c", "d"]);
    g.replay_with(id, 1, "c").await.unwrap();
    assert_eq!(g.names(id).await, ["a", "b", "c"], "the newest entry of a name is meant");
    let third = g.claimed().await;
    assert_eq!((third.steps, third.generation), (3, 2));
    g.complete(&third, "done").await.unwrap();
    g.replay_with(id, 2, "c").await.unwrap();
    assert_eq!(g.claimed().await.generation, 2, "nothing came after it");
}

/// What a replay has hidden stays hidden, and what came after it stays visible, over failures and lost
/// leases.
pub(crate) async fn retries_and_lost_leases_find_what_a_replay_has_left(g: Fixture) {
    for (how, left) in [("keep", &["a", "b"][..]), ("drop", &[]), ("a", &["a"])] {
        let id = completed_with(&g, &["a", "b"]).await.execution;
        g.replay_with(id, 0, how).await.unwrap();
        let with = |more: &'static [&'static str]| [left, more].concat();
        let first = g.claimed().await;
        assert_eq!(g.names(id).await, with(&[]), "{how}");
        g.record_step(&first, "c", "c").await.unwrap();
        g.fail(&first, crate::fixture::failure("broken")).await.unwrap();
        g.pass(ms(1_000)).await;
        let retry = g.claimed().await;
        assert_eq!(g.names(id).await, with(&["c"]), "{how}");
        assert_eq!(retry.generation, first.generation, "{how}");
        assert_eq!(u64::from(retry.steps), left.len() as u64 + 1, "{how}");
        g.record_step(&retry, "d", "d").await.unwrap();
        g.pass(ms(10_000)).await;
        let reclaimed = g.claimed_by("bob").await;
        assert_eq!(g.names(id).await, with(&["c", "d"]), "{how}");
        assert_eq!(g.record_step(&reclaimed, "c", "other").await.refused(), Code::StepConflict);
        if how != "keep" {
            g.record_step(&reclaimed, "b", "anew").await.unwrap();
        }
        g.complete(&reclaimed, "done").await.unwrap();
    }
}

pub(crate) async fn a_replay_up_to_what_is_not_visible_is_refused(g: Fixture) {
    let id = completed_with(&g, &["a", "b"]).await.execution;
    let before = g.snapshot().await;
    assert_eq!(g.replay_with(id, 0, "c").await.refused(), Code::NotFound);
    g.snapshot().await.assert_same(&before);
    g.replay_with(id, 0, "a").await.unwrap();
    g.complete(&g.claimed().await, "done").await.unwrap();
    assert_eq!(g.replay_with(id, 1, "b").await.refused(), Code::NotFound, "b is hidden");
    g.replay_with(id, 1, "a").await.unwrap();
}

pub(crate) async fn a_repeated_replay_hides_nothing_more(g: Fixture) {
    let id = completed_with(&g, &["a", "b"]).await.execution;
    g.replay_with(id, 0, "a").await.unwrap();
    let before = g.snapshot().await;
    for how in ["a", "drop", "keep"] {
        assert_eq!(g.replay_with(id, 0, how).await.unwrap(), 1);
    }
    g.snapshot().await.assert_same(&before);
    assert_eq!(g.names(id).await, ["a"]);
}
