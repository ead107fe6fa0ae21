//! The timer loop: finds due timers and fires them.
//!
//! It works in bounded batches, drains until nothing is due, and sleeps until the next timer or
//! until a wake-up announces an earlier one. A timer that fails affects only itself: the loop
//! continues with the next and retries it in the next cycle.

use std::sync::Arc;
use std::time::Duration;

use ff_core::continuation::Continuation;
use ff_core::machine::Continued;
use ff_core::{ExecutionId, ResourceKey, Time};
use ff_store::{EngineBackend, StoreError, outage};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::metrics;
use crate::ownership::PartitionOwnership;

/// How many timers of budgets, quotas and tickets fire concurrently.
const CONCURRENCY: usize = 16;

/// How many continuations run in one call; the calls for one page of timers are made concurrently.
const CONTINUATIONS: usize = 64;

/// How the loop works.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How many timers fire at a time.
    pub batch: usize,
    /// How long the loop sleeps at most; timers of other processes are seen within this time.
    pub longest_sleep: Duration,
    /// How long it pauses after a cycle in which nothing fired and something failed.
    pub rest_after_errors: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            batch: 500,
            longest_sleep: Duration::from_secs(1),
            rest_after_errors: Duration::from_secs(1),
        }
    }
}

/// What one cycle did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// How many timers changed something.
    pub fired: u64,
    /// How many were stale: nothing was due any more.
    pub stale: u64,
    /// How many failed.
    pub errors: u64,
    /// How long until the next timer.
    pub sleep: Option<Duration>,
}

/// The timer loop of one process. Of several on one store, each acts on its share of the
/// partitions.
pub struct Timers {
    backend: Arc<dyn EngineBackend>,
    options: Options,
    shares: Arc<PartitionOwnership>,
}

impl Timers {
    /// A loop over the timers of `backend`.
    pub fn new(backend: Arc<dyn EngineBackend>, options: Options) -> Timers {
        Timers { backend, options, shares: Arc::default() }
    }

    /// Acts on the share that other services of the process act on.
    pub(crate) fn sharing(self, shares: Arc<PartitionOwnership>) -> Timers {
        Timers { shares, ..self }
    }

    /// Runs until `shutdown`. Errors of the store are logged and tried again.
    pub async fn run(&self, shutdown: CancellationToken) {
        let wakeups = self.backend.wakeups();
        loop {
            let cycle = tokio::select! {
                cycle = self.run_once() => cycle,
                () = shutdown.cancelled() => return,
            };
            if let Ok(report) = &cycle {
                if report.errors == 0 {
                    outage::answered();
                }
                metrics::timers(report.fired, report.stale, report.errors);
            }
            let sleep = match cycle {
                // What fired may have set timers that are already due: scan again at once.
                Ok(report) if report.fired > 0 => Duration::ZERO,
                Ok(report) if report.errors > 0 => self.options.rest_after_errors,
                Ok(report) => report.sleep.unwrap_or(self.options.longest_sleep),
                Err(error) => {
                    outage::failed(&error, "cannot read timers");
                    self.options.rest_after_errors
                }
            };
            tokio::select! {
                () = tokio::time::sleep(sleep.min(self.options.longest_sleep)) => {}
                // A loop that has no partition leaves the announcement to the one that has.
                () = wakeups.timer_changed(), if self.shares.has_any() => {}
                () = self.shares.gained() => {}
                () = shutdown.cancelled() => return,
            }
        }
    }

    /// Fires every due timer of its share once.
    pub async fn run_once(&self) -> Result<Report, StoreError> {
        let mut report = Report::default();
        let mut after = None;
        let share = self.shares.present(&*self.backend).await;
        if share.is_empty() {
            return Ok(report);
        }
        self.backend.wakeups().disarm_timer();
        loop {
            let timers = self.backend.due(&share, after, self.options.batch).await?;
            let ids: Vec<_> = timers.due.iter().map(|(_, id)| *id).collect();
            for batch in ids.chunks(self.options.batch) {
                self.tick(batch, &mut report).await?;
            }
            for keys in timers.resources.chunks(CONCURRENCY) {
                self.tick_resources(keys, &mut report).await;
            }
            self.run_continuations(&timers.continuations, &mut report).await;
            if timers.more.is_none() {
                self.backend.wakeups().arm_timer(timers.next);
                report.sleep = timers.next.map(|next| until(next, timers.now));
                return Ok(report);
            }
            after = timers.more;
        }
    }

    /// Fires timers of budgets, quotas and tickets concurrently: the effects of one delay
    /// no other.
    async fn tick_resources(&self, keys: &[ResourceKey], report: &mut Report) {
        let mut ticks = JoinSet::new();
        for key in keys.iter().cloned() {
            let backend = self.backend.clone();
            ticks.spawn(async move { (backend.tick_resource(key.clone()).await, key) });
        }
        while let Some(ticked) = ticks.join_next().await {
            match ticked {
                Ok((Ok(true), _)) => report.fired += 1,
                Ok((Ok(false), _)) => report.stale += 1,
                Ok((Err(error), key)) => {
                    outage::failed(&error, &format!("the timer of {key:?} cannot fire"));
                    report.errors += 1;
                }
                Err(gone) => {
                    tracing::error!(%gone, "a timer did not fire");
                    report.errors += 1;
                }
            }
        }
    }

    /// Runs continuations that the processes which added them have left.
    async fn run_continuations(&self, due: &[Continuation], report: &mut Report) {
        let mut calls = JoinSet::new();
        for some in due.chunks(CONTINUATIONS) {
            let (backend, some) = (self.backend.clone(), some.to_vec());
            calls.spawn(async move { (backend.run_continuations(some.clone()).await, some.len()) });
        }
        while let Some(ran) = calls.join_next().await {
            let answers = match ran {
                Ok((Ok(answers), _)) => answers,
                Ok((Err(error), count)) => {
                    outage::failed(&error, "continuations cannot run");
                    report.errors += count as u64;
                    continue;
                }
                Err(gone) => {
                    tracing::error!(%gone, "continuations did not run");
                    report.errors += 1;
                    continue;
                }
            };
            for answer in answers {
                match answer {
                    Ok(Continued::Done | Continued::More(_)) => report.fired += 1,
                    Ok(Continued::Nothing) => report.stale += 1,
                    // The backend reports it, once.
                    Ok(Continued::Unknown) => report.errors += 1,
                    Err(error) => {
                        outage::failed(&error, "a continuation cannot run");
                        report.errors += 1;
                    }
                }
            }
        }
    }

    async fn tick(&self, ids: &[ExecutionId], report: &mut Report) -> Result<(), StoreError> {
        for (answer, id) in self.backend.tick(ids.to_vec()).await?.into_iter().zip(ids) {
            match answer {
                Ok(ticked) if ticked.did.is_some() => report.fired += 1,
                Ok(_) => report.stale += 1,
                Err(error) => {
                    outage::failed(&error, &format!("the timer of {id} cannot fire"));
                    report.errors += 1;
                }
            }
        }
        Ok(())
    }
}

fn until(next: Time, now: Time) -> Duration {
    Duration::from_millis(next.since(now).get())
}
