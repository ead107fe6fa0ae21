//! Where heartbeats run: on a dedicated thread with a small runtime, so that handlers that block
//! their worker's runtime do not stop them.

use std::future::Future;
use std::io;
use std::sync::Arc;

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// Where the heartbeats of a worker run: renewals of its leases and of its registration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Heartbeats {
    /// On a dedicated thread, over separate connections: a handler that blocks the worker's
    /// runtime does not stop them.
    #[default]
    OwnThread,
    /// On the runtime that connects the worker: for tests in virtual time, and where a thread is
    /// too much. A handler that blocks this runtime costs the worker its leases.
    SameRuntime,
}

/// Runs a worker's heartbeats. Clones share it; the thread ends when the last one is gone and its
/// tasks have finished.
#[derive(Debug, Clone)]
pub(crate) struct Background {
    runtime: Handle,
    tasks: TaskTracker,
    _thread: Option<Arc<DropGuard>>,
}

impl Background {
    pub(crate) fn start(heartbeats: Heartbeats) -> io::Result<Background> {
        match heartbeats {
            Heartbeats::OwnThread => Background::on_own_thread(),
            Heartbeats::SameRuntime => Ok(Background::here()),
        }
    }

    /// On the runtime of the caller.
    pub(crate) fn here() -> Background {
        Background { runtime: Handle::current(), tasks: TaskTracker::new(), _thread: None }
    }

    fn on_own_thread() -> io::Result<Background> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (tasks, end) = (TaskTracker::new(), CancellationToken::new());
        let background = Background {
            runtime: runtime.handle().clone(),
            tasks: tasks.clone(),
            _thread: Some(Arc::new(end.clone().drop_guard())),
        };
        let until_done = async move {
            end.cancelled().await;
            tasks.close();
            tasks.wait().await;
        };
        let thread = std::thread::Builder::new().name("ff-heartbeat".into());
        thread.spawn(move || runtime.block_on(until_done))?;
        Ok(background)
    }

    /// Runs `task` to its end, whatever becomes of the caller.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(self.tasks.track_future(task));
    }
}
