//! Told to stop: first gently, then not.

use std::io;
use std::time::Duration;

use ff_core::Millis;
use tokio_util::sync::CancellationToken;

use super::log::Log;
use crate::duration;
use crate::signals::Signals;

/// How far the worker is told to stop.
#[derive(Clone)]
pub(super) struct Shutdown {
    /// Claim nothing more; let programs finish.
    pub(super) drain: CancellationToken,
    /// Stop programs and hand their work back.
    pub(super) now: CancellationToken,
}

impl Shutdown {
    /// The first SIGTERM or SIGINT drains; a second one, or the end of `patience`, stops.
    pub(super) fn on_signals(patience: Duration, log: Log) -> io::Result<Shutdown> {
        let shutdown = Shutdown { drain: CancellationToken::new(), now: CancellationToken::new() };
        let mut signals = Signals::listen()?;
        let ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        let left = duration::rough(Millis::new(ms));
        tokio::spawn({
            let shutdown = shutdown.clone();
            async move {
                signals.next().await;
                log.stopping(format!("running programs have {left}"));
                shutdown.drain.cancel();
                // Whichever comes first.
                let _ = tokio::time::timeout(patience, signals.next()).await;
                shutdown.now.cancel();
            }
        });
        Ok(shutdown)
    }

    /// Drains, and stops after `patience`.
    pub(super) fn drain(&self, patience: Duration) {
        self.drain.cancel();
        let now = self.now.clone();
        tokio::spawn(async move {
            tokio::time::sleep(patience).await;
            now.cancel();
        });
    }
}
