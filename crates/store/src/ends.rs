//! Waits for the end of executions within one process: hints, shared reads, and a poll for lost hints.
//!
//! A hint says that an execution may have ended; its record says whether it has. A waiter registers
//! **before** it reads the record, so it either reads the end or gets a hint; a lost hint delays it by up
//! to a second. While there are no waiters, a hint costs one atomic load.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use ff_core::machine::Target;
use ff_core::{Description, Execution, ExecutionId, Millis, Refusal};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::error::StoreError;
use crate::lock::lock;
use crate::store::Store;
use crate::wakeups::{POLL_INTERVAL, Wake};

/// The most executions of one process whose waiters get hints. Waiters of others rely on the poll.
pub(crate) const EXECUTIONS: usize = 65_536;

/// The most new waits that are queued for a store that listens for them. Others are reported later.
const ARRIVALS: usize = 1_024;

/// The record of `target` once it has ended, or as it is after `longest`.
pub(crate) async fn end<S: Store + ?Sized>(
    store: &S,
    target: &Target,
    longest: Millis,
) -> Result<Description, StoreError> {
    let give_up = Instant::now() + Duration::from_millis(longest.get());
    let mut waiting = store.wakeups().ends().wait_for(target.execution);
    let mut is_over = longest == Millis::ZERO;
    loop {
        let found = waiting.read(store).await?;
        let mine = found.filter(|record| record.spec.namespace == target.namespace);
        let Some(record) = mine else { return Err(Refusal::NotFound.into()) };
        if is_over || record.outcome().is_some() {
            return Ok(record.description.clone());
        }
        is_over = timeout_at(give_up, waiting.woken()).await.is_err();
    }
}

/// The executions that have waiters in this process.
#[derive(Debug, Default)]
pub struct Ends(Arc<Registry>);

#[derive(Debug, Default)]
struct Registry {
    executions: Mutex<HashMap<ExecutionId, Arc<Watched>>>,
    /// How many there are, so that a hint without waiters takes no lock.
    count: AtomicUsize,
    /// Reports new waits to a store that has to listen to other processes.
    listener: OnceLock<mpsc::Sender<ExecutionId>>,
}

/// One execution, and what its waiters share.
#[derive(Debug)]
struct Watched {
    /// The number of waiters; changed under the lock of the registry.
    waiters: AtomicUsize,
    /// Grows with every request to read the record again. A hint also wakes the waiters.
    asked: watch::Sender<u64>,
    /// When one of the waiters polls: reads the record without a hint.
    next_poll: Mutex<Instant>,
    /// The last read. Its holder reads for all.
    last: tokio::sync::Mutex<Read>,
}

#[derive(Debug)]
struct Read {
    /// The newest request when it began.
    answers: u64,
    found: Found,
}

type Found = Result<Option<Arc<Execution>>, StoreError>;

impl Watched {
    fn new() -> Watched {
        Watched {
            waiters: AtomicUsize::new(0),
            asked: watch::Sender::new(0),
            next_poll: Mutex::new(Instant::now() + POLL_INTERVAL),
            last: tokio::sync::Mutex::new(Read { answers: 0, found: Ok(None) }),
        }
    }

    /// Makes every waiter read the record.
    fn hint(&self) {
        self.asked.send_modify(|asked| *asked += 1);
    }

    /// Requests a read that begins after this call; no other waiter is woken.
    fn ask(&self) -> u64 {
        let mut number = 0;
        self.asked.send_if_modified(|asked| {
            *asked += 1;
            number = *asked;
            false
        });
        number
    }
}

impl Ends {
    /// Registers a wait for the end of `id`. [Read](Waiting::read) the record, then wait.
    pub fn wait_for(&self, id: ExecutionId) -> Waiting {
        let mut executions = lock(&self.0.executions);
        let known = executions.get(&id).cloned();
        let watched = known.unwrap_or_else(|| Arc::new(Watched::new()));
        if watched.waiters.fetch_add(1, Ordering::SeqCst) == 0 && executions.len() < EXECUTIONS {
            executions.insert(id, watched.clone());
            self.0.count.store(executions.len(), Ordering::SeqCst);
        }
        drop(executions);
        let hints = watched.asked.subscribe();
        let registry = self.0.clone();
        Waiting {
            registry,
            id,
            watched,
            hints,
            hinted: None,
            is_reported: false,
            polls: false,
            is_reading: false,
        }
    }

