//! Who did what: people's acts are kept with what they changed, under the name that the engine knows.

use std::sync::Arc;

use ff_core::act::{Changed, Deed};
use ff_core::bounds::ACTS;
use ff_core::budget::{BudgetLimits, OnBreach};
use ff_core::event::EventName;
use ff_core::journal::ReplayJournal;
use ff_core::machine::{Cancel, Delete, Replay, Resume, Revoke, SetPriority, SetTags};
use ff_core::{Actor, ExecutionId, PublicState, TokenName};
use ff_store::EngineBackend;
use ff_store::listing::Filter;
use ff_store::roles::{Bulk, BulkAction, LaneUpdate};

use crate::fixture::events::Reader;
use crate::fixture::{Fixture, any_signal, at_once, ms, named, of_tokens, tag, tokens};

fn actor(name: &str) -> Actor {
    Actor::from(&TokenName::new(name).unwrap())
}

impl Fixture {
    /// The same store, for somebody.
    fn acting(&self, name: &str) -> Arc<dyn EngineBackend> {
        self.backend().acting(actor(name))
    }

    /// What was done to an execution, and by whom.
    async fn acts(&self, id: ExecutionId) -> Vec<(Deed, String)> {
        let acts = self.record(id).await.acts;
        acts.iter().map(|act| (act.what, act.by.to_string())).collect()
    }

    fn cancelling(&self, id: ExecutionId) -> Cancel {
        Cancel { target: self.target(id), grace: None, reason: None }
    }
}

fn by(name: &str, deeds: &[Deed]) -> Vec<(Deed, String)> {
    deeds.iter().map(|what| (*what, name.to_owned())).collect()
}

pub(crate) async fn plain_work_has_no_acts(g: Fixture) {
    let held = g.held().await;
    g.renew(held.hold()).await.unwrap();
    g.complete(&held, "done").await.unwrap();
    assert_eq!(g.acts(held.execution).await, []);
}

pub(crate) async fn what_people_do_to_an_execution_is_kept_with_it(g: Fixture) {
    let (ann, bob) = (g.acting("ann"), g.acting("bob"));
    let held = g.held().await;
    let (id, target) = (held.execution, g.target(held.execution));
    ann.revoke(Revoke { target: target.clone(), lease: held.fence.lease }).await.unwrap();
    let again = g.claimed().await;
    let parking = g.parking(&again, &["gate"], any_signal("gate"));
    g.suspend(parking).await.unwrap();
    bob.resume(Resume { target: target.clone() }).await.unwrap();
    g.advance(ms(5)).await;
    ann.cancel(g.cancelling(id)).await.unwrap();
    let at = g.now().await;
    bob.replay(Replay { target, run: 0, journal: ReplayJournal::Keep }).await.unwrap();
    let expected = [
        by("ann", &[Deed::Revoke]),
        by("bob", &[Deed::Resume]),
        by("ann", &[Deed::Cancel]),
        by("bob", &[Deed::Replay]),
    ];
    assert_eq!(g.acts(id).await, expected.concat());
    assert_eq!(g.record(id).await.acts[2].at, at);
    g.complete(&g.claimed().await, "done").await.unwrap();
    assert_eq!(g.acts(id).await.len(), 4, "they stay to the end");
}

pub(crate) async fn a_call_that_changes_nothing_leaves_no_act(g: Fixture) {
    let held = g.held().await;
    let grace = Cancel { grace: Some(ms(5_000)), ..g.cancelling(held.execution) };
    g.acting("ann").cancel(grace.clone()).await.unwrap();
    let before = g.snapshot().await;
    g.acting("bob").cancel(Cancel { grace: Some(ms(9_000)), ..grace }).await.unwrap();
    let resume = Resume { target: g.target(held.execution) };
    assert!(!g.acting("bob").resume(resume).await.unwrap());
    g.snapshot().await.assert_same(&before);
    g.acting("cleo").cancel(g.cancelling(held.execution)).await.unwrap();
    g.acting("bob").cancel(g.cancelling(held.execution)).await.unwrap();
    let expected = [by("ann", &[Deed::Cancel]), by("cleo", &[Deed::Cancel])].concat();
    assert_eq!(g.acts(held.execution).await, expected);
}

