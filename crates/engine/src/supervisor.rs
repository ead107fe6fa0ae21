//! The supervisor: keeps background services running until it stops them.
//!
//! A service that panics or returns is restarted after a pause that grows while it
//! keeps failing. A failing service does not affect the others.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::metrics;

/// The pause before the first restart of a service.
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
    /// Runs `service` and restarts it whenever it fails. It is passed the token that stops it.
    pub fn start<S, F>(&self, name: &'static str, service: S)
    where
        S: Fn(CancellationToken) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        self.services.spawn(keep(name, service, self.stop.clone()));
    }

    /// Stops every service and waits until they have ended.
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
        // In a separate task, so that a panic ends only that task.
        let ended = tokio::spawn(service(stop.clone())).await;
        if stop.is_cancelled() {
            return;
        }
        match ended {
            Ok(()) => tracing::error!(service = name, "a service returned unexpectedly"),
            Err(error) => tracing::error!(service = name, %error, "a service panicked"),
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
