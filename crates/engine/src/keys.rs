//! Keeps this process informed of the store's signing keys, so that a rotation needs no restart.

use std::sync::Arc;
use std::time::Duration;

use ff_core::Kid;
use ff_store::{EngineBackend, outage};
use tokio_util::sync::CancellationToken;

/// The time between two reads.
pub const INTERVAL: Duration = Duration::from_secs(3);

/// Re-reads the signing keys until it is stopped. A process without a file of keys reads nothing.
pub async fn run(backend: Arc<dyn EngineBackend>, stop: CancellationToken) {
    let mut reported = Vec::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(INTERVAL) => {}
        }
        match backend.refresh_keys().await {
            Ok(lacking) => report(lacking, &mut reported),
            Err(error) => outage::failed(&error, "changes of the signing keys are not seen"),
        }
    }
}

/// Reports keys that this process should have and has not, once for each change.
fn report(lacking: Vec<Kid>, reported: &mut Vec<Kid>) {
    if lacking != *reported {
        for kid in &lacking {
            tracing::error!(
                %kid,
                "this process lacks a signing key and refuses its tokens; add the key to its file"
            );
        }
        *reported = lacking;
    }
}