pub(crate) async fn a_change_of_priority_or_tags_is_kept_once(g: Fixture) {
    let id = g.waiting().await;
    let priority = SetPriority { target: g.target(id), priority: 7 };
    let tags = SetTags { target: g.target(id), set: [tag("a", "x")].into(), remove: Vec::new() };
    for name in ["ann", "bob"] {
        g.acting(name).set_priority(priority.clone()).await.unwrap();
        g.acting(name).set_tags(tags.clone()).await.unwrap();
    }
    assert_eq!(g.acts(id).await, by("ann", &[Deed::Priority, Deed::Tag]), "bob changed nothing");
    assert_eq!(g.record(id).await.priority, 7);
}

pub(crate) async fn a_holder_that_stops_because_it_was_asked_to_keeps_who_asked(g: Fixture) {
    let held = g.held().await;
    let cancel = Cancel { grace: Some(ms(5_000)), ..g.cancelling(held.execution) };
    g.acting("ann").cancel(cancel).await.unwrap();
    g.cancel_held(&held, None).await.unwrap();
    assert_eq!(g.state(held.execution).await, PublicState::Cancelled);
    assert_eq!(g.acts(held.execution).await, by("ann", &[Deed::Cancel]));
}

pub(crate) async fn the_newest_acts_are_kept(g: Fixture) {
    let id = g.waiting().await;
    g.acting("ann").cancel(g.cancelling(id)).await.unwrap();
    for run in 0..ACTS as u32 {
        let replay = Replay { target: g.target(id), run, journal: ReplayJournal::Keep };
        g.acting("bob").replay(replay).await.unwrap();
        g.run(g.cancelling(id)).await.unwrap();
    }
    assert_eq!(g.acts(id).await, by("bob", &[Deed::Replay; ACTS]), "of nobody nothing is kept");
}

pub(crate) async fn who_has_the_store_itself_is_local(g: Fixture) {
    let id = g.waiting().await;
    g.cancel(id, None).await.unwrap();
    assert_eq!(g.acts(id).await, by("local", &[Deed::Cancel]));
}

pub(crate) async fn what_is_done_to_many_is_kept_with_each(g: Fixture) {
    let ids = [g.waiting().await, g.waiting().await];
    let bulk = Bulk {
        namespace: g.namespace.clone(),
        filter: Filter { states: [PublicState::Waiting].into(), ..Filter::default() },
        action: BulkAction::Cancel { grace: None, reason: None },
        dry_run: false,
        after: None,
        limit: 10,
    };
    assert_eq!(g.acting("ann").bulk(&bulk).await.unwrap().done, 2);
    for id in ids {
        assert_eq!(g.acts(id).await, by("ann", &[Deed::Cancel]));
    }
}

pub(crate) async fn what_a_budget_cancels_is_an_act_of_the_engine(g: Fixture) {
    let limits = BudgetLimits { on_breach: OnBreach::Cancel, ..of_tokens(10) };
    g.put_budget("team", limits).await;
    let id = g.spending(&["team"]).await;
    let held = g.claimed().await;
    g.report(&held, "r", tokens(10)).await.unwrap();
    assert_eq!(g.state(id).await, PublicState::Cancelled);
    assert_eq!(g.acts(id).await, by("engine", &[Deed::Cancel]));
}

pub(crate) async fn a_lane_knows_who_changed_it(g: Fixture) {
    assert_eq!(g.lane().await.by, None);
    let pause = || LaneUpdate { paused: Some(true), ..g.lane_update() };
    let paused = g.acting("ann").update_lane(pause()).await.unwrap();
    assert_eq!(paused.by, Some(actor("ann")));
    g.acting("bob").update_lane(pause()).await.unwrap();
    assert_eq!(g.lane().await.by, Some(actor("ann")), "the same again is no change");
    let drain = LaneUpdate { draining: Some(true), ..g.lane_update() };
    g.acting("bob").update_lane(drain).await.unwrap();
    assert_eq!(g.lane().await.by, Some(actor("bob")));
    let listed = g.backend().lanes(&g.namespace, None, 10).await.unwrap();
    assert_eq!(listed[0].state.by, Some(actor("bob")));
}

