//! One heartbeat per worker renews all its leases in one call, and hears of cancels.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ff_core::machine::{LeaseRef, Renewed};
use ff_core::{Code, LeaseId, Millis};
use ff_store::{StoreError, WorkerBackend};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::background::Background;
use crate::blocking::Handlers;
use crate::task::StopReason;

/// The least time between two heartbeats.
const BREATH: Duration = Duration::from_millis(20);

/// The store has at least this long to answer, also when a lease is about to end: it decides
/// whether the lease is lost, not this process's clock.
const LEAST_PATIENCE: Duration = Duration::from_secs(1);

/// A lease that is kept alive.
#[derive(Debug)]
pub(crate) struct KeptLease {
    pub(crate) hold: LeaseRef,
    ttl: Duration,
    state: Mutex<KeptState>,
    /// Set once the holder should stop.
    pub(crate) stop: CancellationToken,
    /// Set once nothing the holder does counts any more.
    pub(crate) lost: CancellationToken,
}

#[derive(Debug)]
struct KeptState {
    renew_at: Instant,
    /// When the lease has surely ended, by this process's own clock.
    ends: Instant,
    reason: Option<StopReason>,
}

impl KeptLease {
    pub(crate) fn new(hold: LeaseRef, ttl: Duration) -> KeptLease {
        let now = Instant::now();
        let state = KeptState { renew_at: now + ttl / 3, ends: now + ttl, reason: None };
        KeptLease {
            hold,
            ttl,
            state: Mutex::new(state),
            stop: CancellationToken::new(),
            lost: CancellationToken::new(),
        }
    }

    pub(crate) fn reason(&self) -> Option<StopReason> {
        self.state().reason
    }

    /// When the lease has surely ended unless it is renewed, by this process's own clock.
    pub(crate) fn ends(&self) -> Instant {
        self.state().ends
    }

    fn state(&self) -> MutexGuard<'_, KeptState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of an answer to a renewal sent at `sent`.
    fn hear(&self, sent: Instant, answer: Result<Renewed, StoreError>) {
        let mut state = self.state();
        let reason = match answer {
            Ok(renewed) => {
                state.renew_at = sent + self.ttl / 3;
                state.ends = sent + self.ttl;
                if let Some(left) = self.grace_left(&renewed) {
                    // The hold ends then, and the next renewal hears of it.
                    state.renew_at = state.renew_at.min(sent + left);
                }
                renewed.cancel_by.map(|_| StopReason::CancelRequested)
            }
            Err(error) => match error.refused() {
                Some(Code::Cancelled) => Some(StopReason::Cancelled),
                // A hold that is being cancelled has ended with the cancel.
                Some(_) if state.reason.is_some() => Some(StopReason::Cancelled),
                Some(_) => Some(StopReason::LeaseLost),
                // The outcome is unknown: try again soon, until the lease has surely ended.
                None => {
                    state.renew_at = Instant::now() + (self.ttl / 10).max(BREATH);
                    (Instant::now() >= state.ends).then_some(StopReason::LeaseLost)
                }
            },
        };
        if let Some(reason) = reason
            && state.reason.is_none_or(|earlier| earlier == StopReason::CancelRequested)
        {
            state.reason = Some(reason);
            self.stop.cancel();
            if reason != StopReason::CancelRequested {
                self.lost.cancel();
            }
        }
    }

    /// How long the holder has to stop, from the renewal on, if it is asked to.
    fn grace_left(&self, renewed: &Renewed) -> Option<Duration> {
        let ttl = Millis::new(self.ttl.as_millis().try_into().unwrap_or(u64::MAX));
        // The store renewed from its own now.
        let left = renewed.cancel_by?.since(renewed.until - ttl);
        Some(Duration::from_millis(left.get()))
    }

    /// Whether there is a lease left to renew.
    fn beats(&self) -> bool {
        matches!(self.state().reason, None | Some(StopReason::CancelRequested))
    }
}

