//! A server whose memory is full accepts no new work, and work in progress continues to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ff_core::condition::Condition;
use ff_core::journal::ReplayJournal;
use ff_core::machine::{
    Action, Assignment, Cancel, CancelHeld, CloseWaitpoint, Complete, Delay, Fail, HandBack,
    LeaseRef, NewWaitpoint, OpenWaitpoint, RecordStep, Renew, Replay, ReportProgress, Resume,
    Revoke, SetPriority, SetTags, Signal, Submit, Suspend, Tick, WaitpointRef,
};
use ff_core::record::{Progress, Tags};
use ff_core::state::Failure;
use ff_core::suspension::{OnTimeout, SuspendReason};
use ff_core::{Category, ExecutionId, Millis, Payload, PublicState, Source, When};
use ff_store::{MaintenanceBackend, PartitionSet, Store, StoreError, WorkerBackend, mint};
use ff_testkit::report;
use ff_testkit::valkey::{Config, Server};
use tokio::task::JoinSet;

use crate::fixture::{
    self, Home, Process, claim, complete, describe, submit, submit_many, take, target, try_submit,
    until, work,
};

fn server() -> Server {
    Server::start(Config::default().with("appendfsync", "no"))
}

/// From now on the server uses more memory than it may.
fn fill(server: &Server) {
    server.command(&["CONFIG", "SET", "maxmemory", "1"]).unwrap();
}

fn make_room(server: &Server) {
    server.command(&["CONFIG", "SET", "maxmemory", "0"]).unwrap();
}

async fn run(process: &Process, action: impl Into<Action>) -> Result<(), StoreError> {
    let mut answers = process.store().execute(vec![mint::command(action)]).await;
    answers.remove(0).map(drop)
}

fn assert_full<T: std::fmt::Debug>(what: &str, answer: Result<T, StoreError>) {
    let error = answer.expect_err(what);
    assert_eq!((error.code(), error.is_retryable()), ("store_full", true), "{what}: {error}");
}

fn step(hold: LeaseRef, name: &str, result: Payload) -> RecordStep {
    RecordStep { hold, name: name.parse().unwrap(), result }
}

/// Every call of the holder of one execution each.
fn holder_calls(held: &[Assignment]) -> Vec<(&'static str, Action)> {
    let hold = |number: usize| held[number].hold();
    let (category, message) = (Category::error(), "broken".into());
    let failure = Failure { category, retryable: true, message };
    let progress = Progress { percent: Some(50), message: Some("half".into()) };
    let large = Payload::bytes(vec![7; 100_000]);
    vec![
        ("renew", Renew { hold: hold(0) }.into()),
        ("progress", ReportProgress { hold: hold(1), progress }.into()),
        ("complete", Complete { hold: hold(2), result: Payload::bytes("done") }.into()),
        ("complete with much", Complete { hold: hold(3), result: large }.into()),
        ("fail", Fail { hold: hold(4), failure }.into()),
        ("delay", Delay { hold: hold(5), until: When::After(Millis::new(700)), step: None }.into()),
        ("cancel held", CancelHeld { hold: hold(6), reason: None }.into()),
        ("hand back", HandBack { hold: hold(7) }.into()),
        ("record a step", step(hold(0), "a", Payload::bytes("paid")).into()),
        ("record a step with much", step(hold(0), "b", Payload::bytes(vec![7; 100_000])).into()),
        ("sleep", Delay { hold: hold(0), until: When::Now, step: "nap".parse().ok() }.into()),
    ]
}

