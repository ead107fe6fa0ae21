//! Waits for the end of an execution: woken by every end, found by the net if nobody tells of it.

use std::time::Duration;

use ff_core::bounds::END_WAIT_MAX;
use ff_core::machine::Delete;
use ff_core::policy::{Policy, Retry};
use ff_core::state::Outcome;
use ff_core::{Code, Description, ExecutionId, Lane, Millis, PublicState};
use ff_store::ends::Waiting;
use ff_store::listing::Filter;
use ff_store::roles::{Answer, Bulk, BulkAction};
use ff_store::wakeups::Wake;
use ff_store::{ClientBackend, Store};
use tokio::task::{JoinHandle, yield_now};
use tokio::time::timeout;

use crate::fixture::{CountedReads, Fixture, Refused, failure, ms, permanent, steady};

/// A wait that has found `id` unfinished.
async fn registered(g: &Fixture, id: ExecutionId) -> Waiting {
    registered_on(&**g.store(), id).await
}

async fn registered_on(store: &dyn Store, id: ExecutionId) -> Waiting {
    let mut waiting = store.wakeups().ends().wait_for(id);
    let found = waiting.read(store).await.unwrap().expect("it exists");
    assert!(found.outcome().is_none(), "it has not ended");
    waiting
}

/// What has woken a wait up to now.
async fn woken(waiting: &mut Waiting) -> Option<Wake> {
    timeout(Duration::ZERO, waiting.woken()).await.ok()
}

fn waits(g: &Fixture, id: ExecutionId) -> JoinHandle<Answer<Description>> {
    let g = g.clone();
    tokio::spawn(async move { g.backend().wait(&g.target(id), END_WAIT_MAX).await })
}

/// Returns when so many wait for `id`.
async fn until_waiting(g: &Fixture, id: ExecutionId, count: usize) {
    while g.backend().wakeups().ends().waiting(id) != count {
        yield_now().await;
    }
}

pub(crate) async fn an_execution_that_has_ended_is_not_waited_for(g: Fixture) {
    let id = g.completed().await;
    let (counted, target) = (CountedReads::over(&g), g.target(id));
    let record = counted.engine().wait(&target, END_WAIT_MAX).await.unwrap();
    assert_eq!(record.public_state(), PublicState::Completed);
    assert_eq!(counted.reads(), 1);
    assert_eq!(g.backend().wait(&target, END_WAIT_MAX).await.unwrap(), record);
}

pub(crate) async fn what_does_not_exist_is_not_waited_for(g: Fixture) {
    let id = g.waiting().await;
    for target in [g.target(g.new_id()), g.elsewhere().target(id)] {
        let counted = CountedReads::over(&g);
        let answer = counted.engine().wait(&target, END_WAIT_MAX).await;
        assert_eq!(answer.refused(), Code::NotFound);
        assert_eq!(counted.reads(), 1);
        assert_eq!(g.backend().wait(&target, END_WAIT_MAX).await.refused(), Code::NotFound);
    }
}

pub(crate) async fn a_wait_ends_with_the_record_as_it_is_when_its_time_is_over(g: Fixture) {
    let id = g.waiting().await;
    for longest in [Millis::ZERO, ms(5)] {
        let record = g.backend().wait(&g.target(id), longest).await.unwrap();
        assert_eq!(record, g.record(id).await);
        assert_eq!(record.public_state(), PublicState::Waiting);
    }
}

pub(crate) async fn a_wait_longer_than_the_longest_is_refused(g: Fixture) {
    let id = g.waiting().await;
    let wait = Millis::new(END_WAIT_MAX.get() + 1);
    assert_eq!(g.backend().wait(&g.target(id), wait).await.refused(), Code::InvalidArgument);
}

pub(crate) async fn a_wait_ends_with_the_execution(g: Fixture) {
    let held = g.held().await;
    let waiting = waits(&g, held.execution);
    until_waiting(&g, held.execution, 1).await;
    g.complete(&held, "done").await.unwrap();
    let record = waiting.await.unwrap().unwrap();
    assert!(matches!(record.outcome(), Some((Outcome::Success { .. }, _))));
    assert_eq!(g.backend().wakeups().ends().waiting(held.execution), 0, "nobody waits any more");
}

