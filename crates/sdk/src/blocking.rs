//! Detects handlers that block a thread of the async runtime, and warns about them.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use ff_core::{ExecutionId, Kind};
use tokio::sync::Notify;

/// A handler that does not yield for this long blocks its thread.
const BLOCKED_AFTER: Duration = Duration::from_secs(1);

/// How often the running handlers are checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// The handlers that run in a worker.
#[derive(Debug)]
pub(crate) struct Handlers {
    began: Instant,
    running: Mutex<Vec<Arc<Watched>>>,
    started: Notify,
}

/// One running handler.
#[derive(Debug)]
struct Watched {
    kind: Kind,
    execution: ExecutionId,
    /// When the current poll began, in milliseconds since the worker began, plus one; 0 is none.
    polled: AtomicU64,
    /// The warning about it was logged.
    reported: AtomicBool,
}

impl Handlers {
    pub(crate) fn new() -> Handlers {
        Handlers { began: Instant::now(), running: Mutex::default(), started: Notify::new() }
    }

    /// `work` of a handler, watched while it is polled.
    pub(crate) fn watch<F: Future>(
        self: &Arc<Self>,
        kind: Kind,
        execution: ExecutionId,
        work: F,
    ) -> Watching<F> {
        let watched = Arc::new(Watched {
            kind,
            execution,
            polled: AtomicU64::new(0),
            reported: AtomicBool::new(false),
        });
        self.running().push(watched.clone());
        self.started.notify_one();
        Watching { work: Box::pin(work), watched, handlers: self.clone() }
    }

    /// Warns about handlers that block their threads, for as long as the worker lives.
    pub(crate) async fn warn_of_blocked(&self) {
        loop {
            while self.running().is_empty() {
                self.started.notified().await;
            }
            tokio::time::sleep(CHECK_INTERVAL).await;
            self.check();
        }
    }

    /// Warns about every handler that blocks its thread now, once per task.
    fn check(&self) {
        let now = self.now();
        for watched in self.running().iter() {
            let polled = watched.polled.load(Ordering::Relaxed);
            if polled > 0 {
                watched.warn_after(Duration::from_millis(now.saturating_sub(polled)));
            }
        }
    }

    /// Milliseconds since the worker began, plus one.
    fn now(&self) -> u64 {
        let since = self.began.elapsed().as_millis();
        u64::try_from(since).unwrap_or(u64::MAX - 1) + 1
    }

    fn running(&self) -> MutexGuard<'_, Vec<Arc<Watched>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watched {
    fn warn_after(&self, blocked: Duration) {
        if blocked < BLOCKED_AFTER || self.reported.swap(true, Ordering::Relaxed) {
            return;
        }
        tracing::warn!(
            kind = %self.kind,
            execution = %self.execution,
            blocked_ms = blocked.as_millis(),
            "a handler blocks a thread of the async runtime; move its blocking work to \
             tokio::task::spawn_blocking"
        );
    }
}

/// The future of a handler that is watched.
pub(crate) struct Watching<F> {
    work: Pin<Box<F>>,
    watched: Arc<Watched>,
    handlers: Arc<Handlers>,
}

impl<F: Future> Future for Watching<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let began = self.handlers.now();
        self.watched.polled.store(began, Ordering::Relaxed);
        let polled = self.work.as_mut().poll(cx);
        self.watched.polled.store(0, Ordering::Relaxed);
        let took = self.handlers.now().saturating_sub(began);
        // This very poll may have kept the periodic check from running.
        self.watched.warn_after(Duration::from_millis(took));
        polled
    }
}

impl<F> Drop for Watching<F> {
    fn drop(&mut self) {
        self.handlers.running().retain(|watched| !Arc::ptr_eq(watched, &self.watched));
    }
}
