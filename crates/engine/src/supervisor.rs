//! The supervisor: keeps background services running until they are told to stop.
//!
//! A service that panics, or ends by itself, is started again after a pause that grows while it
//! keeps falling. One service that falls does not touch the others.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::metrics;

/// The pause before a service is started again for the first time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A service that ran this long has recovered.
const RECOVERED: Duration = Duration::from_secs(60);

/// Keeps services running.
#[derive(Debug, Default)]
pub struct Supervisor {
    stop: CancellationToken,
    services: TaskTracker,
}

impl Supervisor {
    /// Runs `service` and starts it again whenever it falls. It is given the token that tells it
    /// to stop.
    pub fn start<S, F>(&self, name: &'static str, service: S)
    where
        S: Fn(CancellationToken) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        self.services.spawn(keep(name, service, self.stop.clone()));
    }

    /// Tells every service to stop and waits until they have.
    pub async fn stop(self) {
        self.stop.cancel();
        self.services.close();
        self.services.wait().await;
    }
}

async fn keep<S, F>(name: &'static str, service: S, stop: CancellationToken)
where
    S: Fn(CancellationToken) -> F + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let mut pause = FIRST_PAUSE;
    metrics::restarted(name, 0);
    loop {
        let started = Instant::now();
        // In a task of its own, so that a panic in it ends here.
        let ended = tokio::spawn(service(stop.clone())).await;
        if stop.is_cancelled() {
            return;
        }
        match ended {
            Ok(()) => tracing::error!(service = name, "a service ended by itself"),
            Err(error) => tracing::error!(service = name, %error, "a service fell"),
        }
        metrics::restarted(name, 1);
        if started.elapsed() >= RECOVERED {
            pause = FIRST_PAUSE;
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
            () = stop.cancelled() => return,
        }
    }
}