pub(crate) async fn a_limit_knows_who_changed_it(g: Fixture) {
    let (ann, bob) = (g.acting("ann"), g.acting("bob"));
    let changed = async |name| Some(Changed { at: g.now().await, by: actor(name) });
    let (team, api) = (named("team"), named("api"));
    ann.put_budget(&g.namespace, &team, of_tokens(10)).await.unwrap();
    assert_eq!(g.budget("team").await.changed, changed("ann").await);
    g.advance(ms(5)).await;
    let reset = bob.reset_budget(&g.namespace, &team).await.unwrap();
    assert_eq!((reset.changed, g.budget("team").await.changed), {
        let now = changed("bob").await;
        (now.clone(), now)
    });
    ann.put_quota(&g.namespace, &api, at_once(1)).await.unwrap();
    let made = changed("ann").await;
    g.under(&["api"]).await;
    let held = g.claimed().await;
    g.advance(ms(5)).await;
    g.complete(&held, "done").await.unwrap();
    assert_eq!(g.quota("api").await.changed, made, "its use is no change");
    let put = bob.put_quota(&g.namespace, &api, at_once(2)).await.unwrap();
    assert_eq!(put.changed, changed("bob").await);
    assert_eq!(g.backend().quotas(&g.namespace, None, 10).await.unwrap()[0].changed, put.changed);
}

/// What happened, and who did it.
async fn told(reader: &mut Reader) -> Vec<(EventName, Option<String>)> {
    let events = reader.all(100).await;
    events
        .iter()
        .map(|event| (event.what.name(), event.by.as_ref().map(|by| by.to_string())))
        .collect()
}

pub(crate) async fn an_event_says_whose_act_it_was(g: Fixture) {
    use EventName as E;
    let mut reader = Reader::start(&g).await;
    let (ann, bob) = (g.acting("ann"), g.acting("bob"));
    let held = g.held().await;
    let target = g.target(held.execution);
    ann.revoke(Revoke { target: target.clone(), lease: held.fence.lease }).await.unwrap();
    let again = g.claimed().await;
    g.suspend(g.parking(&again, &["gate"], any_signal("gate"))).await.unwrap();
    bob.resume(Resume { target: target.clone() }).await.unwrap();
    ann.cancel(g.cancelling(held.execution)).await.unwrap();
    let replay = Replay { target: target.clone(), run: 0, journal: ReplayJournal::Keep };
    bob.replay(replay).await.unwrap();
    g.complete(&g.claimed().await, "done").await.unwrap();
    bob.delete(Delete { target }).await.unwrap();
    let (ann, bob) = (Some("ann".to_owned()), Some("bob".to_owned()));
    let expected = [
        (E::Submitted, None),
        (E::Claimed, None),
        (E::Revoked, ann.clone()),
        (E::Claimed, None),
        (E::Suspended, None),
        (E::Resumed, bob.clone()),
        (E::Cancelled, ann),
        (E::Replayed, bob.clone()),
        (E::Claimed, None),
        (E::Completed, None),
        (E::Retired, bob),
    ];
    assert_eq!(told(&mut reader).await, expected);
}

pub(crate) async fn an_event_says_whose_signal_it_was(g: Fixture) {
    use EventName as E;
    let held = g.held().await;
    g.open(&held, "gate").await;
    let mut reader = Reader::start(&g).await;
    let signal = g.signal(held.execution, "gate");
    let sender = Some(signal.source.to_string());
    g.send(signal).await.unwrap();
    assert_eq!(told(&mut reader).await, [(E::Signalled, sender.clone())]);
    let parked = g.parked().await;
    g.send(g.signal(parked.execution, "gate")).await.unwrap();
    let told = told(&mut reader).await;
    assert_eq!(told.last(), Some(&(E::Resumed, sender)));
    assert!(told[..told.len() - 1].iter().all(|(_, by)| by.is_none()), "{told:?}");
}
