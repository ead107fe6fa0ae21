//! Listens for what is stopped from outside, so that a handler learns of a cancel at once.
//!
//! A stop makes the worker renew that lease, and the answer says what has happened. A server that
//! cannot be listened to costs the time until the next renewal, and nothing else.

use std::time::Duration;

use ff_core::bounds::END_WAIT_MAX;
use ff_core::{Namespace, WorkerInstanceId};
use ff_store::WorkerBackend;
use ff_store::retry::Backoff;
use tokio::time::Instant;

use crate::heartbeat::KeptLeases;

/// The least time between two calls that said nothing.
const PAUSE: Duration = Duration::from_secs(1);

/// Has `leases` renewed as soon as they are stopped, until dropped.
pub(crate) async fn listen(
    backend: &dyn WorkerBackend,
    leases: &KeptLeases,
    (namespace, instance): (Namespace, WorkerInstanceId),
) {
    let mut failures = Backoff::new(PAUSE, Duration::from_secs(30));
    let mut cursor = None;
    loop {
        let sent = Instant::now();
        match backend.stops(&namespace, &instance, cursor, END_WAIT_MAX).await {
            Ok(news) => {
                failures.reset();
                cursor = Some(news.cursor);
                let stopped = news.stopped.as_deref();
                if stopped.is_none_or(|stopped| !stopped.is_empty()) {
                    leases.renew_now(stopped);
                } else {
                    // A server that stops answers at once.
                    tokio::time::sleep_until(sent + PAUSE).await;
                }
            }
            Err(error) => {
                tracing::debug!(%error, "cannot listen for cancels; renewals find them");
                tokio::time::sleep(failures.pause()).await;
            }
        }
    }
}