/// Every call of an operator who changes or ends one execution each.
fn operator_calls(queued: &[ExecutionId], held: &Assignment) -> Vec<(&'static str, Action)> {
    let set = Tags::from([("team".parse().unwrap(), "blue".parse().unwrap())]);
    let cancelled = target(queued[0]);
    vec![
        ("cancel", Cancel { target: cancelled, grace: None, reason: None }.into()),
        ("set priority", SetPriority { target: target(queued[1]), priority: 7 }.into()),
        ("set tags", SetTags { target: target(queued[2]), set, remove: Vec::new() }.into()),
        ("revoke", Revoke { target: target(held.execution), lease: held.fence.lease }.into()),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_store_refuses_work_and_accepts_everything_else() {
    let server = server();
    let home = Home::on(&server, 4);
    let process = home.open().await;
    submit_many(&process, 10).await;
    let held = take(&process, 10).await;
    complete(&process, &held[9]).await.unwrap();
    let queued = submit_many(&process, 4).await;
    let new = work(&process);
    fill(&server);

    let before = fixture::everything(&process).await;
    assert_full("submit", try_submit(&process, new.clone()).await);
    assert_full("claim", process.claim(claim(1), Millis::ZERO).await);
    let replay = Replay { target: target(held[9].execution), run: 0, journal: ReplayJournal::Keep };
    assert_full("replay", run(&process, replay).await);
    fixture::everything(&process).await.assert_same(&before);

    for (name, action) in holder_calls(&held) {
        run(&process, action).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    for (name, action) in operator_calls(&queued, &held[8]) {
        run(&process, action).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    make_room(&server);
    assert_eq!(try_submit(&process, new.clone()).await.unwrap(), new.id);
    let taken = take(&process, 20).await;
    assert!(taken.iter().any(|assignment| assignment.execution == new.id), "{taken:?}");
    fixture::check(&process).await;
}

fn gate() -> NewWaitpoint {
    NewWaitpoint { id: mint::waitpoint_id(), key: "gate".parse().unwrap(), until: None }
}

/// A suspension until somebody sends a signal, for a tenth of a second at most.
fn parking(hold: LeaseRef) -> Suspend {
    let condition = Condition::Signal { waitpoint: gate().key, name: None };
    Suspend {
        hold,
        waitpoints: vec![gate()],
        condition,
        timeout: Some(When::After(Millis::new(100))),
        on_timeout: OnTimeout::Resume,
        reason: SuspendReason::Signal,
        message: None,
        step: "ask".parse().ok(),
        keep_if_satisfied: false,
    }
}

fn signal(to: ExecutionId) -> Signal {
    Signal {
        target: target(to),
        waitpoint: WaitpointRef::ByKey(gate().key),
        key: None,
        name: None,
        category: None,
        source: Source::new("ann").unwrap(),
        payload: Payload::bytes("yes"),
    }
}

/// Who parks frees something; a signal brings something and has to wait.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_store_parks_work_and_takes_no_signal() {
    let server = server();
    let home = Home::on(&server, 4);
    let process = home.open().await;
    submit_many(&process, 3).await;
    let held = take(&process, 3).await;
    let [first, second, third] = &held[..] else { panic!("{held:?}") };
    let open = OpenWaitpoint { hold: second.hold(), waitpoint: gate() };
    run(&process, open).await.unwrap();
    fill(&server);

    let open = OpenWaitpoint { hold: first.hold(), waitpoint: gate() };
    run(&process, open).await.unwrap();
    let before = fixture::everything(&process).await;
    assert_full("an early signal", run(&process, signal(second.execution)).await);
    fixture::everything(&process).await.assert_same(&before);
    let close = CloseWaitpoint { hold: second.hold(), key: gate().key };
    run(&process, close).await.unwrap();
    for assignment in &held {
        run(&process, parking(assignment.hold())).await.unwrap();
    }
    assert_full("a signal", run(&process, signal(first.execution)).await);
    run(&process, Resume { target: target(first.execution) }).await.unwrap();
    assert_eq!(describe(&process, first.execution).await.public_state(), PublicState::Resumable);
    run(&process, Cancel { target: target(second.execution), grace: None, reason: None })
        .await
        .unwrap();
    let due = until("a suspension to be over", async || {
        let due = process.due(&PartitionSet::All, None, 10).await.unwrap().due;
        due.into_iter().find(|(_, id)| *id == third.execution)
    });
    run(&process, Tick { execution: due.await.1 }).await.unwrap();
    assert_eq!(describe(&process, third.execution).await.public_state(), PublicState::Resumable);

    make_room(&server);
    let [again, ..] = &take(&process, 1).await[..] else { panic!("there is work") };
    let open = OpenWaitpoint { hold: again.hold(), waitpoint: gate() };
    run(&process, open).await.unwrap();
    run(&process, signal(again.execution)).await.unwrap();
    fixture::check(&process).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn timers_fire_while_the_store_is_full() {
    let server = server();
    let home = Home::on(&server, 4);
    let process = home.open().await;
    let soon = Millis::new(100);
    let mut lost: Submit = work(&process);
    lost.policy.lease_ttl = Some(soon);
    let lost = fixture::held(&process, lost).await.execution;
    let mut gone: Submit = work(&process);
    gone.policy.retention = Some(Millis::new(1));
    let gone = fixture::held(&process, gone).await;
    complete(&process, &gone).await.unwrap();
    let start = When::After(soon);
    let delayed = try_submit(&process, Submit { start, ..work(&process) }).await.unwrap();
    fill(&server);

    let due = until("everything to be due", async || {
        let due = process.due(&PartitionSet::All, None, 10).await.unwrap().due;
        (due.len() == 3).then_some(due)
    });
    for (_, execution) in due.await {
        run(&process, Tick { execution }).await.unwrap();
    }
    assert_eq!(describe(&process, lost).await.public_state(), PublicState::Waiting);
    assert_eq!(describe(&process, delayed).await.public_state(), PublicState::Waiting);
    assert!(process.store().record(gone.execution).await.unwrap().is_none());
    fixture::check(&process).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_starts_while_the_store_is_full_ends_work() {
    let server = server();
    let home = Home::on(&server, 4);
    let process = home.open().await;
    submit(&process).await;
    let held = take(&process, 1).await;
    fill(&server);
    drop(process);
    let process = home.open().await;
    complete(&process, &held[0]).await.unwrap();
    make_room(&server);
    fixture::check(&process).await;
}

/// How much more than at the start the server may use, in bytes.
const ROOM: usize = 8 << 20;
/// How much of that the arguments of a call may have been, and the answers to calls before it: the server
/// refuses a call with them, and has it back afterwards.
const LARGEST_CALL: usize = 2 << 20;
/// How much work is in progress when the memory is full.
const UNDER_WAY: u16 = 200;

#[tokio::test(flavor = "multi_thread")]
async fn under_load_the_limit_costs_submits_and_no_lease() {
    let server = server();
    let home = Home::on(&server, 64);
    let process = home.open().await;
    submit_many(&process, UNDER_WAY.into()).await;
    let held = take(&process, UNDER_WAY).await;
    assert_eq!(held.len(), usize::from(UNDER_WAY));
    let limit = used_memory(&server) + ROOM;
    server.command(&["CONFIG", "SET", "maxmemory", &limit.to_string()]).unwrap();

    let refused = Arc::new(AtomicUsize::new(0));
    let mut producers = JoinSet::new();
    for _ in 0..8 {
        let (process, refused) = (process.clone(), refused.clone());
        producers.spawn(async move {
            let mut accepted = Vec::new();
            // Each reaches the limit some times, with others in between.
            for _ in 0..10 {
                let error = loop {
                    let input = Payload::bytes(vec![7; 4_000]);
                    let submit = Submit { input, ..work(&process) };
                    match try_submit(&process, submit).await {
                        Ok(id) => accepted.push(id),
                        Err(error) => break error,
                    }
                };
                assert_eq!(error.code(), "store_full", "{error}");
                refused.fetch_add(1, Ordering::SeqCst);
            }
            accepted
        });
    }
    // Leases are kept all the while.
    let mut renewals = 0;
    while refused.load(Ordering::SeqCst) < 80 {
        let holds = held.iter().map(Assignment::hold).collect();
        for answer in process.renew(holds).await.unwrap() {
            answer.unwrap();
            renewals += 1;
        }
    }
    let accepted: Vec<_> = producers.join_all().await.into_iter().flatten().collect();
    assert!(used_memory(&server) >= limit - LARGEST_CALL, "the memory was not full");

    for assignment in &held {
        complete(&process, assignment).await.unwrap();
    }
    for id in &accepted {
        assert_eq!(describe(&process, *id).await.public_state(), PublicState::Waiting);
    }
    make_room(&server);
    submit(&process).await;
    fixture::check(&process).await;
    eprintln!(
        "{} accepted, then {} refused as full; {renewals} renewals and {} completes, none refused",
        accepted.len(),
        refused.load(Ordering::SeqCst),
        held.len()
    );
    report::count("full_refused", refused.load(Ordering::SeqCst) as u64);
    report::count("full_completed", held.len() as u64);
}

fn used_memory(server: &Server) -> usize {
    let info = server.command(&["INFO", "memory"]).unwrap().to_string();
    let line = info.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap();
    line.trim().parse().unwrap()
}