    /// `id` may have ended or been removed: its waiters read its record.
    pub fn hint(&self, id: ExecutionId) {
        if self.0.count.load(Ordering::SeqCst) > 0
            && let Some(watched) = lock(&self.0.executions).get(&id)
        {
            watched.hint();
        }
    }

    /// Any of the executions that `which` accepts may have ended.
    pub fn hint_where(&self, which: impl Fn(ExecutionId) -> bool) {
        if self.0.count.load(Ordering::SeqCst) > 0 {
            let executions = lock(&self.0.executions);
            let hinted = executions.iter().filter(|(id, _)| which(**id));
            hinted.for_each(|(_, watched)| watched.hint());
        }
    }

    /// The executions that have waiters.
    pub fn waited_for(&self) -> Vec<ExecutionId> {
        lock(&self.0.executions).keys().copied().collect()
    }

    /// The number of waiters of `id`.
    pub fn waiting(&self, id: ExecutionId) -> usize {
        let executions = lock(&self.0.executions);
        executions.get(&id).map_or(0, |watched| watched.waiters.load(Ordering::SeqCst))
    }

    /// The executions that get a waiter from now on, for a store that listens to other processes only
    /// where there are waiters. There is one such listener.
    pub fn arrivals(&self) -> mpsc::Receiver<ExecutionId> {
        let (listener, arrivals) = mpsc::channel(ARRIVALS);
        let _ = self.0.listener.set(listener);
        arrivals
    }
}

/// A registered wait for the end of one execution. Dropping it ends the wait.
#[derive(Debug)]
pub struct Waiting {
    registry: Arc<Registry>,
    id: ExecutionId,
    watched: Arc<Watched>,
    hints: watch::Receiver<u64>,
    /// The hint that it was woken by, until the record is read.
    hinted: Option<u64>,
    /// Whether the store that listens knows of this wait.
    is_reported: bool,
    /// Whether it polls for all waiters.
    polls: bool,
    is_reading: bool,
}

impl Waiting {
    /// The record. All waiters that one hint has woken share one read of it.
    pub async fn read<S: Store + ?Sized>(&mut self, store: &S) -> Found {
        self.is_reading = true;
        let number = self.hinted.take().unwrap_or_else(|| {
            self.hints.mark_unchanged();
            self.watched.ask()
        });
        let mut last = self.watched.last.lock().await;
        if last.answers < number {
            let answers = *self.watched.asked.borrow();
            let found = store.record(self.id).await.map(|record| record.map(Arc::new));
            *last = Read { answers, found };
        }
        let found = last.found.clone();
        drop(last);
        self.is_reading = false;
        let has_ended = |record: &Option<Arc<Execution>>| {
            record.as_ref().is_none_or(|record| record.outcome().is_some())
        };
        if std::mem::take(&mut self.polls) && found.as_ref().is_ok_and(has_ended) {
            self.watched.hint();
        }
        found
    }

    /// Waits for a hint, or for this waiter's turn to poll.
    pub async fn woken(&mut self) -> Wake {
        self.report();
        loop {
            let turn = *lock(&self.watched.next_poll);
            tokio::select! {
                biased;
                // The other end of the channel lives as long as this one.
                _ = self.hints.changed() => {
                    self.hinted = Some(*self.hints.borrow_and_update());
                    return Wake::Announced;
                }
                () = sleep_until(turn) => {}
            }
            // Of all waiters of one execution, one polls at each turn.
            let mut turn = lock(&self.watched.next_poll);
            let now = Instant::now();
            if *turn <= now {
                *turn = now + POLL_INTERVAL;
                self.polls = true;
                return Wake::Poll;
            }
        }
    }

    fn report(&mut self) {
        if let Some(listener) = self.registry.listener.get()
            && !self.is_reported
        {
            self.is_reported = listener.try_send(self.id).is_ok();
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut executions = lock(&self.registry.executions);
        let left = self.watched.waiters.fetch_sub(1, Ordering::SeqCst) - 1;
        let is_listed =
            executions.get(&self.id).is_some_and(|watched| Arc::ptr_eq(watched, &self.watched));
        if left == 0 && is_listed {
            executions.remove(&self.id);
            self.registry.count.store(executions.len(), Ordering::SeqCst);
        }
        drop(executions);
        if self.polls || self.is_reading {
            // The abandoned read may have been for all waiters.
            self.watched.hint();
        }
    }
}
