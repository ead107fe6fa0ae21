//! A connected worker: permits, claims and one heartbeat.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ff_core::machine::{Assignment, Claim, ClaimGranted, GrantOffer, Target};
use ff_core::state::Worker;
use ff_core::{Lane, Millis};
use ff_store::{WorkerBackend, mint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::WorkerConfig;
use crate::error::SdkError;
use crate::heartbeat::Heartbeat;
use crate::retry::Backoff;
use crate::task::ClaimedTask;

/// A connected worker. A permit is taken before anything is claimed and travels with the task.
pub struct FlowFabricWorker {
    config: WorkerConfig,
    permits: Arc<Semaphore>,
    heartbeat: Arc<Heartbeat>,
    turn: AtomicUsize,
}

impl FlowFabricWorker {
    /// Checks the configuration and that the backend answers.
    pub async fn connect(config: WorkerConfig) -> Result<FlowFabricWorker, SdkError> {
        if config.lanes.is_empty() {
            return Err(SdkError::Config("give it at least one lane".into()));
        }
        if config.concurrency == 0 || config.concurrency > Semaphore::MAX_PERMITS {
            return Err(SdkError::Config("concurrency must be at least 1".into()));
        }
        reach(&*config.backend, config.connect_timeout).await?;
        tracing::info!(
            worker = %config.worker,
            instance = %config.instance,
            lanes = ?config.lanes,
            capabilities = %config.capabilities,
            "worker connected"
        );
        Ok(FlowFabricWorker {
            permits: Arc::new(Semaphore::new(config.concurrency)),
            heartbeat: Arc::new(Heartbeat::start(config.backend.clone())),
            turn: AtomicUsize::new(0),
            config,
        })
    }

    /// How it was configured.
    pub fn config(&self) -> &WorkerConfig {
        &self.config
    }

    /// Where the work is.
    pub fn backend(&self) -> &Arc<dyn WorkerBackend> {
        &self.config.backend
    }

    /// Claims one task from the next of its lanes, waiting up to the poll interval. Without a free
    /// permit it answers [`SdkError::WorkerAtCapacity`] and claims nothing.
    pub async fn claim_next(&self) -> Result<Option<ClaimedTask>, SdkError> {
        let permit = self.permit()?;
        let tasks = self.claim(vec![permit]).await?;
        Ok(tasks.into_iter().next())
    }

    /// Claims up to as many tasks as permits are free, waiting up to the poll interval.
    pub async fn claim_many(&self, most: usize) -> Result<Vec<ClaimedTask>, SdkError> {
        let mut permits = vec![self.permit()?];
        while permits.len() < most.min(ff_core::limits::CLAIM) {
            match self.permit() {
                Ok(permit) => permits.push(permit),
                Err(_) => break,
            }
        }
        self.claim(permits).await
    }

    /// Waits until a permit is free.
    pub async fn ready(&self) {
        // The semaphore is never closed.
        drop(self.permits.acquire().await);
    }

    /// Turns a grant into a task. Without a free permit the grant is untouched.
    pub async fn claim_from_grant(&self, grant: &GrantOffer) -> Result<ClaimedTask, SdkError> {
        let permit = self.permit()?;
        let target =
            Target { namespace: self.config.namespace.clone(), execution: grant.execution };
        let claim = ClaimGranted { target, request: grant.request, worker: self.name() };
        let claimed = self.config.backend.claim_granted(claim).await?;
        let assignment = claimed.assignments.into_iter().next();
        let assignment = assignment.ok_or(ff_core::Refusal::StaleGrant)?;
        Ok(self.task(assignment, permit))
    }

    /// Looks at every lane once, beginning with the next in turn, then waits on that one.
    async fn claim(
        &self,
        permits: Vec<OwnedSemaphorePermit>,
    ) -> Result<Vec<ClaimedTask>, SdkError> {
        let lanes = &self.config.lanes;
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let most = permits.len().try_into().unwrap_or(u16::MAX);
        let mut claimed = Vec::new();
        if lanes.len() > 1 {
            for step in 0..lanes.len() {
                claimed = self
                    .claim_lane(&lanes[(turn + step) % lanes.len()], most, Millis::ZERO)
                    .await?;
                if !claimed.is_empty() {
                    break;
                }
            }
        }
        if claimed.is_empty() {
            let wait = (self.config.poll_interval / lanes.len() as u32).as_millis();
            let wait = Millis::new(wait.try_into().unwrap_or(u64::MAX));
            claimed = self.claim_lane(&lanes[turn % lanes.len()], most, wait).await?;
        }
        let tasks = claimed.into_iter().zip(permits);
        Ok(tasks.map(|(assignment, permit)| self.task(assignment, permit)).collect())
    }

    async fn claim_lane(
        &self,
        lane: &Lane,
        max: u16,
        wait: Millis,
    ) -> Result<Vec<Assignment>, SdkError> {
        let claim = Claim {
            namespace: self.config.namespace.clone(),
            lane: lane.clone(),
            worker: self.name(),
            capabilities: self.config.capabilities.clone(),
            request: mint::request_id(),
            max,
            first: 0,
            retry: false,
        };
        let claimed = match self.config.backend.claim(claim.clone(), wait).await {
            // The reply was lost: what the first call took is found by its request.
            Err(error) if error.is_retryable() => {
                let again = Claim { retry: true, ..claim };
                self.config.backend.claim(again, Millis::ZERO).await?
            }
            answer => answer?,
        };
        Ok(claimed.assignments)
    }

    fn permit(&self) -> Result<OwnedSemaphorePermit, SdkError> {
        self.permits.clone().try_acquire_owned().map_err(|_| SdkError::WorkerAtCapacity)
    }

    fn task(&self, assignment: Assignment, permit: OwnedSemaphorePermit) -> ClaimedTask {
        let backend = self.config.backend.clone();
        ClaimedTask::new(assignment, backend, self.heartbeat.clone(), permit)
    }

    fn name(&self) -> Worker {
        Worker { id: self.config.worker.clone(), instance: self.config.instance.clone() }
    }
}

/// Tries to reach the backend until it answers or time is up.
async fn reach(backend: &dyn WorkerBackend, timeout: std::time::Duration) -> Result<(), SdkError> {
    let give_up = tokio::time::Instant::now() + timeout;
    let mut backoff = Backoff::default();
    loop {
        match backend.ping().await {
            Ok(()) => return Ok(()),
            Err(error) if error.is_retryable() && tokio::time::Instant::now() < give_up => {
                backoff.wait().await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}
