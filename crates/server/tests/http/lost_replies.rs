//! Every call that changes something, repeated after its reply was lost, gives the first call's
//! outcome and changes nothing more.

use ff_api::client::HttpClient;
use ff_conformance::{Snapshot, snapshot};
use ff_core::journal::ReplayJournal;
use ff_core::machine::{
    Admissions, Assignment, Cancel, CancelHeld, Cancelled, ClaimGranted, ClaimRequest, Complete,
    Delay, Fail, GrantNext, Replay, ReportProgress, Revoke, SetPriority, SetTags, Submit,
};
use ff_core::record::{Exited, Progress, Tags};
use ff_core::state::Failure;
use ff_core::{Category, Millis, Payload, PublicState, When};
use ff_store::{ClientBackend, StoreError, WorkerBackend};

use super::proxy::Proxy;
use crate::fixture::{Fixture, claim, client_of, target};

/// A server behind a proxy that can cut replies.
pub(crate) struct BehindProxy {
    pub(crate) server: Fixture,
    pub(crate) proxy: Proxy,
    pub(crate) client: HttpClient,
}

impl BehindProxy {
    pub(crate) async fn new() -> BehindProxy {
        let server = Fixture::start().await;
        let proxy = Proxy::to(server.address).await;
        let client = client_of(proxy.address);
        BehindProxy { server, proxy, client }
    }

    async fn snapshot(&self) -> Snapshot {
        snapshot(&**self.server.store.store()).await.unwrap().without_versions()
    }

    /// Makes `first`, whose reply is cut, then `again`; the answer to that.
    async fn repeated<T: std::fmt::Debug>(
        &self,
        first: impl Future<Output = Result<T, StoreError>>,
        again: impl Future<Output = Result<T, StoreError>>,
    ) -> T {
        let before = self.snapshot().await;
        let cut = self.proxy.cut();
        self.proxy.cut_next(1);
        let lost = first.await.unwrap_err();
        assert!(matches!(lost, StoreError::Unanswered { .. }) && lost.is_retryable(), "{lost:?}");
        assert_eq!(self.proxy.cut(), cut + 1);
        let after = self.snapshot().await;
        assert!(!before.differences(&after).is_empty(), "the first call did its work");
        let answer = again.await.unwrap();
        self.snapshot().await.assert_same(&after);
        answer
    }

    /// The same for an exit: the call is made for a newly claimed execution.
    async fn exit<F>(&self, call: impl Fn(Assignment) -> F) -> (Exited, PublicState)
    where
        F: Future<Output = Result<Exited, StoreError>>,
    {
        let held = self.server.held().await;
        let exited = self.repeated(call(held.clone()), call(held.clone())).await;
        (exited, self.server.described(held.execution).await.public_state())
    }
}

#[tokio::test]
async fn a_repeated_submit_finds_what_the_first_made() {
    let behind = BehindProxy::new().await;
    let submit = Submit::new(behind.client.new_id(&Default::default(), None));
    let call = || behind.client.submit(vec![submit.clone()]);
    let answer = behind.repeated(call(), call()).await.remove(0).unwrap();
    assert_eq!((answer.execution, answer.created), (submit.id, false));
}

#[tokio::test]
async fn a_repeated_batch_finds_what_the_first_made() {
    let behind = BehindProxy::new().await;
    let one = || Submit::new(behind.client.new_id(&Default::default(), None));
    let batch: Vec<_> = (0..20).map(|_| one()).collect();
    let call = || behind.client.submit(batch.clone());
    for (answer, submit) in behind.repeated(call(), call()).await.into_iter().zip(&batch) {
        assert_eq!(answer.unwrap().execution, submit.id);
    }
}

#[tokio::test]
async fn a_repeated_cancel_answers_the_same() {
    let behind = BehindProxy::new().await;
    let waiting = behind.server.submitted().await;
    let cancel = |id, grace| Cancel { target: target(id), grace, reason: Some("enough".into()) };
    let call = || behind.client.cancel(cancel(waiting, None));
    assert_eq!(behind.repeated(call(), call()).await, Cancelled::Finished);
    let held = behind.server.held().await.execution;
    let grace = Some(Millis::from_secs(9));
    let call = || behind.client.cancel(cancel(held, grace));
    assert!(matches!(behind.repeated(call(), call()).await, Cancelled::Cancelling { .. }));
}

#[tokio::test]
async fn a_repeated_replay_starts_one_run() {
    let behind = BehindProxy::new().await;
    let held = behind.server.held().await;
    let complete = Complete { hold: held.hold(), result: Payload::default() };
    behind.server.store.complete(vec![complete]).await.unwrap().remove(0).unwrap();
    let call = || {
        behind.client.replay(Replay {
            target: target(held.execution),
            run: 0,
            journal: ReplayJournal::Keep,
        })
    };
    assert_eq!(behind.repeated(call(), call()).await, 1);
}

#[tokio::test]
async fn a_repeated_revoke_ends_one_lease() {
    let behind = BehindProxy::new().await;
    let held = behind.server.held().await;
    let revoke = Revoke { target: target(held.execution), lease: held.fence.lease };
    let call = || behind.client.revoke(revoke.clone());
    assert_eq!(behind.repeated(call(), call()).await, Exited::Revoked);
}

