//! A store with an execution in every state, made through the roles, for planting violations.

use ff_core::journal::ReplayJournal;
use ff_core::machine::{
    Assignment, ClaimRequest, Complete, Fail, LeaseRef, RecordStep, Replay, Submit, Target,
};
use ff_core::policy::Backoff;
use ff_core::{Capabilities, ExecutionId, IdempotencyKey, Lane, Millis, Namespace, Payload, When};
use ff_store::roles::Registering;
use ff_store::{EngineBackend, mint};

use crate::fixture::{failure, permanent, worker};

/// An execution in every state, each in the lane of its name, and a registered worker. All are of the
/// default namespace.
#[derive(Debug, Clone, Copy)]
pub struct EveryState {
    /// Waits in its queue.
    pub queued: ExecutionId,
    /// Waits for a worker with the capability `gpu`.
    pub classed: ExecutionId,
    /// Waits for its time.
    pub delayed: ExecutionId,
    /// Is held, and has one entry in its journal, with a result of 101 bytes.
    pub active: ExecutionId,
    /// Has a long input, a long result and the idempotency key `order-1`.
    pub completed: ExecutionId,
    /// Has failed at its second attempt.
    pub failed: ExecutionId,
    /// Waits for its second run; the first has a long result.
    pub replayed: ExecutionId,
}

impl EveryState {
    /// The instance id of the worker.
    pub const WORKER: &'static str = "ada-1";

    /// Fills an empty store.
    pub async fn make(backend: &dyn EngineBackend) -> EveryState {
        let queued = submit(backend, work(backend, "queued")).await;
        let requires = Capabilities::new(["gpu"]).unwrap();
        let classed = submit(backend, Submit { requires, ..work(backend, "classed") }).await;
        let start = When::After(Millis::from_hours(1));
        let delayed = submit(backend, Submit { start, ..work(backend, "delayed") }).await;
        let active = submit(backend, work(backend, "active")).await;
        let (hold, name) = (take(backend, "active").await, "charge".parse().unwrap());
        backend.record_step(RecordStep { hold, name, result: charged() }).await.unwrap();
        let key = Some(IdempotencyKey::new("order-1").unwrap());
        let completed = Submit { key, input: long(), ..work(backend, "completed") };
        let completed = submit(backend, completed).await;
        complete(backend, "completed").await;
        let mut tried = work(backend, "failed");
        tried.policy.backoff = Backoff::none().into();
        let failed = submit(backend, tried).await;
        for failure in [failure("no"), permanent("no")] {
            let hold = take(backend, "failed").await;
            backend.fail(Fail { hold, failure }).await.unwrap();
        }
        let replayed = submit(backend, work(backend, "replayed")).await;
        complete(backend, "replayed").await;
        let target = Target { namespace: Namespace::default(), execution: replayed };
        assert_eq!(
            backend.replay(Replay { target, run: 0, journal: ReplayJournal::Keep }).await.unwrap(),
            1
        );
        register(backend).await;
        EveryState { queued, classed, delayed, active, completed, failed, replayed }
    }
}

/// More bytes than any store keeps in a record.
fn long() -> Payload {
    Payload::bytes(vec![7; 1_000])
}

/// The result of the recorded step.
fn charged() -> Payload {
    Payload::bytes(vec![7; 101])
}

/// Work in the lane of this name.
fn work(backend: &dyn EngineBackend, lane: &str) -> Submit {
    let id = backend.new_id(&Namespace::default(), None);
    let input = Payload::json("[1, 2]");
    Submit { lane: Lane::new(lane).unwrap(), input, ..Submit::new(id) }
}

async fn submit(backend: &dyn EngineBackend, submit: Submit) -> ExecutionId {
    backend.submit(vec![submit]).await.unwrap().remove(0).unwrap().execution
}

async fn take(backend: &dyn EngineBackend, lane: &str) -> LeaseRef {
    let claim = ClaimRequest {
        namespace: Namespace::default(),
        lane: Lane::new(lane).unwrap(),
        worker: worker("ada"),
        capabilities: Capabilities::NONE,
        request: mint::request_id(),
        max: 1,
        retry: false,
    };
    let claimed = backend.claim(claim, Millis::ZERO).await.unwrap();
    claimed.assignments.first().map(Assignment::hold).expect("its lane has work")
}

async fn complete(backend: &dyn EngineBackend, lane: &str) {
    let complete = Complete { hold: take(backend, lane).await, result: long() };
    backend.complete(vec![complete]).await.unwrap().remove(0).unwrap();
}

async fn register(backend: &dyn EngineBackend) {
    let worker = Registering {
        namespace: Namespace::default(),
        worker: worker("ada"),
        session: mint::request_id(),
        lanes: vec![Lane::default()],
        capabilities: Capabilities::NONE,
        ttl: Millis::from_hours(1),
    };
    backend.register(worker).await.unwrap();
}