/// Renews the leases of one worker until dropped, and warns of handlers that block.
pub(crate) struct Heartbeat {
    pulses: Arc<KeptLeases>,
    handlers: Arc<Handlers>,
    /// What is asked from where the heartbeats run.
    backend: Arc<dyn WorkerBackend>,
    background: Background,
    _task: DropGuard,
}

#[derive(Debug, Default)]
struct KeptLeases {
    all: Mutex<HashMap<LeaseId, Arc<KeptLease>>>,
    changed: Notify,
}

impl Heartbeat {
    pub(crate) fn start(backend: Arc<dyn WorkerBackend>, background: Background) -> Heartbeat {
        let (pulses, handlers) = (Arc::new(KeptLeases::default()), Arc::new(Handlers::new()));
        let stop = CancellationToken::new();
        let (beating, watching, stopped) = (pulses.clone(), handlers.clone(), stop.clone());
        let asked = backend.clone();
        background.spawn(async move {
            tokio::select! {
                () = beat(asked, beating) => {}
                () = watching.look_after() => {}
                () = stopped.cancelled() => {}
            }
        });
        Heartbeat { pulses, handlers, backend, background, _task: stop.drop_guard() }
    }

    /// The handlers that run in this worker.
    pub(crate) fn handlers(&self) -> &Arc<Handlers> {
        &self.handlers
    }

    /// Makes a call that its caller does not wait for, from where the heartbeats run.
    pub(crate) fn call<F>(&self, call: impl FnOnce(Arc<dyn WorkerBackend>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.background.spawn(call(self.backend.clone()));
    }

    pub(crate) fn add(&self, pulse: Arc<KeptLease>) {
        self.pulses.all().insert(pulse.hold.fence.lease, pulse);
        self.pulses.changed.notify_one();
    }

    pub(crate) fn remove(&self, pulse: &KeptLease) {
        self.pulses.all().remove(&pulse.hold.fence.lease);
    }
}

impl KeptLeases {
    fn all(&self) -> MutexGuard<'_, HashMap<LeaseId, Arc<KeptLease>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<Instant> {
        self.all().values().filter(|p| p.beats()).map(|p| p.state().renew_at).min()
    }

    /// Leases to renew now: what is due, and what is due soon enough to share the call.
    fn due(&self, now: Instant) -> Vec<Arc<KeptLease>> {
        let due = |p: &&Arc<KeptLease>| p.beats() && p.state().renew_at <= now + p.ttl / 10;
        self.all().values().filter(due).take(ff_core::bounds::BATCH).cloned().collect()
    }
}

async fn beat(backend: Arc<dyn WorkerBackend>, pulses: Arc<KeptLeases>) {
    loop {
        match pulses.next() {
            Some(at) => {
                tokio::select! {
                    () = tokio::time::sleep_until(at) => {}
                    () = pulses.changed.notified() => continue,
                }
            }
            None => {
                pulses.changed.notified().await;
                continue;
            }
        }
        let sent = Instant::now();
        let due = pulses.due(sent);
        if due.is_empty() {
            continue;
        }
        match renew(&*backend, &due, sent).await {
            Ok(answers) => {
                for (pulse, answer) in due.iter().zip(answers) {
                    pulse.hear(sent, answer);
                }
            }
            Err(error) => {
                tracing::warn!(%error, "a heartbeat failed");
                for pulse in &due {
                    pulse.hear(sent, Err(error.clone()));
                }
            }
        }
        tokio::time::sleep(BREATH).await;
    }
}

/// Renews `due`, without waiting longer than the first of them lasts: a store that does not answer
/// must not keep a holder from hearing that its lease has ended.
async fn renew(
    backend: &dyn WorkerBackend,
    due: &[Arc<KeptLease>],
    sent: Instant,
) -> Result<Vec<Result<Renewed, StoreError>>, StoreError> {
    let first_end = due.iter().map(|pulse| pulse.ends()).min().unwrap_or(sent);
    let patience = first_end.max(sent + LEAST_PATIENCE);
    let holds = due.iter().map(|pulse| pulse.hold.clone()).collect();
    let late = |_| StoreError::Unavailable("the renewal was not answered in time".into());
    tokio::time::timeout_at(patience, backend.renew(holds)).await.map_err(late)?
}
