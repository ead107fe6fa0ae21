//! A process that is stopped between its load and its commit, past its lease, changes nothing.
//!
//! The proxy delays the commit, like a process that is stopped after its decision.

use ff_conformance::TestClock;
use ff_core::machine::{
    Action, Assignment, CancelHeld, Complete, Delay, Fail, HandBack, LeaseRef, Renew,
    ReportProgress, Submit,
};
use ff_core::record::Progress;
use ff_core::state::Failure;
use ff_core::{Category, ExecutionId, Millis, Payload, PublicState, When};
use ff_store::{MaintenanceBackend, Store, StoreError, mint};
use ff_testkit::proxy::{Mode, Proxy};
use ff_testkit::report;
use ff_testkit::valkey::Server;

use crate::fixture::{self, Home, LuaClock, Process, complete, held, take, until, work};

const LEASE: Millis = Millis::from_secs(10);
/// Longer than a decision may wait to be written, and shorter than a lease.
const TOO_OLD: Millis = Millis::from_secs(2);

const CALLS: usize = 7;

/// Every call that a holder can make, and the function that writes it.
fn calls(hold: &LeaseRef) -> [(&'static str, Action); CALLS] {
    let hold = || hold.clone();
    let failure = Failure { category: Category::error(), retryable: true, message: "late".into() };
    let progress = Progress { percent: Some(50), message: None };
    [
        ("_renew", Renew { hold: hold() }.into()),
        ("_complete", Complete { hold: hold(), result: Payload::bytes("late") }.into()),
        ("_commit_freeing", ReportProgress { hold: hold(), progress }.into()),
        ("_commit_freeing", Fail { hold: hold(), failure }.into()),
        (
            "_commit_freeing",
            Delay { hold: hold(), until: When::After(Millis::new(700)), step: None }.into(),
        ),
        ("_commit_freeing", CancelHeld { hold: hold(), reason: None }.into()),
        ("_commit_freeing", HandBack { hold: hold() }.into()),
    ]
}

/// A store that one process reaches through a proxy, and another directly.
struct BehindProxy {
    proxy: Proxy,
    stopped: Process,
    other: Process,
    clock: LuaClock,
}

impl BehindProxy {
    async fn new() -> BehindProxy {
        let server = Server::shared();
        let proxy = Proxy::to(server.port());
        let (home, other, clock) = Home::on(server, 4).open_with_clock(server).await;
        let stopped = home.through(proxy.port()).open().await;
        BehindProxy { proxy, stopped, other, clock }
    }

    async fn hold(&self) -> Assignment {
        let mut submit: Submit = work(&self.stopped);
        submit.policy.lease_ttl = Some(LEASE);
        held(&self.stopped, submit).await
    }

    /// Makes a call whose `function` reaches the server only after `meanwhile`.
    async fn held_back(
        &self,
        function: &str,
        action: Action,
        meanwhile: impl AsyncFnOnce(),
    ) -> Result<(), StoreError> {
        self.proxy.set_at(function, Mode::Hold);
        let stopped = self.stopped.clone();
        let call = tokio::spawn(async move {
            let mut answers = stopped.store().execute(vec![mint::command(action)]).await;
            answers.remove(0).map(drop)
        });
        let written = async || (self.proxy.mode() == Mode::Hold).then_some(());
        until("the call to be held back", written).await;
        meanwhile().await;
        self.proxy.set(Mode::Forward);
        call.await.unwrap()
    }

    /// Fires due timers.
    async fn tick(&self, id: ExecutionId) {
        self.other.tick(vec![id]).await.unwrap().remove(0).unwrap();
    }

    /// Claims what the stopped process held.
    async fn take_over(&self) -> Assignment {
        take(&self.other, 1).await.pop().expect("the lease is over")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_after_its_lease_is_refused_as_stale() {
    let behind = BehindProxy::new().await;
    let mut tried = 0;
    for case in ["the lease is over", "another holds it", "another has completed it"] {
        for number in 0..CALLS {
            let assignment = behind.hold().await;
            let id = assignment.execution;
            let (function, action) = calls(&assignment.hold())[number].clone();
            let call = format!("{action:?} when {case}");
            let mut before = None;
            let answer = behind.held_back(function, action, async || {
                behind.clock.advance(LEASE).await;
                if case != "the lease is over" {
                    behind.tick(id).await;
                    let taken = behind.take_over().await;
                    if case == "another has completed it" {
                        complete(&behind.other, &taken).await.unwrap();
                    }
                }
                before = Some(fixture::everything(&behind.other).await);
            });
            let error = answer.await.expect_err(&call);
            assert_eq!(error.code(), "stale_lease", "{call}: {error}");
            fixture::everything(&behind.other).await.assert_same(&before.unwrap());
            tried += 1;
            if case == "the lease is over" {
                behind.tick(id).await;
                complete(&behind.other, &behind.take_over().await).await.unwrap();
            }
        }
    }
    fixture::check(&behind.other).await;
    report::count("stale_commits", tried);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_decision_is_made_again_while_the_lease_lasts() {
    let behind = BehindProxy::new().await;
    let assignment = behind.hold().await;
    let (category, message) = (Category::error(), "broken".into());
    let failure = Failure { category, retryable: false, message };
    let fail = Fail { hold: assignment.hold(), failure };
    let answer = behind.held_back("_commit_freeing", fail.into(), async || {
        behind.clock.advance(TOO_OLD).await;
    });
    answer.await.unwrap();
    let view = fixture::describe(&behind.other, assignment.execution).await;
    let (_, ended) = view.outcome().expect("it has failed");
    assert_eq!(view.public_state(), PublicState::Failed);
    assert_eq!(ended, behind.clock.now().await, "it is of the moment it was written");
    fixture::check(&behind.other).await;
}
