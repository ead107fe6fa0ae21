//! A worker's registration: made at the start, kept by heartbeats, ended when the worker leaves.

use std::sync::Arc;
use std::time::Duration;

use ff_core::Code;
use ff_store::roles::{Registering, Session};
use ff_store::{StoreError, WorkerBackend};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::background::Background;

/// How long a worker that is not registered waits before it tries again.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How long the backend has to answer a deregistration; without an answer the registration expires.
const DEREGISTER_TIMEOUT: Duration = Duration::from_secs(2);

/// A registered worker. Dropping it ends the registration, as long as the runtime keeps running.
#[derive(Debug)]
pub struct RegistrationGuard {
    _leaving: DropGuard,
    leave: CancellationToken,
    left: CancellationToken,
}

impl RegistrationGuard {
    /// Registers `worker` as soon as the backend accepts it, and keeps it registered.
    pub fn register_later(
        backend: Arc<dyn WorkerBackend>,
        worker: Registering,
    ) -> RegistrationGuard {
        RegistrationGuard::keep(&Background::here(), backend, worker, false)
    }

    /// Ends the registration.
    pub async fn leave(&self) {
        self.leave.cancel();
        self.left.cancelled().await;
    }

    /// Keeps `worker` registered by heartbeats in `background`.
    pub(crate) fn keep(
        background: &Background,
        backend: Arc<dyn WorkerBackend>,
        worker: Registering,
        registered: bool,
    ) -> RegistrationGuard {
        let (leave, left) = (CancellationToken::new(), CancellationToken::new());
        let (leaving, done) = (leave.clone(), left.clone().drop_guard());
        let keeper = Keeper { session: worker.session(), backend, worker, registered };
        background.spawn(async move {
            keeper.run(leaving).await;
            drop(done);
        });
        RegistrationGuard { _leaving: leave.clone().drop_guard(), leave, left }
    }
}

struct Keeper {
    backend: Arc<dyn WorkerBackend>,
    worker: Registering,
    session: Session,
    /// The last call succeeded.
    registered: bool,
}

impl Keeper {
    /// Heartbeats at a third of the time that the worker may be silent, until it is to leave. A call
    /// in flight then gets a little time to finish, so that no registration follows the
    /// deregistration.
    async fn run(mut self, leave: CancellationToken) {
        let ttl = Duration::from_millis(self.worker.ttl.get());
        loop {
            let pause = if self.registered { ttl / 3 } else { LONGEST_PAUSE.min(ttl / 10) };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = leave.cancelled() => break,
            }
            let beat = tokio::select! {
                beat = self.beat() => beat,
                () = tokio::time::sleep(ttl / 3) => Err(late()),
                () = after(&leave, DEREGISTER_TIMEOUT) => break,
            };
            if let Err(error) = &beat {
                let instance = &self.session.instance;
                tracing::warn!(%error, %instance, "the worker is not registered; trying again");
            }
            self.registered = beat.is_ok();
        }
        let deregistration = self.backend.disconnect(&self.session);
        if let Ok(Err(error)) = tokio::time::timeout(DEREGISTER_TIMEOUT, deregistration).await {
            tracing::debug!(%error, "the worker could not end its registration");
        }
    }

    /// Sends a heartbeat; a worker that is not registered any more registers again.
    async fn beat(&self) -> Result<(), StoreError> {
        match self.backend.heartbeat(&self.session).await {
            Err(error) if error.refused() == Some(Code::NotRegistered) => {
                self.backend.register(self.worker.clone()).await.map(drop)
            }
            answer => answer.map(drop),
        }
    }
}

/// Returns a while after `leave` is set.
async fn after(leave: &CancellationToken, span: Duration) {
    leave.cancelled().await;
    tokio::time::sleep(span).await;
}

fn late() -> StoreError {
    StoreError::Unavailable("it was not answered in time".into())
}
