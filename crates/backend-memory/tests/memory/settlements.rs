//! A call that ends an execution is answered when its slot is free, although a task without a caller
//! settles it.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ff_backend_memory::MemoryStore;
use ff_core::limits::ExecutionLimits;
use ff_core::machine::{Action, ClaimRequest, Command, Complete, Reply, Submit};
use ff_core::quota::QuotaLimits;
use ff_core::state::Worker;
use ff_core::{Capabilities, Lane, Millis, Namespace, Payload, ResourceName};
use ff_store::roles::Engine;
use ff_store::{ClientBackend, LimitsBackend, Store, StoreError, WorkerBackend, mint};
use ff_testkit::{Forward, Forwarding, ManualClock};
use tokio::time::timeout;

/// Answers completions after a start was reported, and settlements much later.
struct Slow(MemoryStore);

#[async_trait]
impl Forward for Slow {
    fn beneath(&self) -> &dyn Store {
        &self.0
    }

    async fn execute(&self, batch: Vec<Command>) -> Vec<Result<Reply, StoreError>> {
        let has = |is: fn(&Action) -> bool| batch.iter().any(|command| is(&command.action));
        let completes = has(|action| matches!(action, Action::Complete(_)));
        if has(|action| matches!(action, Action::Admit(admit) if !admit.settlements.is_empty())) {
            pass(Duration::from_secs(1)).await;
        }
        let answers = self.0.execute(batch).await;
        if completes {
            pass(Duration::from_millis(100)).await;
        }
        answers
    }
}

/// Lets virtual time pass.
async fn pass(time: Duration) {
    let _ = timeout(time, pending::<()>()).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_a_settlement_that_the_report_of_its_start_makes() {
    let store = MemoryStore::serial(Arc::new(ManualClock::default()));
    let engine = Engine::new(Forwarding(Slow(store)));
    let (namespace, api) = (Namespace::default(), ResourceName::new("api").unwrap());
    let limits = QuotaLimits {
        max_requests: Some(1),
        window: Millis::from_secs(10),
        max_active: Some(1),
        jitter: Millis::ZERO,
    };
    engine.put_quota(&namespace, &api, limits).await.unwrap();
    let quotas = [api.clone()].into();
    let limits = ExecutionLimits { quotas, ..ExecutionLimits::default() };
    let submit = Submit { limits, ..Submit::new(engine.new_id(&namespace, None)) };
    engine.submit(vec![submit]).await.unwrap();
    let claim = ClaimRequest {
        namespace: namespace.clone(),
        lane: Lane::default(),
        worker: Worker { id: "ada".parse().unwrap(), instance: "ada-1".parse().unwrap() },
        capabilities: Capabilities::NONE,
        request: mint::request_id(),
        max: 1,
        retry: false,
    };
    let taken = engine.claim(claim, Millis::ZERO).await.unwrap().assignments.remove(0);
    let complete = Complete { hold: taken.hold(), result: Payload::bytes("done") };
    engine.complete(vec![complete]).await.unwrap().remove(0).unwrap();
    assert_eq!(engine.quota(&namespace, &api).await.unwrap().active, 0);
}
