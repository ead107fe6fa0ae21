//! The calls of benchmarks, as workers and producers make them.

use std::sync::Arc;

use bytes::Bytes;
use ff_core::bounds::BATCH_BYTES;
use ff_core::limits::ExecutionLimits;
use ff_core::machine::{Assignment, ClaimRequest, Complete, Submit};
use ff_core::state::Worker;
use ff_core::{
    Capabilities, Lane, Millis, Namespace, Patch, Payload, PolicyOverrides, WorkerId,
    WorkerInstanceId,
};
use ff_store::{ClientBackend, StoreError, WorkerBackend, mint};

use crate::BenchError;

/// A backend with both roles: a store in process, or a server over HTTP.
pub(crate) trait Both: ClientBackend + WorkerBackend + 'static {}

impl<T: ClientBackend + WorkerBackend + ?Sized + 'static> Both for T {}

/// Submits identical executions.
#[derive(Debug, Clone)]
pub(crate) struct Producer {
    input: Payload,
    policy: PolicyOverrides,
    priority: i16,
    requires: Capabilities,
    limits: ExecutionLimits,
    lane: Lane,
}

impl Producer {
    /// Inputs of `payload` bytes, and the default policy but for its retention.
    pub(crate) fn new(payload: usize, retention: Option<Millis>) -> Producer {
        Producer {
            input: Payload::bytes(Bytes::from(vec![b'x'; payload])),
            policy: PolicyOverrides { retention, ..PolicyOverrides::default() },
            priority: 0,
            requires: Capabilities::NONE,
            limits: ExecutionLimits::default(),
            lane: Lane::default(),
        }
    }

    /// Of `most` executions, how many fit into one call.
    pub(crate) fn fitting(&self, most: u64) -> u64 {
        let fit = BATCH_BYTES / self.input.bytes.len().max(1);
        most.min(fit as u64).max(1)
    }

    /// The same executions, with this priority.
    pub(crate) fn urgent(self, priority: i16) -> Producer {
        Producer { priority, ..self }
    }

    /// The same executions, for workers that offer this.
    pub(crate) fn requiring(&self, requires: &Capabilities) -> Producer {
        Producer { requires: requires.clone(), ..self.clone() }
    }

    /// The same executions, in this lane.
    pub(crate) fn in_lane(&self, lane: &Lane) -> Producer {
        Producer { lane: lane.clone(), ..self.clone() }
    }

    /// The same executions, with these limits.
    pub(crate) fn limited(self, limits: ExecutionLimits) -> Producer {
        Producer { limits, ..self }
    }

    /// The same executions, with a deadline.
    pub(crate) fn until(mut self, deadline: Millis) -> Producer {
        self.policy.deadline = Patch::Set(deadline);
        self
    }

    /// Submits `count` executions in one call.
    pub(crate) async fn submit<B: Both + ?Sized>(
        &self,
        backend: &B,
        count: u64,
    ) -> Result<(), BenchError> {
        let namespace = Namespace::default();
        let batch = (0..count).map(|_| Submit {
            input: self.input.clone(),
            policy: self.policy.clone(),
            priority: self.priority,
            requires: self.requires.clone(),
            limits: self.limits.clone(),
            lane: self.lane.clone(),
            ..Submit::new(backend.new_id(&namespace, None))
        });
        let answers = backend.submit(batch.collect()).await?;
        answers.into_iter().collect::<Result<Vec<_>, StoreError>>()?;
        Ok(())
    }
}

/// One of the benchmark's workers.
pub(crate) struct Taker<B: ?Sized> {
    backend: Arc<B>,
    worker: Worker,
    offers: Capabilities,
    result: Payload,
    lane: Lane,
}

impl<B: Both + ?Sized> Taker<B> {
    pub(crate) fn new(backend: Arc<B>, number: usize) -> Result<Taker<B>, BenchError> {
        let instance = format!("bench-{}-{number}", std::process::id());
        let instance = WorkerInstanceId::new(instance)?;
        Ok(Taker {
            backend,
            worker: Worker { id: WorkerId::new("bench")?, instance },
            offers: Capabilities::NONE,
            result: Payload::bytes(Bytes::from(vec![b'y'; 100])),
            lane: Lane::default(),
        })
    }

    /// The same worker, in this lane.
    pub(crate) fn in_lane(self, lane: &Lane) -> Taker<B> {
        Taker { lane: lane.clone(), ..self }
    }

    /// The same worker, with these capabilities.
    pub(crate) fn offering(self, offers: Capabilities) -> Taker<B> {
        Taker { offers, ..self }
    }

    /// What it offers.
    pub(crate) fn offers(&self) -> &Capabilities {
        &self.offers
    }

    /// Claims at most `max`, waiting up to `wait`.
    pub(crate) async fn claim(
        &self,
        max: u16,
        wait: Millis,
    ) -> Result<Vec<Assignment>, BenchError> {
        let claim = ClaimRequest {
            namespace: Namespace::default(),
            lane: self.lane.clone(),
            worker: self.worker.clone(),
            capabilities: self.offers.clone(),
            request: mint::request_id(),
            max,
            retry: false,
        };
        Ok(self.backend.claim(claim, wait).await?.assignments)
    }

    /// Completes what was claimed, with 100 bytes each, and answers how many there were.
    pub(crate) async fn complete(&self, claimed: &[Assignment]) -> Result<u64, BenchError> {
        let batch = claimed
            .iter()
            .map(|assignment| Complete { hold: assignment.hold(), result: self.result.clone() });
        let answers = self.backend.complete(batch.collect()).await?;
        Ok(answers.into_iter().collect::<Result<Vec<_>, StoreError>>()?.len() as u64)
    }
}

/// The capability of one of `classes` classes; none if there are none.
pub(crate) fn class(number: usize, classes: u16) -> Result<Capabilities, BenchError> {
    match classes {
        0 => Ok(Capabilities::NONE),
        classes => Ok(Capabilities::new([format!("class-{}", number % usize::from(classes))])?),
    }
}