pub(crate) async fn a_wait_that_is_given_up_leaves_nothing(g: Fixture) {
    let id = g.waiting().await;
    let waiting = waits(&g, id);
    until_waiting(&g, id, 1).await;
    waiting.abort();
    assert!(waiting.await.is_err());
    // Over HTTP it is the server that learns of it.
    until_waiting(&g, id, 0).await;
    assert_eq!(g.backend().wakeups().ends().waited_for(), []);
}

/// Every way to an end.
const WAYS: &[&str] = &[
    "completed",
    "failed for good",
    "failed once too often",
    "cancelled while it waits",
    "cancelled while it runs",
    "cancelled by its worker",
    "cancelled after a grace",
    "cancelled in bulk",
    "its deadline passes",
    "its deadline passes before a claim",
    "its lease is lost once too often",
];

/// Prepares an execution that the named thing ends; the thing itself is done when the second part runs.
async fn end_by(g: &Fixture, way: &str, ready: impl AsyncFnOnce(ExecutionId)) {
    let once = Retry { max_attempts: 1, ..steady().retry };
    let deadline = way.starts_with("its deadline").then_some(ms(5_000));
    let policy = Policy { deadline, max_reclaims: 0, retry: once, ..steady() };
    let is_held = !matches!(way, "cancelled while it waits" | "its deadline passes before a claim");
    if !is_held {
        let id = g.waiting_under(policy).await;
        ready(id).await;
        if way == "cancelled while it waits" {
            g.cancel(id, None).await.unwrap();
            return;
        }
        g.advance(ms(5_000)).await;
        assert!(g.nothing_to_claim().await, "the claim met a passed deadline");
        return;
    }
    let held = g.held_under(policy).await;
    let id = held.execution;
    ready(id).await;
    match way {
        "completed" => drop(g.complete(&held, "done").await.unwrap()),
        "failed for good" => drop(g.fail(&held, permanent("broken")).await.unwrap()),
        "failed once too often" => drop(g.fail(&held, failure("broken")).await.unwrap()),
        "cancelled while it runs" => drop(g.cancel(id, None).await.unwrap()),
        "cancelled by its worker" => drop(g.cancel_held(&held, None).await.unwrap()),
        "cancelled after a grace" => {
            g.cancel(id, Some(ms(1_000))).await.unwrap();
            g.pass(ms(1_000)).await;
        }
        "cancelled in bulk" => {
            let action = BulkAction::Cancel { grace: None, reason: None };
            let filter = Filter { lane: Some(Lane::default()), ..Filter::default() };
            let (namespace, dry_run) = (g.namespace.clone(), false);
            let bulk = Bulk { namespace, filter, action, dry_run, after: None, limit: 100 };
            g.backend().bulk(&bulk).await.unwrap();
        }
        "its lease is lost once too often" => g.pass(ms(10_000)).await,
        "its deadline passes" => g.pass(ms(5_000)).await,
        other => panic!("{other} is not a way"),
    }
}

pub(crate) async fn every_end_is_heard_of(g: Fixture) {
    for way in WAYS {
        let mut waiting = None;
        let mut ended = None;
        end_by(&g, way, async |id| {
            waiting = Some(registered(&g, id).await);
            ended = Some(id);
        })
        .await;
        let (mut waiting, id) = (waiting.unwrap(), ended.unwrap());
        assert_eq!(woken(&mut waiting).await, Some(Wake::Announced), "{way}");
        let found = waiting.read(&**g.store()).await.unwrap().unwrap();
        assert!(found.outcome().is_some(), "{way}: {:?}", found.state);
        assert_eq!(g.state(id).await, found.public_state());
    }
}

