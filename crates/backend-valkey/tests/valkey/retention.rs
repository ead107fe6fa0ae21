//! When retention is over, nothing on the server names an execution any more.

use ff_conformance::TestClock;
use ff_core::collection::{Collection, ElementName};
use ff_core::journal::ReplayJournal;
use ff_core::machine::{
    Assignment, Cancel, ClaimRequest, Command, Complete, Fail, Replay, Submit, Target, Toy,
};
use ff_core::policy::{Backoff, Policy, Retry};
use ff_core::state::Failure;
use ff_core::{Capabilities, Category, IdempotencyKey, Lane, Millis, Namespace, Payload};
use ff_store::partition_set::PartitionSet;
use ff_store::{ClientBackend, MaintenanceBackend, Store, WorkerBackend};
use ff_testkit::valkey::Server;

use crate::fixture::{self, Home, Process, check};

const RETENTION: Millis = Millis::from_days(2);

/// How many timers fire at a time.
const SLICE: usize = 100;

/// More bytes than a record keeps.
fn long() -> Payload {
    Payload::bytes(vec![7; 1_000])
}

/// Work of a tenant, in a lane that others share.
fn work(process: &Process, n: usize) -> Submit {
    let namespace = Namespace::new(["acme", "rival", "third"][n % 3]).unwrap();
    let retry = Retry { max_attempts: 3, backoff: Backoff::none(), categories: None };
    let key = n.is_multiple_of(4).then(|| IdempotencyKey::new(format!("order-{n}")).unwrap());
    Submit {
        lane: Lane::new(format!("lane-{}", n % 7)).unwrap(),
        input: if n.is_multiple_of(2) { long() } else { Payload::bytes("short") },
        requires: Capabilities::new(if n.is_multiple_of(5) { &["gpu"][..] } else { &[] }).unwrap(),
        policy: Policy { retry, retention: RETENTION, ..Policy::default() }.into(),
        key: key.clone(),
        namespace: namespace.clone(),
        ..Submit::new(process.new_id(&namespace, key.as_ref()))
    }
}

async fn take(process: &Process, of: &Submit) -> Assignment {
    let (namespace, lane) = (of.namespace.clone(), of.lane.clone());
    let capabilities = Capabilities::new(["gpu"]).unwrap();
    let claim = ClaimRequest { namespace, lane, capabilities, ..fixture::claim(1) };
    process.claim(claim, Millis::ZERO).await.unwrap().assignments.pop().expect("there is work")
}

async fn complete(process: &Process, of: &Submit, result: Payload) {
    let hold = take(process, of).await.hold();
    process.complete(vec![Complete { hold, result }]).await.unwrap().remove(0).unwrap();
}

async fn fail(process: &Process, of: &Submit, retryable: bool) {
    let hold = take(process, of).await.hold();
    let failure = Failure { category: Category::error(), retryable, message: "no".into() };
    process.fail(Fail { hold, failure }).await.unwrap();
}

/// An execution that has reached one of its ends, with everything it has gathered.
async fn end(process: &Process, n: usize) {
    let submit = work(process, n);
    let target = Target { namespace: submit.namespace.clone(), execution: submit.id };
    process.submit(vec![submit.clone()]).await.unwrap().remove(0).unwrap();
    if n.is_multiple_of(3) {
        for into in [Collection::Steps, Collection::Frames, Collection::Frames] {
            let name = Some(ElementName::new("name", "charge").unwrap());
            let action =
                Toy { target: target.clone(), into, name, parts: Vec::new(), follower: None };
            let action = action.into();
            let command = Command { entropy: 7, by: None, action };
            process.store().execute(vec![command]).await.remove(0).unwrap();
        }
    }
    match n % 6 {
        0 => complete(process, &submit, Payload::bytes("done")).await,
        1 => complete(process, &submit, long()).await,
        2 => {
            fail(process, &submit, true).await;
            fail(process, &submit, true).await;
            fail(process, &submit, false).await;
        }
        3 => {
            complete(process, &submit, long()).await;
            process
                .replay(Replay { target: target.clone(), run: 0, journal: ReplayJournal::Keep })
                .await
                .unwrap();
            complete(process, &submit, Payload::bytes("again")).await;
            process.replay(Replay { target, run: 1, journal: ReplayJournal::Keep }).await.unwrap();
            fail(process, &submit, false).await;
        }
        4 => {
            take(process, &submit).await;
            process.cancel(Cancel { target, grace: None, reason: None }).await.unwrap();
        }
        _ => {
            process.cancel(Cancel { target, grace: None, reason: None }).await.unwrap();
        }
    }
}

/// Every key that begins with `prefix`.
fn keys(server: &Server, prefix: &str) -> Vec<String> {
    let (mut all, mut cursor) = (Vec::new(), "0".to_owned());
    loop {
        let words = ["SCAN", &cursor, "MATCH", &format!("{prefix}:*"), "COUNT", "1000"];
        let page = server.command(&words).unwrap();
        all.extend(page.list()[1].list().iter().map(ToString::to_string));
        cursor = page.list()[0].to_string();
        if cursor == "0" {
            return all;
        }
    }
}

/// Fires all due timers, a slice at a time. Answers how many timers each slice had.
async fn fire_due_timers(process: &Process) -> Vec<usize> {
    let mut slices = Vec::new();
    loop {
        let due = process.due(&PartitionSet::All, None, SLICE).await.unwrap().due;
        if due.is_empty() {
            return slices;
        }
        slices.push(due.len());
        let ids = due.into_iter().map(|(_, id)| id).collect();
        for ticked in process.tick(ids).await.unwrap() {
            ticked.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_retention_only_configuration_is_left() {
    let server = Server::shared();
    let (home, process, clock) = Home::on(server, 4).open_with_clock(server).await;
    let prefix = home.options.prefix.as_str();
    const COUNT: usize = 420;
    for n in 0..COUNT {
        end(&process, n).await;
    }
    check(&process).await;
    assert!(keys(server, prefix).len() > COUNT);
    clock.advance(RETENTION).await;
    let slices = fire_due_timers(&process).await;
    assert_eq!(slices.iter().sum::<usize>(), COUNT);
    assert!(slices.iter().all(|slice| *slice <= 6 * SLICE), "{slices:?}");
    assert_eq!(keys(server, prefix), [format!("{prefix}:config:partitions")]);
    // The store continues, with everything to register again.
    end(&process, 3).await;
    check(&process).await;
    assert_eq!(fixture::everything(&process).await.records.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn retention_removes_nothing_that_others_need() {
    let server = Server::shared();
    let (home, process, clock) = Home::on(server, 1).open_with_clock(server).await;
    let prefix = home.options.prefix.as_str();
    let waiting = work(&process, 1);
    process.submit(vec![waiting.clone()]).await.unwrap().remove(0).unwrap();
    let before = (fixture::everything(&process).await, keys(server, prefix));
    let other = Lane::new("other").unwrap();
    let gone = Submit { lane: other, ..work(&process, 7) };
    process.submit(vec![gone.clone()]).await.unwrap().remove(0).unwrap();
    complete(&process, &gone, long()).await;
    clock.advance(RETENTION).await;
    assert_eq!(fire_due_timers(&process).await, [1]);
    fixture::everything(&process).await.assert_same(&before.0);
    assert_eq!(keys(server, prefix).len(), before.1.len());
    assert_eq!(process.store().repair().await.unwrap().fixed(), 0);
    assert_eq!(take(&process, &waiting).await.execution, waiting.id);
}
