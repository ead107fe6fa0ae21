//! The one thread that writes, and the queue to it.
//!
//! Calls that queue meanwhile become one transaction and share one sync to disk.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ff_core::machine::Command;
use ff_store::StoreError;
use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::error::Fault;
use crate::group::{Answer, Group};
use crate::stats::{Counters, Stats};
use crate::watch::{self, Watch};

/// How many calls may wait for the writer; further ones wait to be queued.
const QUEUED_CALLS: usize = 4_096;
/// How many commands share a transaction, except when one call has more.
const GROUP_COMMANDS: usize = 512;
/// How many bytes of payload share a transaction, except when one call has more.
const GROUP_BYTES: usize = 4 << 20;
/// The part of the time of the last commit that is worth waiting for the callers it answered.
const WAIT_FRACTION: u32 = 4;
/// The longest such wait.
const MAX_WAIT_FOR_CALLERS: Duration = Duration::from_millis(1);

/// A job for the connection that writes.
enum Job {
    Execute(Call),
    /// Anything else that needs the connection.
    Alone(Box<dyn FnOnce(&Connection) + Send>, OwnedSemaphorePermit),
}

/// Commands of one caller.
struct Call {
    batch: Vec<Command>,
    answer: oneshot::Sender<Vec<Answer>>,
    _place: OwnedSemaphorePermit,
}

/// The queue to the writer. Dropping it lets the writer finish what is queued and end.
pub(crate) struct Writer {
    jobs: Option<Sender<Job>>,
    places: Arc<Semaphore>,
    counters: Arc<Counters>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Moves `group` and its connection to a new thread.
    pub(crate) fn start(group: Group) -> Result<Writer, StoreError> {
        let (jobs, queue) = mpsc::channel();
        let counters = group.counters.clone();
        // From here on, writes of others are detected.
        let watch = Watch::start(&group.connection);
        let mut writer_loop = WriterLoop::new(group, queue);
        let thread = std::thread::Builder::new()
            .name("ff-sqlite-writer".into())
            .spawn(move || writer_loop.work(watch))
            .map_err(|error| StoreError::Unavailable(format!("cannot start a thread: {error}")))?;
        let places = Arc::new(Semaphore::new(QUEUED_CALLS));
        Ok(Writer { jobs: Some(jobs), places, counters, thread: Some(thread) })
    }

    /// Runs commands in order; each gets a separate answer.
    pub(crate) async fn execute(&self, batch: Vec<Command>) -> Vec<Answer> {
        let commands = batch.len();
        let (answer, answered) = oneshot::channel();
        self.send(|_place| Job::Execute(Call { batch, answer, _place })).await;
        answered.await.unwrap_or_else(|_| vec![Err(gone()); commands])
    }

    /// Runs `work` on the connection that writes, between transactions.
    pub(crate) async fn with_connection<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let work = move |connection: &Connection| {
            // A dropped caller needs no answer.
            let _ = answer.send(work(connection));
        };
        self.send(|place| Job::Alone(Box::new(work), place)).await;
        Ok(answered.await.map_err(|_| gone())??)
    }

    /// The counters so far.
    pub(crate) fn stats(&self) -> Stats {
        self.counters.read()
    }

    /// Queues a job. One that cannot be queued is dropped with its reply channel, by which
    /// its caller learns that the writer is gone.
    async fn send(&self, job: impl FnOnce(OwnedSemaphorePermit) -> Job) {
        if let Ok(place) = self.places.clone().acquire_owned().await
            && let Some(jobs) = &self.jobs
        {
            let _ = jobs.send(job(place));
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the writer of a store ended in a panic");
        }
    }
}

fn gone() -> StoreError {
    StoreError::Unavailable("the writer did not answer".into())
}

/// The loop of the writer thread: takes jobs from the queue and commits them in groups.
struct WriterLoop {
    group: Group,
    queue: Receiver<Job>,
    /// Taken from the queue and still to do.
    backlog: VecDeque<Job>,
    /// How many calls the next group would have if every caller that was just answered called again.
    expected: usize,
    /// How long it is worth waiting for them. Without it callers fall into two cohorts, each
    /// waiting for the sync of the other.
    wait_until: Instant,
}

impl WriterLoop {
    fn new(group: Group, queue: Receiver<Job>) -> WriterLoop {
        let (backlog, wait_until) = (VecDeque::new(), Instant::now());
        WriterLoop { group, queue, backlog, expected: 0, wait_until }
    }

    /// Works until all senders are dropped and everything is done.
    fn work(&mut self, mut watch: Watch) {
        loop {
            let job = match self.backlog.pop_front() {
                Some(job) => Ok(job),
                None => self.queue.recv_timeout(watch::EVERY),
            };
            match job {
                Ok(job) => {
                    // A caller that gets no answer because of this sees that its call was dropped.
                    if catch_unwind(AssertUnwindSafe(|| self.turn(job))).is_err() {
                        tracing::error!("the writer of a store panicked and continues");
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let others = watch.check(&self.group.connection);
            if others.wrote {
                self.group.wakeups.announce_maybe();
            }
            if others.engines {
                self.group.wakeups.announce_engines();
            }
        }
    }

    fn turn(&mut self, job: Job) {
        let first = match job {
            Job::Execute(call) => call,
            Job::Alone(work, _place) => return work(&self.group.connection),
        };
        let calls = self.gather(first);
        let commands: Vec<_> = calls.iter().flat_map(|call| &call.batch).collect();
        let done = self.group.run(&commands);
        // Callers answered below may call again before the last of them is answered.
        self.backlog.extend(self.queue.try_iter());
        self.expected = self.backlog.len() + calls.len();
        // An answered caller settles stopped executions, and finds them queued.
        let Group { wakeups, settlements, continuations, .. } = &self.group;
        done.after.publish(wakeups, settlements, continuations);
        let mut answers = done.answers.into_iter();
        for call in calls {
            let own = answers.by_ref().take(call.batch.len()).collect();
            // A dropped caller needs no answer.
            let _ = call.answer.send(own);
        }
        self.wait_until =
            Instant::now() + (done.commit_time / WAIT_FRACTION).min(MAX_WAIT_FOR_CALLERS);
    }

    /// The calls that share a transaction with `first`.
    fn gather(&mut self, first: Call) -> Vec<Call> {
        let (mut commands, mut bytes) = first.size();
        let mut calls = vec![first];
        while commands < GROUP_COMMANDS && bytes < GROUP_BYTES {
            match self.next(calls.len()) {
                Some(Job::Execute(call)) => {
                    let size = call.size();
                    (commands, bytes) = (commands + size.0, bytes + size.1);
                    calls.push(call);
                }
                Some(alone) => {
                    self.backlog.push_front(alone);
                    break;
                }
                None => break,
            }
        }
        calls
    }

    /// The next job; when there is none, one that arrives before it is too late to wait for it.
    fn next(&mut self, gathered: usize) -> Option<Job> {
        if let Some(job) = self.backlog.pop_front().or_else(|| self.queue.try_recv().ok()) {
            return Some(job);
        }
        if gathered >= self.expected {
            return None;
        }
        let left = self.wait_until.saturating_duration_since(Instant::now());
        self.queue.recv_timeout(left).ok()
    }
}

impl Call {
    /// How many commands it has and how many bytes of payload.
    fn size(&self) -> (usize, usize) {
        let bytes = self.batch.iter().map(|command| command.action.facts().payload_bytes);
        (self.batch.len(), bytes.sum())
    }
}