pub(crate) async fn a_removal_is_heard_of(g: Fixture) {
    for retired in [false, true] {
        let held = g.held().await;
        let mut waiting = registered(&g, held.execution).await;
        g.complete(&held, "done").await.unwrap();
        assert_eq!(woken(&mut waiting).await, Some(Wake::Announced));
        match retired {
            true => g.pass(Millis::from_days(2)).await,
            false => {
                let target = g.target(held.execution);
                g.backend().delete(Delete { target }).await.unwrap();
            }
        }
        assert_eq!(woken(&mut waiting).await, Some(Wake::Announced), "retired: {retired}");
        assert_eq!(waiting.read(&**g.store()).await.unwrap(), None);
    }
}

pub(crate) async fn what_does_not_end_an_execution_wakes_nobody(g: Fixture) {
    let id = g.waiting().await;
    let mut waiting = registered(&g, id).await;
    let held = g.claimed().await;
    g.progress(&held, 50).await.unwrap();
    g.renew(held.hold()).await.unwrap();
    g.fail(&held, failure("not yet")).await.unwrap();
    g.cancelled().await;
    // A poll may have its turn meanwhile; nothing else wakes it.
    assert_ne!(woken(&mut waiting).await, Some(Wake::Announced));
}

pub(crate) async fn an_end_between_the_read_and_the_wait_is_not_missed(g: Fixture) {
    for _ in 0..50 {
        let held = g.held().await;
        let waiting = waits(&g, held.execution);
        for _ in 0..fastrand::u32(..30) {
            yield_now().await;
        }
        g.complete(&held, "done").await.unwrap();
        assert!(waiting.await.unwrap().unwrap().outcome().is_some());
    }
}

pub(crate) async fn without_hints_the_net_finds_an_end_for_all_who_wait(g: Fixture) {
    let without_wakeups = g.without_wakeups();
    let store: &dyn Store = &**without_wakeups.store();
    let held = g.held().await;
    let mut first = registered_on(store, held.execution).await;
    let mut second = registered_on(store, held.execution).await;
    g.complete(&held, "done").await.unwrap();
    assert_eq!(first.woken().await, Wake::Poll, "it polled");
    assert_ne!(woken(&mut second).await, Some(Wake::Announced), "one polls for all");
    assert!(first.read(store).await.unwrap().unwrap().outcome().is_some());
    assert_eq!(woken(&mut second).await, Some(Wake::Announced), "the first one woke it");
    assert!(second.read(store).await.unwrap().unwrap().outcome().is_some());
}

pub(crate) async fn many_who_wait_for_one_end_share_one_read(g: Fixture) {
    const MANY: usize = 64;
    let held = g.held().await;
    let counted = CountedReads::over(&g);
    let mut waiting = Vec::new();
    for _ in 0..MANY {
        waiting.push(registered_on(counted.store(), held.execution).await);
    }
    assert_eq!(g.backend().wakeups().ends().waiting(held.execution), MANY);
    let before = counted.reads();
    g.complete(&held, "done").await.unwrap();
    for waiting in &mut waiting {
        assert_eq!(woken(waiting).await, Some(Wake::Announced));
    }
    for waiting in &mut waiting {
        let found = waiting.read(counted.store()).await.unwrap().unwrap();
        assert!(found.outcome().is_some());
    }
    assert_eq!(counted.reads() - before, 1);
}

pub(crate) async fn a_wait_after_a_replay_is_not_answered_with_the_run_before(g: Fixture) {
    let held = g.held().await;
    let id = held.execution;
    let mut before = registered(&g, id).await;
    g.complete(&held, "first").await.unwrap();
    assert_eq!(woken(&mut before).await, Some(Wake::Announced));
    assert!(before.read(&**g.store()).await.unwrap().unwrap().outcome().is_some());
    g.replay(id, 0).await.unwrap();
    let waiting = waits(&g, id);
    until_waiting(&g, id, 2).await;
    let held = g.claimed().await;
    g.complete(&held, "second").await.unwrap();
    let record = waiting.await.unwrap().unwrap();
    assert_eq!((record.run.number, record.outcome().is_some()), (1, true));
}
