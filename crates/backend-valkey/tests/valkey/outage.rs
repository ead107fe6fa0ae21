//! Servers that go down and return, and lost replies.

use std::time::Duration;

use ff_core::bounds::CLAIM_WAIT_MAX;
use ff_core::journal::ReplayJournal;
use ff_core::machine::{
    Action, Admissions, Cancel, CancelHeld, ClaimRequest, Complete, Delay, Fail, GrantNext,
    HandBack, LeaseRef, Renew, Replay, Reply, ReportProgress, Revoke, SetPriority, SetTags, Submit,
};
use ff_core::policy::Backoff;
use ff_core::record::{Progress, Tags};
use ff_core::state::Failure;
use ff_core::{Category, ExecutionId, Millis, Payload, When};
use ff_store::{MaintenanceBackend, Store, StoreError, WorkerBackend, mint};
use ff_testkit::proxy::{Mode, Proxy};
use ff_testkit::report;
use ff_testkit::valkey::{Config, Server};
use tokio::task::yield_now;

use crate::fixture::{
    self, Home, Process, TIMEOUT, claim, complete, held, submit_many, take, target, try_submit,
    until, work,
};

async fn run(process: &Process, action: Action) -> Result<Reply, StoreError> {
    process.store().execute(vec![mint::command(action)]).await.remove(0)
}

/// The execution of a call, and its hold if it has one.
#[derive(Clone)]
struct Of {
    id: ExecutionId,
    hold: Option<LeaseRef>,
}

/// A call, the function that writes it, and whether it needs the work to be held or finished.
type Row = (&'static str, &'static str, State, fn(&Of) -> Action);

#[derive(Clone, Copy, PartialEq)]
enum State {
    Queued,
    Held,
    Finished,
}

/// Every call that changes an existing execution.
const CALLS: &[Row] = &[
    ("complete", "_complete", State::Held, |of| {
        Complete { hold: hold(of), result: Payload::bytes("done") }.into()
    }),
    ("renew", "_renew", State::Held, |of| Renew { hold: hold(of) }.into()),
    ("progress", "_commit_freeing", State::Held, |of| {
        let progress = Progress { percent: Some(50), message: None };
        ReportProgress { hold: hold(of), progress }.into()
    }),
    ("fail", "_commit_freeing", State::Held, |of| {
        let (category, message) = (Category::error(), "broken".into());
        Fail { hold: hold(of), failure: Failure { category, retryable: true, message } }.into()
    }),
    ("delay", "_commit_freeing", State::Held, |of| {
        Delay { hold: hold(of), until: When::After(Millis::new(700)), step: None }.into()
    }),
    ("cancel held", "_commit_freeing", State::Held, |of| {
        CancelHeld { hold: hold(of), reason: None }.into()
    }),
    ("hand back", "_commit_freeing", State::Held, |of| HandBack { hold: hold(of) }.into()),
    ("revoke", "_commit_freeing", State::Held, |of| {
        Revoke { target: target(of.id), lease: hold(of).fence.lease }.into()
    }),
    ("cancel queued", "_commit_freeing", State::Queued, |of| cancel(of, None)),
    ("cancel held with grace", "_commit_freeing", State::Held, |of| {
        cancel(of, Some(Millis::from_secs(5)))
    }),
    ("set priority", "_commit_freeing", State::Queued, |of| {
        SetPriority { target: target(of.id), priority: 7 }.into()
    }),
    ("set tags", "_commit_freeing", State::Queued, |of| {
        let set = Tags::from([("team".parse().unwrap(), "blue".parse().unwrap())]);
        SetTags { target: target(of.id), set, remove: Vec::new() }.into()
    }),
    ("replay", "_commit", State::Finished, |of| {
        Replay { target: target(of.id), run: 0, journal: ReplayJournal::Keep }.into()
    }),
];

fn hold(of: &Of) -> LeaseRef {
    of.hold.clone().expect("it is held")
}

