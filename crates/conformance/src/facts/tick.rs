//! Timers: a due timer is returned, fires once, and never early.

use std::collections::BTreeSet;

use ff_core::machine::Ticked;
use ff_core::policy::Policy;
use ff_core::timer::DueAction;
use ff_core::{ExecutionId, Millis, PublicState, ResourceName, Time};
use ff_store::{DueCursor, PartitionSet};
use tokio::task::JoinSet;

use crate::fixture::{Fixture, ms, steady};

type Timer = (Time, ExecutionId);

async fn due(g: &Fixture, after: Option<Timer>, limit: usize) -> Vec<Timer> {
    let after = DueCursor { execution: after, ..DueCursor::default() };
    g.backend().due(&PartitionSet::All, Some(after), limit).await.unwrap().due
}

fn ids(timers: Vec<Timer>) -> Vec<ExecutionId> {
    timers.into_iter().map(|(_, id)| id).collect()
}

pub(crate) async fn timers_are_named_when_they_are_due_and_not_before(g: Fixture) {
    let id = g.delayed(ms(500)).await;
    let at = g.now().await + ms(500);
    g.advance(ms(499)).await;
    let timers = g.backend().due(&PartitionSet::All, None, 10).await.unwrap();
    assert_eq!((timers.now, timers.due, timers.next), (g.now().await, vec![], Some(at)));
    g.advance(ms(1)).await;
    let timers = g.backend().due(&PartitionSet::All, None, 10).await.unwrap();
    assert_eq!((timers.due, timers.next), (vec![(at, id)], None));
}

pub(crate) async fn the_earliest_timer_comes_first(g: Fixture) {
    let late = g.delayed(ms(300)).await;
    let early = g.delayed(ms(100)).await;
    let middle = g.delayed(ms(200)).await;
    g.advance(ms(1_000)).await;
    assert_eq!(ids(due(&g, None, 10).await), [early, middle, late]);
}

pub(crate) async fn the_next_timer_is_returned_after_the_due_ones(g: Fixture) {
    g.delayed(ms(100)).await;
    g.delayed(ms(200)).await;
    let later = g.now().await + ms(300);
    g.delayed(ms(300)).await;
    g.delayed(ms(400)).await;
    g.advance(ms(200)).await;
    let timers = g.backend().due(&PartitionSet::All, None, 1).await.unwrap();
    assert_eq!((timers.due.len(), timers.next), (1, Some(later)));
}

pub(crate) async fn pages_of_timers_neither_skip_nor_repeat(g: Fixture) {
    let mut all = Vec::new();
    for n in 0..25 {
        let span = ms(100 + n / 10);
        all.push((span, g.delayed(span).await));
    }
    // In one millisecond, by id.
    all.sort();
    let all: Vec<_> = all.into_iter().map(|(_, id)| id).collect();
    g.advance(ms(1_000)).await;
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = due(&g, after, 4).await;
        let Some(last) = page.last() else { break };
        after = Some(*last);
        seen.extend(ids(page));
    }
    assert_eq!(seen, all, "also where several are due in one millisecond");
}

pub(crate) async fn a_stuck_timer_does_not_hide_those_behind_it(g: Fixture) {
    let first = g.delayed(ms(100)).await;
    let second = g.delayed(ms(200)).await;
    g.advance(ms(300)).await;
    let stuck = due(&g, None, 1).await[0];
    assert_eq!(stuck.1, first);
    assert_eq!(ids(due(&g, Some(stuck), 1).await), [second]);
}

pub(crate) async fn stuck_timers_of_resources_do_not_hide_those_behind_them(g: Fixture) {
    let mut workers = BTreeSet::new();
    for number in 0..30 {
        let session = g.registered(&format!("w{number:02}"), "").await;
        workers.insert(ResourceName::from(&session.instance));
    }
    let silence = ms(10_000);
    g.advance(silence).await;
    let (mut seen, mut after) = (BTreeSet::new(), None);
    loop {
        let page = g.backend().due(&PartitionSet::All, after, 4).await.unwrap();
        let mine = page.resources.into_iter().filter(|key| key.namespace == g.namespace);
        seen.extend(mine.map(|key| key.name));
        after = page.more;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, workers);
}

