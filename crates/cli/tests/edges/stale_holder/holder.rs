//! The holder: takes everything, waits until it is released, and tries every call.

use std::sync::Arc;

use ff_core::machine::{
    Assignment, CancelHeld, ClaimRequest, Complete, Delay, Fail, LeaseRef, ReportProgress,
};
use ff_core::record::Progress;
use ff_core::state::{Failure, Worker};
use ff_core::{
    Capabilities, Category, Lane, Millis, Namespace, Payload, When, WorkerId, WorkerInstanceId,
};
use ff_store::{EngineBackend, StoreError, mint};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::fixture::LEASES;

/// Names the store, in the environment of the holder.
pub(crate) const STORE: &str = "FF_STALE_HOLDER";

/// Every call that a holder can make.
pub(crate) const CALLS: [&str; 7] =
    ["renew", "complete", "progress", "fail", "delay", "cancel_held", "hand_back"];
/// Those that this process decides: it loads, decides and commits.
pub(crate) const DECIDED_HERE: &[&str] = CALLS.split_at(2).1;

/// How the holder tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Every call, one after the other.
    OneByOne,
    /// All calls that this process decides, at the same time.
    AtOnce,
}

/// Whether this process is a holder; if so, it has done its part.
pub(crate) fn is_this(manner: Manner) -> bool {
    let Ok(store) = std::env::var(STORE) else { return false };
    Runtime::new().unwrap().block_on(hold(&store, manner));
    true
}

async fn hold(store: &str, manner: Manner) {
    let backend = ff_backends::open(store).await.unwrap();
    let held = take(&*backend, "first").await;
    eprintln!("held {}", held.len());
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let mut tries = JoinSet::new();
    for (number, assignment) in held.iter().enumerate() {
        match manner {
            Manner::OneByOne => {
                try_and_report(backend.clone(), CALLS[number % CALLS.len()], assignment.hold())
                    .await;
            }
            Manner::AtOnce => {
                let call = DECIDED_HERE[number % DECIDED_HERE.len()];
                tries.spawn(try_and_report(backend.clone(), call, assignment.hold()));
            }
        }
    }
    tries.join_all().await;
}

/// A call whose outcome is unknown is repeated as it was sent.
async fn try_and_report(backend: Arc<dyn EngineBackend>, call: &'static str, hold: LeaseRef) {
    loop {
        match try_call(&*backend, call, hold.clone()).await {
            Ok(()) => eprintln!("tried {call} accepted"),
            Err(StoreError::Unavailable(_)) => continue,
            Err(error) => eprintln!("tried {call} {}", error.code()),
        }
        return;
    }
}

async fn try_call(
    backend: &dyn EngineBackend,
    call: &str,
    hold: LeaseRef,
) -> Result<(), StoreError> {
    match call {
        "renew" => backend.renew(vec![hold]).await?.remove(0).map(drop),
        "progress" => {
            let progress = Progress { percent: Some(99), message: None };
            backend.progress(ReportProgress { hold, progress }).await
        }
        "complete" => {
            let result = Payload::json("\"first\"");
            backend.complete(vec![Complete { hold, result }]).await?.remove(0).map(drop)
        }
        "fail" => {
            let (category, message) = (Category::error(), "too late".into());
            let failure = Failure { category, retryable: true, message };
            backend.fail(Fail { hold, failure }).await.map(drop)
        }
        "delay" => {
            let until = When::After(Millis::from_secs(1));
            backend.delay(Delay { hold, until, step: None }).await.map(drop)
        }
        "cancel_held" => backend.cancel_held(CancelHeld { hold, reason: None }).await.map(drop),
        "hand_back" => backend.hand_back(vec![hold]).await?.remove(0).map(drop),
        other => panic!("{other} is no call"),
    }
}

/// Claims all of the work.
pub(crate) async fn take(backend: &dyn EngineBackend, worker: &str) -> Vec<Assignment> {
    let claim = ClaimRequest {
        namespace: Namespace::default(),
        lane: Lane::default(),
        worker: Worker {
            id: WorkerId::new(worker).unwrap(),
            instance: WorkerInstanceId::new(worker).unwrap(),
        },
        capabilities: Capabilities::NONE,
        request: mint::request_id(),
        max: LEASES as u16,
        retry: false,
    };
    let taken = backend.claim(claim, Millis::ZERO).await.unwrap().assignments;
    assert_eq!(taken.len(), LEASES);
    taken
}