#[tokio::test]
async fn repeated_changes_of_priority_and_tags_stay_as_they_are() {
    let behind = BehindProxy::new().await;
    let id = behind.server.submitted().await;
    let call = || behind.client.set_priority(SetPriority { target: target(id), priority: 7 });
    behind.repeated(call(), call()).await;
    let tags = Tags::from([("team".parse().unwrap(), "blue".parse().unwrap())]);
    let set = SetTags { target: target(id), set: tags.clone(), remove: Vec::new() };
    let call = || behind.client.set_tags(set.clone());
    behind.repeated(call(), call()).await;
    let described = behind.server.described(id).await;
    assert_eq!((described.priority, described.tags), (7, tags));
}

#[tokio::test]
async fn a_repeated_claim_finds_the_same_lease() {
    let behind = BehindProxy::new().await;
    let ids = [behind.server.submitted().await, behind.server.submitted().await];
    let claim = ClaimRequest { max: 2, ..claim() };
    let first = behind.client.claim(claim.clone(), Millis::ZERO);
    let again = behind.client.claim(ClaimRequest { retry: true, ..claim.clone() }, Millis::ZERO);
    let claimed = behind.repeated(first, again).await.assignments;
    for (id, assignment) in ids.into_iter().zip(&claimed) {
        assert_eq!((assignment.execution, assignment.fence.epoch), (id, 1));
        let lease = behind.server.described(id).await.attempt.unwrap().lease;
        assert_eq!(lease, assignment.fence.lease);
    }
}

#[tokio::test]
async fn a_repeated_grant_reserves_once_and_its_use_gives_one_lease() {
    let behind = BehindProxy::new().await;
    let id = behind.server.submitted().await;
    let ClaimRequest { namespace, lane, worker, capabilities, request, .. } = claim();
    let ttl = Millis::from_secs(5);
    let grant = GrantNext {
        namespace,
        lane,
        worker: worker.clone(),
        capabilities,
        request,
        ttl,
        retry: false,
        at: None,
        admissions: Admissions::Any,
    };
    let again = behind.client.grant(GrantNext { retry: true, ..grant.clone() });
    let granted = behind.repeated(behind.client.grant(grant.clone()), again).await.offer.unwrap();
    assert_eq!(granted.execution, id);
    let claim = ClaimGranted { target: target(id), request, worker };
    let call = || behind.client.claim_granted(claim.clone());
    let claimed = behind.repeated(call(), call()).await.assignments.remove(0);
    assert_eq!((claimed.execution, claimed.fence.epoch), (id, 1));
}

#[tokio::test]
async fn a_repeated_renewal_lasts_as_long_as_the_first() {
    let behind = BehindProxy::new().await;
    let held = behind.server.held().await;
    behind.server.clock.advance(Millis::new(500));
    let call = || behind.client.renew(vec![held.hold()]);
    let renewed = behind.repeated(call(), call()).await.remove(0).unwrap();
    assert_eq!(renewed.until, held.until + Millis::new(500));
}

#[tokio::test]
async fn repeated_progress_is_noted_once() {
    let behind = BehindProxy::new().await;
    let held = behind.server.held().await;
    let progress = Progress { percent: Some(50), message: Some("half".into()) };
    let report = ReportProgress { hold: held.hold(), progress: progress.clone() };
    let call = || behind.client.progress(report.clone());
    behind.repeated(call(), call()).await;
    let attempt = behind.server.described(held.execution).await.attempt.unwrap();
    assert_eq!(attempt.progress, Some(progress));
}

#[tokio::test]
async fn a_repeated_completion_answers_the_same() {
    let behind = BehindProxy::new().await;
    let complete = async |held: Assignment| {
        let complete = Complete { hold: held.hold(), result: Payload::json("1") };
        behind.client.complete(vec![complete]).await?.remove(0)
    };
    let (exited, state) = behind.exit(complete).await;
    assert_eq!((exited, state), (Exited::Completed, PublicState::Completed));
}

#[tokio::test]
async fn a_repeated_failure_is_counted_once() {
    let behind = BehindProxy::new().await;
    let failure =
        Failure { category: Category::error(), retryable: true, message: "broken".into() };
    let fail =
        |held: Assignment| behind.client.fail(Fail { hold: held.hold(), failure: failure.clone() });
    let (exited, state) = behind.exit(fail).await;
    assert!(matches!(exited, Exited::Retrying { .. }) && state == PublicState::Delayed);
}

#[tokio::test]
async fn a_repeated_delay_lasts_as_long_as_the_first() {
    let behind = BehindProxy::new().await;
    let until = When::After(Millis::from_secs(5));
    let delay =
        |held: Assignment| behind.client.delay(Delay { hold: held.hold(), until, step: None });
    let (exited, state) = behind.exit(delay).await;
    assert!(matches!(exited, Exited::Delayed { .. }) && state == PublicState::Delayed);
}

#[tokio::test]
async fn a_repeated_cancel_by_the_holder_answers_the_same() {
    let behind = BehindProxy::new().await;
    let cancel = |held: Assignment| {
        behind.client.cancel_held(CancelHeld { hold: held.hold(), reason: Some("no".into()) })
    };
    let (exited, state) = behind.exit(cancel).await;
    assert_eq!((exited, state), (Exited::Cancelled, PublicState::Cancelled));
}

#[tokio::test]
async fn a_repeated_hand_back_answers_the_same() {
    let behind = BehindProxy::new().await;
    let hand_back =
        async |held: Assignment| behind.client.hand_back(vec![held.hold()]).await?.remove(0);
    let (exited, state) = behind.exit(hand_back).await;
    assert_eq!((exited, state), (Exited::HandedBack, PublicState::Resumable));
}