pub(crate) async fn a_tick_before_its_time_changes_nothing(g: Fixture) {
    let id = g.delayed(ms(500)).await;
    let next = Some(g.now().await + ms(500));
    g.advance(ms(499)).await;
    let before = g.snapshot().await;
    assert_eq!(g.tick(id).await, Ticked { did: None, next });
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_tick_of_nothing_does_nothing(g: Fixture) {
    let before = g.snapshot().await;
    assert_eq!(g.tick(g.new_id()).await, Ticked { did: None, next: None });
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn work_without_a_timer_is_not_ticked(g: Fixture) {
    let id = g.waiting().await;
    g.advance(Millis::from_days(1_000)).await;
    assert_eq!(g.tick(id).await, Ticked { did: None, next: None });
    assert_eq!(g.state(id).await, PublicState::Waiting);
}

pub(crate) async fn a_tick_does_the_earliest_action_and_returns_the_next_timer(g: Fixture) {
    let policy = Policy { deadline: Some(ms(500)), ..steady() };
    let submit = ff_core::machine::Submit {
        start: ff_core::When::After(ms(100)),
        policy: policy.into(),
        ..g.work()
    };
    let deadline = g.now().await + ms(500);
    let id = g.submit(submit).await;
    g.advance(ms(900)).await;
    let first = g.tick(id).await;
    assert_eq!(first, Ticked { did: Some(DueAction::DelayOver), next: Some(deadline) });
    assert_eq!(g.tick(id).await.did, Some(DueAction::Deadline));
    assert_eq!(g.state(id).await, PublicState::Expired);
}

pub(crate) async fn of_actions_due_together_the_deadline_comes_first(g: Fixture) {
    let policy = Policy { deadline: Some(ms(10_000)), ..steady() };
    let assignment = g.held_under(policy).await;
    g.advance(assignment.lease_ttl).await;
    assert_eq!(g.tick(assignment.execution).await.did, Some(DueAction::Deadline));
}

pub(crate) async fn ticking_twice_acts_once(g: Fixture) {
    let assignment = g.held().await;
    g.advance(assignment.lease_ttl).await;
    let answers = g.backend().tick(vec![assignment.execution; 3]).await.unwrap();
    let did: Vec<_> = answers.into_iter().map(|answer| answer.unwrap().did).collect();
    assert_eq!(did, [Some(DueAction::LeaseExpired), None, None]);
    assert_eq!(g.record(assignment.execution).await.run.reclaims, 1);
}

pub(crate) async fn several_engines_act_once_on_each_timer(g: Fixture) {
    let mut ids = Vec::new();
    for _ in 0..20 {
        ids.push(g.held().await.execution);
    }
    g.advance(ms(10_000)).await;
    let mut engines = JoinSet::new();
    for _ in 0..4 {
        let (g, ids) = (g.clone(), ids.clone());
        engines.spawn(async move {
            let mut answers = Vec::new();
            for id in ids {
                answers.extend(g.backend().tick(vec![id]).await.unwrap());
            }
            answers
        });
    }
    let answers = engines.join_all().await.into_iter().flatten();
    let did = answers.filter(|answer| answer.as_ref().is_ok_and(|t| t.did.is_some())).count();
    assert_eq!(did, ids.len());
    for id in ids {
        assert_eq!(g.record(id).await.run.reclaims, 1);
    }
}

pub(crate) async fn a_renewed_lease_has_one_timer(g: Fixture) {
    let assignment = g.held().await;
    for _ in 0..5 {
        g.advance(ms(5_000)).await;
        g.renew(assignment.hold()).await.unwrap();
    }
    g.advance(ms(9_999)).await;
    assert!(due(&g, None, 10).await.is_empty(), "the old timers are gone");
    g.advance(ms(1)).await;
    assert_eq!(ids(due(&g, None, 10).await), [assignment.execution]);
}
