//! The scheduler: chooses work that a worker can run and that budgets and quotas admit, and
//! reserves it.
//!
//! Checked in this order: whether the worker offers what the execution requires, every budget,
//! every quota; then it is reserved. What cannot be read is refused. An admission whose reservation
//! fails is released, and a reservation that is not claimed returns to its queue.
//!
//! Normally the store knows where work is. When it knows of none, some partitions are scanned
//! anyway, in turn: a safety net for lost wake-ups.

mod rotation;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ff_core::machine::{
    Admissions, Assignment, ClaimGranted, GrantNext, GrantOffer, Granted, Target,
};
use ff_core::state::Worker;
use ff_core::{Capabilities, Lane, Millis, Namespace, Refusal};
use ff_store::retry::{Backoff, repeated};
use ff_store::{EngineBackend, StoreError, WorkerBackend, mint};

use rotation::Rotation;

/// How often one request is repeated because work has moved.
const ROUNDS: usize = 8;

/// The pauses before a failed grant is repeated.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How a scheduler scans for work that it does not know of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchedulerConfig {
    /// How many partitions one call scans.
    pub max_partitions_per_scan: u16,
    /// It does so once in this time.
    pub rotation_window: Duration,
}

impl Default for SchedulerConfig {
    fn default() -> Self {
        SchedulerConfig { max_partitions_per_scan: 32, rotation_window: Duration::from_millis(250) }
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum SchedulerError {
    /// It cannot work as it is configured.
    #[error("the scheduler is not configured: {0}")]
    Config(&'static str),
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SchedulerError {
    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            SchedulerError::Config(_) => false,
            SchedulerError::Store(error) => error.is_retryable(),
        }
    }
}

impl From<Refusal> for SchedulerError {
    fn from(refusal: Refusal) -> Self {
        SchedulerError::Store(refusal.into())
    }
}

/// Chooses work and reserves it.
pub struct Scheduler {
    backend: Arc<dyn EngineBackend>,
    config: SchedulerConfig,
    rotation: Rotation,
}

impl std::fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scheduler").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Scheduler {
    /// A scheduler over `backend`. One that could never find anything is refused.
    pub fn new(
        backend: Arc<dyn EngineBackend>,
        config: SchedulerConfig,
    ) -> Result<Scheduler, SchedulerError> {
        if backend.partitions() == 0 {
            return Err(SchedulerError::Config("the store has no partitions"));
        }
        if config.max_partitions_per_scan == 0 {
            return Err(SchedulerError::Config("max_partitions_per_scan must be at least 1"));
        }
        Ok(Scheduler { backend, config, rotation: Rotation::new(config.rotation_window) })
    }

    /// Reserves the best work of a lane that the worker can run, for `ttl`.
    pub async fn claim_for_worker(
        &self,
        namespace: &Namespace,
        lane: &Lane,
        worker: &Worker,
        capabilities: &Capabilities,
        ttl: Millis,
    ) -> Result<Option<GrantOffer>, SchedulerError> {
        let grant = GrantNext {
            namespace: namespace.clone(),
            lane: lane.clone(),
            worker: worker.clone(),
            capabilities: capabilities.clone(),
            request: mint::request_id(),
            ttl,
            retry: false,
            at: None,
            admissions: Admissions::Any,
        };
        Ok(self.grant(grant).await?.offer)
    }

    /// Reserves what `grant` requests. After a lost reply it is repeated once, with the same
    /// request id.
    pub async fn grant(&self, grant: GrantNext) -> Result<Granted, StoreError> {
        let (namespace, lane) = (grant.namespace.clone(), grant.lane.clone());
        let worker = grant.worker.instance.clone();
        let granted = self.find(grant).await;
        match &granted {
            Ok(Granted { offer: Some(offer), .. }) => {
                let execution = offer.execution;
                tracing::debug!(%namespace, %lane, %worker, %execution, "granted");
            }
            Ok(Granted { withheld, .. }) => {
                tracing::debug!(%namespace, %lane, %worker, ?withheld, "nothing to grant");
            }
            Err(error) => tracing::debug!(%namespace, %lane, %worker, %error, "a grant failed"),
        }
        granted
    }

    /// Reserves where the store knows of work, or else where it may have missed some.
    async fn find(&self, grant: GrantNext) -> Result<Granted, StoreError> {
        let known = self.ask(grant.clone()).await?;
        if known.offer.is_some() || known.withheld.is_some() || grant.retry {
            return Ok(known);
        }
        let total = self.backend.partitions();
        if total == 1 {
            return Ok(known);
        }
        let (instance, most) = (&grant.worker.instance, self.config.max_partitions_per_scan);
        let Some(turn) = self.rotation.next(instance, Instant::now()) else { return Ok(known) };
        for partition in rotation::partitions(instance, turn, most, total) {
            let found = self.ask(GrantNext { at: Some(partition), ..grant.clone() }).await?;
            if found.offer.is_some() {
                return Ok(found);
            }
        }
        Ok(known)
    }

    /// Calls the store. A second failure in a row is returned to the caller, which may call again.
    async fn ask(&self, grant: GrantNext) -> Result<Granted, StoreError> {
        let mut may_repeat = !grant.retry;
        let again = |error: &StoreError, _| {
            error.is_retryable() && std::mem::replace(&mut may_repeat, false)
        };
        reserve(&*self.backend, grant, again).await
    }

    /// Turns a grant into a lease.
    pub async fn claim_from_grant(
        &self,
        namespace: &Namespace,
        worker: &Worker,
        grant: &GrantOffer,
    ) -> Result<Assignment, SchedulerError> {
        let target = Target { namespace: namespace.clone(), execution: grant.execution };
        let claim = ClaimGranted { target, request: grant.request, worker: worker.clone() };
        let claimed = self.backend.claim_granted(claim).await?;
        let first = claimed.assignments.into_iter().next();
        first.ok_or_else(|| Refusal::StaleGrant.into())
    }
}

/// Reserves what `grant` requests at `backend`, repeating it while work moves. A call that fails is
/// repeated with the same request id for as long as `again` allows: what a lost reply reserved is
/// found.
pub async fn reserve(
    backend: &dyn WorkerBackend,
    mut grant: GrantNext,
    mut again: impl FnMut(&StoreError, Duration) -> bool,
) -> Result<Granted, StoreError> {
    for _ in 0..ROUNDS {
        let ask =
            |repeated| backend.grant(GrantNext { retry: grant.retry || repeated, ..grant.clone() });
        let granted = repeated(Backoff::new(FIRST_PAUSE, LONGEST_PAUSE), &mut again, ask).await?;
        if granted.offer.is_some() || !granted.again {
            return Ok(granted);
        }
        grant.retry = false;
    }
    Ok(Granted { again: true, ..Granted::default() })
}

/// The example of the scheduling guide, run as it is.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/scheduling.md")]
struct Scheduling;
