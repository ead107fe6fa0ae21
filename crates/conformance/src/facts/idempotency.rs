//! Every call can be repeated after a lost reply.

use ff_core::journal::ReplayJournal;
use ff_core::machine::{
    Action, ClaimRequest, GrantNext, Renew, Replay, ReportProgress, Revoke, Submit,
};
use ff_core::machine::{Cancel, SetPriority, SetTags};
use ff_core::policy::Policy;
use ff_core::record::{Exited, Progress, Tags};
use ff_core::{Code, Payload, PolicyOverrides, PublicState};
use ff_store::mint;
use tokio::task::JoinSet;

use crate::fixture::{Fixture, Refused, exit_calls, ms, tag};

/// Sends a call, then sends it again: the same answer, and the store does not change.
async fn repeats(g: &Fixture, what: &str, action: impl Into<Action>) {
    let action = action.into();
    let first = g.run(action.clone()).await.unwrap();
    let before = g.snapshot().await;
    assert_eq!(g.run(action).await.unwrap(), first, "{what}");
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn fifty_concurrent_submits_with_one_key_make_one_execution(g: Fixture) {
    let submit = g.keyed("order-1");
    let mut callers = JoinSet::new();
    for _ in 0..50 {
        let (g, submit) = (g.clone(), Submit { id: g.keyed("order-1").id, ..submit.clone() });
        callers.spawn(async move { g.try_submit(submit).await.unwrap() });
    }
    let answers = callers.join_all().await;
    assert_eq!(answers.iter().filter(|answer| answer.created).count(), 1);
    assert!(answers.iter().all(|answer| answer.execution == answers[0].execution));
    assert_eq!(g.snapshot().await.records.len(), 1);
}

pub(crate) async fn fifty_concurrent_submits_of_one_id_make_one_execution(g: Fixture) {
    let work = g.work();
    let mut callers = JoinSet::new();
    for _ in 0..50 {
        let (g, work) = (g.clone(), work.clone());
        callers.spawn(async move { g.try_submit(work).await.unwrap() });
    }
    let answers = callers.join_all().await;
    assert_eq!(answers.iter().filter(|answer| answer.created).count(), 1);
    assert_eq!(g.snapshot().await.records.len(), 1);
}

pub(crate) async fn the_same_key_and_body_finds_the_first_whatever_the_id(g: Fixture) {
    let submit = g.keyed("order-1");
    let id = g.submit(submit.clone()).await;
    let again = g.try_submit(Submit { id: g.keyed("order-1").id, ..submit.clone() }).await.unwrap();
    assert_eq!((again.execution, again.created), (id, false));
    g.complete(&g.claimed().await, "done").await.unwrap();
    let again = g.try_submit(Submit { id: g.keyed("order-1").id, ..submit }).await.unwrap();
    assert_eq!((again.execution, again.state), (id, PublicState::Completed));
}

pub(crate) async fn the_same_key_with_another_body_is_refused(g: Fixture) {
    let submit = g.keyed("order-1");
    g.submit(submit.clone()).await;
    let before = g.snapshot().await;
    let other = Submit { id: g.keyed("order-1").id, input: Payload::bytes("other"), ..submit };
    assert_eq!(g.try_submit(other).await.refused(), Code::IdempotencyConflict);
    g.snapshot().await.assert_same(&before);
}

/// Both come to the same policy today; tomorrow the lane may say something else.
pub(crate) async fn what_a_submit_leaves_open_is_not_what_it_says(g: Fixture) {
    let open = Submit { policy: PolicyOverrides::default(), ..g.keyed("order-1") };
    g.submit(open.clone()).await;
    let built_in = PolicyOverrides::from(Policy::default());
    let lease = PolicyOverrides { lease_ttl: built_in.lease_ttl, ..PolicyOverrides::default() };
    let stream = PolicyOverrides { stream: built_in.stream, ..PolicyOverrides::default() };
    let before = g.snapshot().await;
    for policy in [lease, stream, built_in] {
        let said = Submit { id: g.keyed("order-1").id, policy, ..open.clone() };
        assert_eq!(g.try_submit(said).await.refused(), Code::IdempotencyConflict);
    }
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_submit_can_be_repeated(g: Fixture) {
    let submit = g.keyed("order-1");
    g.submit(submit.clone()).await;
    repeats(&g, "submit", submit).await;
}

pub(crate) async fn taking_work_can_be_repeated(g: Fixture) {
    for _ in 0..3 {
        g.waiting().await;
    }
    repeats(&g, "claim", ClaimRequest { max: 2, retry: true, ..g.claim() }).await;
    let grant = GrantNext { retry: true, ..g.grant() };
    repeats(&g, "grant", grant.clone()).await;
    let offer = g.backend().grant(grant).await.unwrap().offer.unwrap();
    repeats(&g, "claim granted", g.use_of(&offer)).await;
}

pub(crate) async fn every_exit_can_be_repeated(g: Fixture) {
    for exit in 0..exit_calls(&g.held().await.hold()).len() {
        let assignment = g.held().await;
        let (call, action) = exit_calls(&assignment.hold()).swap_remove(exit);
        repeats(&g, call, action).await;
        g.cancel(assignment.execution, None).await.ok();
    }
}

pub(crate) async fn every_operators_call_can_be_repeated(g: Fixture) {
    let held = g.held().await;
    let target = || g.target(held.execution);
    let set = Tags::from([tag("team", "blue")]);
    repeats(&g, "priority", SetPriority { target: target(), priority: 7 }).await;
    repeats(&g, "tags", SetTags { target: target(), set, remove: vec![] }).await;
    let grace = Cancel { target: target(), grace: Some(ms(500)), reason: None };
    repeats(&g, "grace", grace).await;
    repeats(&g, "cancel", Cancel { target: target(), grace: None, reason: None }).await;
    repeats(&g, "replay", Replay { target: target(), run: 0, journal: ReplayJournal::Keep }).await;
    let lease = g.claimed().await.fence.lease;
    repeats(&g, "revoke", Revoke { target: target(), lease }).await;
}

pub(crate) async fn a_heartbeat_can_be_repeated(g: Fixture) {
    let hold = g.held().await.hold();
    let progress = Progress { percent: Some(50), message: None };
    let calls: [Action; 2] =
        [Renew { hold: hold.clone() }.into(), ReportProgress { hold, progress }.into()];
    for action in calls {
        let first = g.run(action.clone()).await.unwrap();
        let before = g.snapshot().await.without_versions();
        assert_eq!(g.run(action).await.unwrap(), first);
        g.snapshot().await.without_versions().assert_same(&before);
    }
}

pub(crate) async fn a_repeated_batch_answers_the_same(g: Fixture) {
    let works: Vec<_> = (0..5).map(|_| g.work()).collect();
    let commands: Vec<_> = works.into_iter().map(mint::command).collect();
    g.store().execute(commands.clone()).await;
    let before = g.snapshot().await;
    let again = g.store().execute(commands).await;
    assert!(again.iter().all(Result::is_ok));
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn work_handed_back_unseen_can_be_taken_by_the_same_call_and_ended(g: Fixture) {
    let id = g.waiting().await;
    let claim = g.claim();
    let unseen = g.take(claim.clone()).await.remove(0);
    g.hand_back(&unseen).await.unwrap();
    let seen = g.take(ClaimRequest { retry: true, ..claim }).await.remove(0);
    assert_eq!((seen.execution, seen.fence.epoch), (id, 2));
    g.renew(seen.hold()).await.unwrap();
    assert_eq!(g.complete(&seen, "done").await.unwrap(), Exited::Completed);
    assert_eq!(g.complete(&seen, "done").await.unwrap(), Exited::Completed);
}
