//! One heartbeat per worker renews all its leases in one call, learns of cancels, and stops
//! attempts that are past their timeout. What is stopped from outside is renewed at once.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ff_core::machine::Renewed;
use ff_core::{ExecutionId, LeaseId, Namespace, WorkerInstanceId};
use ff_store::{StoreError, WorkerBackend};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::background::Background;
use crate::blocking::Handlers;
use crate::lease::KeptLease;
use crate::listen::listen;

/// The least time between two heartbeats.
pub(crate) const MIN_INTERVAL: Duration = Duration::from_millis(20);

/// The store has at least this long to answer, also when a lease is about to end: the store decides
/// whether the lease is lost, not this process's clock.
const MIN_RENEW_TIMEOUT: Duration = Duration::from_secs(1);

/// Renews the leases of one worker until dropped, and warns about handlers that block.
pub(crate) struct Heartbeat {
    leases: Arc<KeptLeases>,
    handlers: Arc<Handlers>,
    /// The backend as called from where the heartbeats run.
    backend: Arc<dyn WorkerBackend>,
    background: Background,
    _task: DropGuard,
}

/// The leases of one worker.
#[derive(Debug, Default)]
pub(crate) struct KeptLeases {
    all: Mutex<HashMap<LeaseId, Arc<KeptLease>>>,
    changed: Notify,
    /// One with a timeout was added.
    timeout_added: Notify,
}

impl Heartbeat {
    /// Begins to renew what the process of a worker will hold.
    pub(crate) fn start(
        backend: Arc<dyn WorkerBackend>,
        background: Background,
        who: (Namespace, WorkerInstanceId),
    ) -> Heartbeat {
        let (leases, handlers) = (Arc::new(KeptLeases::default()), Arc::new(Handlers::new()));
        let stop = CancellationToken::new();
        let (beating, watching, stopped) = (leases.clone(), handlers.clone(), stop.clone());
        let called = backend.clone();
        background.spawn(async move {
            tokio::select! {
                () = beat(&*called, &beating) => {}
                () = listen(&*called, &beating, who) => {}
                () = time_out(&beating) => {}
                () = watching.warn_of_blocked() => {}
                () = stopped.cancelled() => {}
            }
        });
        Heartbeat { leases, handlers, backend, background, _task: stop.drop_guard() }
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

    pub(crate) fn add(&self, lease: Arc<KeptLease>) {
        let timeout_added = lease.times_out().is_some();
        self.leases.all().insert(lease.hold.fence.lease, lease);
        self.leases.changed.notify_one();
        if timeout_added {
            self.leases.timeout_added.notify_one();
        }
    }

    pub(crate) fn remove(&self, lease: &KeptLease) {
        self.leases.all().remove(&lease.hold.fence.lease);
    }
}

impl KeptLeases {
    fn all(&self) -> MutexGuard<'_, HashMap<LeaseId, Arc<KeptLease>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<Instant> {
        self.all().values().filter_map(|lease| lease.renew_at()).min()
    }

    /// Leases to renew now: those that are due, and those due soon enough to share the call.
    fn due(&self, now: Instant) -> Vec<Arc<KeptLease>> {
        let due = |lease: &&Arc<KeptLease>| lease.is_due(now);
        self.all().values().filter(due).take(ff_core::bounds::BATCH).cloned().collect()
    }

    /// Has the leases of these executions renewed now; `None` is all of them.
    pub(crate) fn renew_now(&self, stopped: Option<&[ExecutionId]>) {
        let all = self.all();
        let named = |lease: &&Arc<KeptLease>| {
            stopped.is_none_or(|stopped| stopped.contains(&lease.hold.target.execution))
        };
        all.values().filter(named).for_each(|lease| lease.renew_now());
        self.changed.notify_one();
    }

    /// When the next attempt is past its timeout.
    fn next_timeout(&self) -> Option<Instant> {
        self.all().values().filter_map(|lease| lease.times_out()).min()
    }
}

/// Stops attempts that are past their timeout, also while a renewal is not answered.
async fn time_out(leases: &KeptLeases) {
    loop {
        let Some(next) = leases.next_timeout() else {
            leases.timeout_added.notified().await;
            continue;
        };
        tokio::select! {
            () = tokio::time::sleep_until(next) => {}
            () = leases.timeout_added.notified() => continue,
        }
        let now = Instant::now();
        let over = |lease: &&Arc<KeptLease>| lease.times_out().is_some_and(|at| at <= now);
        leases.all().values().filter(over).for_each(|lease| lease.time_out());
    }
}

async fn beat(backend: &dyn WorkerBackend, leases: &KeptLeases) {
    loop {
        match leases.next() {
            Some(at) => {
                tokio::select! {
                    () = tokio::time::sleep_until(at) => {}
                    () = leases.changed.notified() => continue,
                }
            }
            None => {
                leases.changed.notified().await;
                continue;
            }
        }
        let sent = Instant::now();
        let due = leases.due(sent);
        if due.is_empty() {
            continue;
        }
        match renew(backend, &due, sent).await {
            Ok(answers) => {
                for (lease, answer) in due.iter().zip(answers) {
                    lease.record(sent, answer);
                }
            }
            Err(error) => {
                tracing::warn!(%error, "a heartbeat failed");
                for lease in &due {
                    lease.record(sent, Err(error.clone()));
                }
            }
        }
        tokio::time::sleep(MIN_INTERVAL).await;
    }
}

/// Renews `due`, without waiting longer than the first of them lasts: a store that does not answer
/// must not keep a holder from learning that its lease has ended.
async fn renew(
    backend: &dyn WorkerBackend,
    due: &[Arc<KeptLease>],
    sent: Instant,
) -> Result<Vec<Result<Renewed, StoreError>>, StoreError> {
    let first_end = due.iter().map(|lease| lease.ends()).min().unwrap_or(sent);
    let deadline = first_end.max(sent + MIN_RENEW_TIMEOUT);
    let holds = due.iter().map(|lease| lease.hold.clone()).collect();
    let late = |_| StoreError::Unavailable("the renewal was not answered in time".into());
    tokio::time::timeout_at(deadline, backend.renew(holds)).await.map_err(late)?
}
