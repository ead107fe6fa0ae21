//! A handler learns at once that its execution was stopped from outside, long before it would renew.

use std::time::Duration;

use ff_core::machine::{Cancel, Revoke, Submit, Target};
use ff_core::{Millis, Namespace};
use ff_sdk::{ClaimedTask, FlowFabricWorker, StopReason, WorkerConfig};
use ff_store::ClientAndWorker;
use tokio::time::timeout;

use crate::fixture::Fixture;
use crate::fixture::served::Served;

/// It would be renewed after twenty minutes.
const LEASE: Millis = Millis::from_hours(1);

/// A guard: a test that waits for a renewal fails here.
const SOON: Duration = Duration::from_secs(60);

async fn held(backend: &dyn ClientAndWorker, worker: &FlowFabricWorker) -> (Target, ClaimedTask) {
    let namespace = Namespace::default();
    let mut submit = Submit::new(backend.new_id(&namespace, None));
    submit.policy.lease_ttl = Some(LEASE);
    let target = Target { namespace, execution: submit.id };
    backend.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    (target, worker.claim_next().await.unwrap().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_holder_learns_of_a_cancel_and_of_a_revoke_at_once() {
    let fixture = Fixture::start();
    let worker = FlowFabricWorker::connect(WorkerConfig { concurrency: 3, ..fixture.config() });
    let worker = worker.await.unwrap();
    let backend = &fixture.backend;
    let at_once = Duration::from_millis(100);

    let (target, task) = held(&**backend, &worker).await;
    let grace = Some(Millis::from_secs(30));
    backend.cancel(Cancel { target, grace, reason: None }).await.unwrap();
    timeout(at_once, task.stopped()).await.unwrap();
    assert_eq!(task.stop_reason(), Some(StopReason::CancelRequested));

    let (target, task) = held(&**backend, &worker).await;
    backend.cancel(Cancel { target, grace: None, reason: None }).await.unwrap();
    timeout(at_once, task.lost()).await.unwrap();
    assert_eq!(task.stop_reason(), Some(StopReason::Cancelled));

    let (target, task) = held(&**backend, &worker).await;
    let lease = task.assignment().fence.lease;
    backend.revoke(Revoke { target, lease }).await.unwrap();
    timeout(at_once, task.lost()).await.unwrap();
    assert_eq!(task.stop_reason(), Some(StopReason::LeaseLost));
}

#[tokio::test]
async fn a_holder_behind_a_server_learns_of_a_cancel_long_before_it_renews() {
    let served = Served::start().await;
    let client = served.client(served.address.port());
    let config = WorkerConfig::new(client.clone(), "remote".parse().unwrap());
    let worker = FlowFabricWorker::connect(config).await.unwrap();
    let (target, task) = held(&*client, &worker).await;
    let grace = Some(Millis::from_secs(30));
    client.cancel(Cancel { target, grace, reason: None }).await.unwrap();
    timeout(SOON, task.stopped()).await.unwrap();
    assert_eq!(task.stop_reason(), Some(StopReason::CancelRequested));
}
