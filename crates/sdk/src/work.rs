//! The loop of a worker: claims for its free permits, runs what it claims, and drains.

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::error::SdkError;
use crate::event::WorkerEvent;
use crate::task::ClaimedTask;
use crate::worker::FlowFabricWorker;

/// A claim that is dropped when the worker stops may just have taken executions, which its backend
/// then hands back: this much time is left for that.
const HAND_BACK_TIME: Duration = Duration::from_millis(200);

/// When a worker stops by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Until {
    /// It does not: its [`Shutdown`](crate::Shutdown) stops it.
    #[default]
    Stopped,
    /// After one task.
    OneTask,
    /// When it holds no task and none appears in any of its lanes for a poll interval.
    Idle,
}

impl FlowFabricWorker {
    /// Works until it is told to stop, or has reached `until`. It claims for the permits that are free,
    /// one claim at a time, and calls `run` for each task; tasks run concurrently. A claim that
    /// fails is repeated until it is answered; the hook of the configuration is notified. One that is
    /// refused, unauthenticated or denied ends the work with that error.
    ///
    /// Then it waits for the tasks that run, and ends its registration. Once it is told to stop they have
    /// the drain time; `run` is to end its task when [`Shutdown::drained`](crate::Shutdown::drained)
    /// says that it is over.
    pub async fn work<F>(
        &self,
        until: Until,
        run: impl Fn(ClaimedTask) -> F,
    ) -> Result<(), SdkError>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let shutdown = &self.config().shutdown;
        let mut running = JoinSet::new();
        let (stopped, ended) = tokio::select! {
            biased;
            () = shutdown.draining() => (true, Ok(())),
            ended = self.dispatch(until, &mut running, run) => (false, ended),
        };
        let hand_back = tokio::time::sleep(if stopped { HAND_BACK_TIME } else { Duration::ZERO });
        tokio::join!(hand_back, self.drain(&mut running));
        self.disconnect().await;
        ended
    }

    /// Claims and starts tasks until `until` is reached.
    async fn dispatch<F>(
        &self,
        until: Until,
        running: &mut JoinSet<()>,
        run: impl Fn(ClaimedTask) -> F,
    ) -> Result<(), SdkError>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let most = if until == Until::OneTask { 1 } else { self.config().concurrency };
        // A claim scans every lane and waits on one. With several lanes, the others are therefore
        // scanned again after the wait.
        let scans = self.config().lanes.len().min(2);
        let mut in_vain = 0;
        loop {
            self.ready().await;
            while running.try_join_next().is_some() {}
            let idle = self.holds_nothing();
            let tasks = self.claim_until_answered(most).await?;
            in_vain = if idle && tasks.is_empty() { in_vain + 1 } else { 0 };
            let claimed = tasks.len();
            for task in tasks {
                (self.config().events)(WorkerEvent::Claimed(task.assignment()));
                running.spawn(run(task));
            }
            let done = match until {
                Until::Stopped => false,
                Until::OneTask => claimed > 0,
                Until::Idle => in_vain == scans,
            };
            if done {
                return Ok(());
            }
        }
    }

    /// Waits for the tasks that run; once the worker is told to stop, for the drain time.
    async fn drain(&self, running: &mut JoinSet<()>) {
        let shutdown = &self.config().shutdown;
        let over = async {
            shutdown.draining().await;
            // Whichever comes first.
            let _ = tokio::time::timeout(self.config().drain, shutdown.drained()).await;
        };
        tokio::select! {
            () = all_done(running) => return,
            () = over => shutdown.now(),
        }
        all_done(running).await;
    }
}

async fn all_done(running: &mut JoinSet<()>) {
    while running.join_next().await.is_some() {}
}
