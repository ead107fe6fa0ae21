//! How a worker is stopped: first gracefully, then at once.

use tokio_util::sync::CancellationToken;

/// Tells a worker to stop. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    drain: CancellationToken,
    now: CancellationToken,
}

impl Shutdown {
    /// The worker claims nothing more; its tasks may finish within the drain time.
    pub fn drain(&self) {
        self.drain.cancel();
    }

    /// The drain time is over: tasks that still run are handed back, and calls that are not answered are
    /// soon given up.
    pub fn now(&self) {
        self.drain.cancel();
        self.now.cancel();
    }

    /// Whether the drain time is over.
    pub fn is_now(&self) -> bool {
        self.now.is_cancelled()
    }

    /// Waits until the worker is to claim nothing more.
    pub async fn draining(&self) {
        self.drain.cancelled().await;
    }

    /// Waits until the drain time is over.
    pub async fn drained(&self) {
        self.now.cancelled().await;
    }

    /// Drains when the process is first told to stop (Ctrl-C or, on Unix, SIGTERM), and ends the drain
    /// time when it is told again. Does not return: it is to be dropped when the worker has ended.
    pub async fn listen_for_signals(&self) {
        stop_signal().await;
        tracing::info!("draining");
        self.drain();
        stop_signal().await;
        self.now();
        std::future::pending().await
    }
}

/// Waits until the process is told to stop.
async fn stop_signal() {
    tokio::select! {
        () = interrupted() => {}
        () = terminated() => {}
    }
}

async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

#[cfg(unix)]
async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminated) => drop(terminated.recv().await),
        Err(_) => std::future::pending().await,
    }
}

#[cfg(not(unix))]
async fn terminated() {
    std::future::pending().await
}
