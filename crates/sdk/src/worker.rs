//! A connected worker: its registration, permits, claims and one heartbeat.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ff_core::machine::{Assignment, ClaimRequest};
use ff_core::state::Worker;
use ff_core::{Lane, Millis};
use ff_store::retry::{Backoff, repeated};
use ff_store::roles::Registering;
use ff_store::{ErrorKind, Failure, StoreError, WorkerBackend, mint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::background::{Background, Heartbeats};
use crate::blocking::Handlers;
use crate::config::WorkerConfig;
use crate::dropped::Drops;
use crate::error::SdkError;
use crate::event::WorkerEvent;
use crate::heartbeat::Heartbeat;
use crate::registration::RegistrationGuard;
use crate::round_robin::Turns;
use crate::task::ClaimedTask;
use crate::time::millis;

/// How long a call that takes work is repeated while its caller waits.
const REPEAT_TIME: Duration = Duration::from_secs(5);

/// A connected worker. A permit is taken before anything is claimed and travels with the task.
pub struct FlowFabricWorker {
    config: WorkerConfig,
    permits: Arc<Semaphore>,
    heartbeat: Arc<Heartbeat>,
    drops: Arc<Drops>,
    registration: RegistrationGuard,
    turns: Turns,
    turn: AtomicUsize,
}

impl FlowFabricWorker {
    /// Checks the configuration and registers. While another live process has its instance id, this
    /// is refused with [`Code::WorkerAlive`](ff_core::Code::WorkerAlive).
    pub async fn connect(config: WorkerConfig) -> Result<FlowFabricWorker, SdkError> {
        let turns = Turns::new(&config.lanes)?;
        if config.concurrency == 0 || config.concurrency > Semaphore::MAX_PERMITS {
            let why = format!("is {}; give at least 1", config.concurrency);
            return Err(SdkError::config("concurrency", why));
        }
        let background = Background::start(config.heartbeats).map_err(SdkError::Thread)?;
        let beats_to = match config.heartbeats {
            Heartbeats::OwnThread => config.backend.on_own_connections(),
            Heartbeats::SameRuntime => config.backend.clone(),
        };
        let registration = register(&config, &background, &beats_to).await?;
        let who = (config.namespace.clone(), config.instance.clone());
        tracing::info!(
            worker = %config.worker,
            instance = %config.instance,
            lanes = %lane_names(&config),
            capabilities = %config.capabilities,
            "worker connected"
        );
        Ok(FlowFabricWorker {
            permits: Arc::new(Semaphore::new(config.concurrency)),
            heartbeat: Arc::new(Heartbeat::start(beats_to, background, who)),
            drops: Arc::default(),
            registration,
            turns,
            turn: AtomicUsize::new(0),
            config,
        })
    }

    /// Ends its registration. Tasks that it holds are kept; claim no more. Dropping the worker
    /// does the same, as long as the runtime keeps running.
    pub async fn disconnect(&self) {
        self.registration.leave().await;
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
        Ok(self.claim_many(1).await?.into_iter().next())
    }

    /// Claims up to as many tasks as permits are free, waiting up to the poll interval.
    pub async fn claim_many(&self, most: usize) -> Result<Vec<ClaimedTask>, SdkError> {
        let mut again = while_waited_for();
        Ok(self.claim(self.permits(most)?, |_, error, pause| again(error, pause)).await?)
    }

    /// Waits until a permit is free.
    pub async fn ready(&self) {
        // The semaphore is never closed.
        drop(self.permits.acquire().await);
    }

    /// Claims for up to `most` free permits until the call is answered. A failure that repeating cannot
    /// change is returned at once.
    pub(crate) async fn claim_until_answered(
        &self,
        most: usize,
    ) -> Result<Vec<ClaimedTask>, SdkError> {
        let Ok(permits) = self.permits(most) else { return Ok(Vec::new()) };
        let again = |lane: &Lane, error: &StoreError, pause| {
            let again = !is_final(error);
            if again {
                (self.config.events)(WorkerEvent::ClaimFailed { lane, error, pause });
            }
            again
        };
        Ok(self.claim(permits, again).await?)
    }

    /// Scans every lane once, beginning with the next in turn, then waits on that one.
    async fn claim(
        &self,
        permits: Vec<OwnedSemaphorePermit>,
        mut again: impl FnMut(&Lane, &StoreError, Duration) -> bool,
    ) -> Result<Vec<ClaimedTask>, StoreError> {
        let order = self.next_turn();
        let lane = |place: usize| &self.config.lanes[order[place]].lane;
        let most = permits.len().try_into().unwrap_or(u16::MAX);
        let mut claimed = Vec::new();
        if order.len() > 1 {
            for place in 0..order.len() {
                claimed = self.claim_lane(lane(place), most, Millis::ZERO, &mut again).await?;
                if !claimed.is_empty() {
                    break;
                }
            }
        }
        if claimed.is_empty() {
            let wait = millis(self.config.poll_interval);
            claimed = self.claim_lane(lane(0), most, wait, &mut again).await?;
        }
        let tasks = claimed.into_iter().zip(permits);
        Ok(tasks.map(|(assignment, permit)| self.task(assignment, permit)).collect())
    }

    /// Claims from one lane. A call whose reply was lost is repeated with the same request id, so
    /// that the claimed executions are found and none is taken twice.
    async fn claim_lane(
        &self,
        lane: &Lane,
        max: u16,
        wait: Millis,
        mut again: impl FnMut(&Lane, &StoreError, Duration) -> bool,
    ) -> Result<Vec<Assignment>, StoreError> {
        let claim = ClaimRequest {
            namespace: self.config.namespace.clone(),
            lane: lane.clone(),
            worker: name(&self.config),
            capabilities: self.config.capabilities.clone(),
            request: mint::request_id(),
            max,
            retry: false,
        };
        let call = |retry| self.config.backend.claim(ClaimRequest { retry, ..claim.clone() }, wait);
        let claimed = repeated(pauses(), |error, pause| again(lane, error, pause), call).await?;
        Ok(claimed.assignments)
    }

    /// Whether it holds no task.
    pub(crate) fn holds_nothing(&self) -> bool {
        self.permits.available_permits() == self.config.concurrency
    }

    /// The lanes, by index, beginning with the next in turn.
    pub(crate) fn next_turn(&self) -> Vec<usize> {
        self.turns.from(self.turn.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn permit(&self) -> Result<OwnedSemaphorePermit, SdkError> {
        self.permits.clone().try_acquire_owned().map_err(|_| SdkError::WorkerAtCapacity)
    }

    /// The free permits, up to `most`; at least one.
    fn permits(&self, most: usize) -> Result<Vec<OwnedSemaphorePermit>, SdkError> {
        let mut permits = vec![self.permit()?];
        let more = 1..most.min(ff_core::bounds::CLAIM);
        permits.extend(more.map_while(|_| self.permit().ok()));
        Ok(permits)
    }

    pub(crate) fn task(&self, assignment: Assignment, permit: OwnedSemaphorePermit) -> ClaimedTask {
        let (backend, shutdown) = (self.config.backend.clone(), self.config.shutdown.clone());
        let (heartbeat, drops) = (self.heartbeat.clone(), self.drops.clone());
        ClaimedTask::new(assignment, backend, heartbeat, drops, shutdown, permit)
    }

    /// The handlers that run in this worker.
    pub(crate) fn handlers(&self) -> &Arc<Handlers> {
        self.heartbeat.handlers()
    }
}

pub(crate) fn name(config: &WorkerConfig) -> Worker {
    Worker { id: config.worker.clone(), instance: config.instance.clone() }
}

fn lane_names(config: &WorkerConfig) -> String {
    let names: Vec<_> = config.lanes.iter().map(|served| served.lane.as_str()).collect();
    names.join(",")
}

/// Tries to register until the backend answers or the time to connect is over.
async fn register(
    config: &WorkerConfig,
    background: &Background,
    beats_to: &Arc<dyn WorkerBackend>,
) -> Result<RegistrationGuard, SdkError> {
    let worker = Registering {
        namespace: config.namespace.clone(),
        worker: name(config),
        session: mint::request_id(),
        lanes: config.lanes.iter().map(|served| served.lane.clone()).collect(),
        capabilities: config.capabilities.clone(),
        ttl: millis(config.registration_ttl),
    };
    let began = Instant::now();
    let again = |error: &StoreError, _| {
        error.is_retryable() && config.connect_timeout.is_some_and(|most| began.elapsed() < most)
    };
    let answer = repeated(pauses(), again, |_| config.backend.register(worker.clone())).await;
    if let Err(error) = &answer {
        if config.connect_timeout.is_some() || !error.is_retryable() {
            return Err(error.clone().into());
        }
        (config.events)(WorkerEvent::NotRegistered { error });
    }
    Ok(RegistrationGuard::keep(background, beats_to.clone(), worker, answer.is_ok()))
}

/// Whether repeating a claim cannot change this failure: the request is refused, or the caller is
/// unauthenticated or denied. Anything else may pass while the worker waits.
fn is_final(error: &StoreError) -> bool {
    match error.kind() {
        ErrorKind::Refused(_) => true,
        ErrorKind::Failed(failure) => {
            matches!(failure, Failure::Unauthenticated | Failure::Forbidden | Failure::Denied)
        }
    }
}

/// The pauses between the tries of a call.
pub(crate) fn pauses() -> Backoff {
    Backoff::new(Duration::from_millis(50), Duration::from_secs(5))
}

/// Whether a call that takes work is made again while its caller waits.
pub(crate) fn while_waited_for() -> impl FnMut(&StoreError, Duration) -> bool {
    let ends = Instant::now() + REPEAT_TIME;
    move |error, _| error.is_retryable() && Instant::now() < ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use ff_core::Refusal;

    #[test]
    fn a_worker_is_ended_by_what_repeating_cannot_change_and_by_nothing_else() {
        let failed = |failure| StoreError::FailedRemotely { failure, message: String::new() };
        let ending = Failure::ALL.iter().filter(|failure| is_final(&failed(**failure)));
        let ending: Vec<_> = ending.copied().collect();
        assert_eq!(ending, [Failure::Denied, Failure::Unauthenticated, Failure::Forbidden]);
        assert!(is_final(&Refusal::invalid("wait", "is too long").into()));
    }
}
