//! How workers of other processes learn of stops by this one: on the channels that all processes listen to.

use std::sync::Arc;

use ff_core::{ExecutionId, Namespace, WorkerInstanceId};
use ff_store::stops::Stop;
use redis::cmd;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::store::Shared;

/// Publishes what this process stops, until aborted.
pub(crate) fn start(shared: &Arc<Shared>) -> AbortHandle {
    let stops = shared.wakeups.stops().outgoing();
    tokio::spawn(publish(shared.clone(), stops)).abort_handle()
}

async fn publish(shared: Arc<Shared>, mut stops: mpsc::Receiver<Stop>) {
    while let Some(stop) = stops.recv().await {
        let channel = shared.keys.channel(shared.keys.partition(stop.execution));
        let mut publish = cmd("SPUBLISH");
        publish.arg(channel).arg(packed(&shared.origin, &stop));
        if let Err(error) = shared.link.send(publish).await {
            tracing::debug!(%error, "workers of other processes learn of a stop when they renew");
        }
    }
}

/// `S`, the process that says it, and what it says.
fn packed(origin: &[u8; 8], Stop { namespace, instance, execution }: &Stop) -> Vec<u8> {
    let text = format!("{namespace}:{instance}:{execution}");
    [b"S", &origin[..], text.as_bytes()].concat()
}

/// What another process has said, after its name.
pub(crate) fn announced(text: &[u8]) -> Option<Stop> {
    let mut parts = std::str::from_utf8(text).ok()?.splitn(3, ':');
    Some(Stop {
        namespace: Namespace::new(parts.next()?).ok()?,
        instance: WorkerInstanceId::new(parts.next()?).ok()?,
        execution: parts.next()?.parse::<ExecutionId>().ok()?,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ff_store::mint;

    use super::*;

    #[test]
    fn a_stop_reads_back_and_damage_is_nothing() {
        let stop = Stop {
            namespace: Namespace::new("acme").unwrap(),
            instance: WorkerInstanceId::new("ada-1").unwrap(),
            execution: mint::scattered_id(),
        };
        let message = packed(&[7; 8], &stop);
        assert_eq!(message[..9], [b'S', 7, 7, 7, 7, 7, 7, 7, 7]);
        assert_eq!(announced(&message[9..]), Some(stop));
        for damaged in [&b""[..], b"acme", b"acme:ada-1", b"acme:ada-1:x", b"\xff:a:b"] {
            assert_eq!(announced(damaged), None);
        }
    }
}