fn cancel(of: &Of, grace: Option<Millis>) -> Action {
    Cancel { target: target(of.id), grace, reason: None }.into()
}

/// Work in the state that a call needs.
async fn prepared(process: &Process, state: State) -> Of {
    let mut submit = work(process);
    submit.policy.backoff = Backoff::fixed(Millis::from_secs(1)).into();
    if state == State::Queued {
        return Of { id: try_submit(process, submit).await.unwrap(), hold: None };
    }
    let assignment = held(process, submit).await;
    if state == State::Finished {
        complete(process, &assignment).await.unwrap();
    }
    Of { id: assignment.execution, hold: Some(assignment.hold()) }
}

/// A store that one process reaches through a proxy that loses replies.
struct BehindProxy {
    proxy: Proxy,
    far: Process,
    near: Process,
}

impl BehindProxy {
    async fn new() -> BehindProxy {
        let server = Server::shared();
        let proxy = Proxy::to(server.port());
        let (home, near, _) = Home::on(server, 4).open_with_clock(server).await;
        let far = home.through(proxy.port()).open().await;
        BehindProxy { proxy, far, near }
    }

    /// Makes a call whose `function` runs and whose reply is lost.
    async fn lose_reply(&self, name: &str, function: &str, action: Action) {
        let before = fixture::everything(&self.near).await;
        self.proxy.set_at(function, Mode::CutAfterRequest);
        let error = run(&self.far, action).await.expect_err(name);
        assert_eq!((error.code(), error.is_retryable()), ("store_unavailable", true), "{error}");
        assert_eq!(self.proxy.mode(), Mode::CutAfterRequest, "{name} was not written");
        self.proxy.set(Mode::Forward);
        let after = fixture::everything(&self.near).await;
        assert!(after != before, "{name} took no effect");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_reply_was_lost_can_be_repeated() {
    let behind = BehindProxy::new().await;
    for (name, function, state, call) in CALLS {
        // The expected answer, from a twin whose reply is not lost.
        let twin = prepared(&behind.near, *state).await;
        let expected = run(&behind.near, call(&twin)).await.unwrap();
        behind.settle(&twin).await;

        let of = prepared(&behind.near, *state).await;
        behind.lose_reply(name, function, call(&of)).await;
        let after = fixture::everything(&behind.near).await;
        assert_eq!(run(&behind.far, call(&of)).await.unwrap(), expected, "{name}");
        let again = fixture::everything(&behind.near).await;
        match *name {
            // A repeated heartbeat may count one more.
            "renew" | "progress" => again.without_versions().assert_same(&after.without_versions()),
            _ => again.assert_same(&after),
        }
        behind.settle(&of).await;
        report::count("lost_replies", 1);
    }
    fixture::check(&behind.near).await;
}

impl BehindProxy {
    /// Ends what a call left, so that it does not affect the next one.
    async fn settle(&self, of: &Of) {
        let _ = run(&self.near, cancel(of, None)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submit_whose_reply_was_lost_can_be_repeated() {
    let behind = BehindProxy::new().await;
    let submit = Submit { input: Payload::bytes("input"), ..work(&behind.far) };
    behind.lose_reply("submit", "_submit", submit.clone().into()).await;
    let after = fixture::everything(&behind.near).await;
    let again = run(&behind.far, submit.clone().into()).await.unwrap();
    let Reply::Submitted(again) = again else { panic!("{again:?}") };
    assert_eq!((again.execution, again.created), (submit.id, false));
    fixture::everything(&behind.near).await.assert_same(&after);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_whose_reply_was_lost_is_answered_again() {
    let behind = BehindProxy::new().await;
    submit_many(&behind.near, 40).await;
    let once = claim(5);
    behind.lose_reply("claim", "_claim", once.clone().into()).await;
    let after = fixture::everything(&behind.near).await;
    let again = ClaimRequest { retry: true, ..once };
    let Reply::Claimed(claimed) = run(&behind.far, again.into()).await.unwrap() else { panic!() };
    fixture::everything(&behind.near).await.assert_same(&after);
    let active = after.records.values().filter(|record| record.lease().is_some());
    let mut leased: Vec<_> = active.map(|record| record.id).collect();
    let mut taken: Vec<_> = claimed.assignments.iter().map(|one| one.execution).collect();
    leased.sort();
    taken.sort();
    assert!(!taken.is_empty());
    assert_eq!(taken, leased, "what the lost one took, and no more");
    for assignment in &claimed.assignments {
        complete(&behind.far, assignment).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_whose_reply_was_lost_is_answered_again() {
    let behind = BehindProxy::new().await;
    submit_many(&behind.near, 10).await;
    let ClaimRequest { namespace, lane, worker, capabilities, request, .. } = claim(1);
    let ttl = Millis::from_secs(5);
    let once = GrantNext {
        namespace,
        lane,
        worker,
        capabilities,
        request,
        ttl,
        retry: false,
        at: None,
        admissions: Admissions::Any,
    };
    behind.lose_reply("grant", "_commit", once.clone().into()).await;
    let after = fixture::everything(&behind.near).await;
    let again = GrantNext { retry: true, ..once };
    let Reply::Granted(granted) = run(&behind.far, again.into()).await.unwrap() else { panic!() };
    assert!(granted.offer.is_some());
    fixture::everything(&behind.near).await.assert_same(&after);
}

/// A server that has on disk what it acknowledges: one that syncs every second may delay writing
/// while it does, and a kill then loses what it has acknowledged meanwhile.
fn durable() -> Server {
    Server::start(Config::default().with("appendfsync", "always"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_claim_survives_a_restart_of_the_server() {
    let server = durable();
    let home = Home::on(&server, 64);
    let (producer, consumer) = (home.open().await, home.open().await);
    home.until_subscribed_by(&server, 2).await;
    for round in 0..5 {
        let waiting = tokio::spawn({
            let consumer = consumer.clone();
            async move { consumer.claim(claim(1), CLAIM_WAIT_MAX).await }
        });
        while !consumer.wakeups().anybody_waits() {
            yield_now().await;
        }
        server.kill();
        server.restart();
        // The call waits for the connection.
        let id = fixture::submit(&producer).await;
        let claimed = tokio::time::timeout(TIMEOUT, waiting).await.expect("it is called");
        let taken = claimed.unwrap().unwrap().assignments;
        assert_eq!(
            taken[0].execution,
            id,
            "round {round} {taken:?} {:?} {}",
            fixture::describe(&producer, taken[0].execution).await,
            server.command(&["INFO", "persistence"]).unwrap()
        );
        complete(&consumer, &taken[0]).await.unwrap();
    }
    fixture::check(&producer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_reports_an_outage_of_its_server_and_recovers_with_it() {
    let server = durable();
    let mut home = Home::on(&server, 4);
    home.options.request_timeout = Duration::from_millis(500);
    let process = home.open().await;
    let before = fixture::submit(&process).await;
    server.kill();
    let late = work(&process);
    for _ in 0..2 {
        let error = try_submit(&process, late.clone()).await.unwrap_err();
        assert_eq!((error.code(), error.is_retryable()), ("store_unavailable", true), "{error}");
        let error = process.claim(claim(1), CLAIM_WAIT_MAX).await.unwrap_err();
        assert_eq!((error.code(), error.is_retryable()), ("store_unavailable", true), "{error}");
    }
    server.restart();
    let again =
        until("the store to come back", async || try_submit(&process, late.clone()).await.ok());
    assert_eq!(again.await, late.id);
    let mut taken: Vec<_> = take(&process, 5).await.iter().map(|one| one.execution).collect();
    taken.sort();
    assert_eq!(taken, [before, late.id]);
    fixture::check(&process).await;
}
