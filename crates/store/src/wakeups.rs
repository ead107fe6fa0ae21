//! Wake-ups inside one process: announcements of work, timers and ends reach waiting claims, timer loops
//! and those who [wait for the end](crate::ends) of an execution.
//!
//! An announcement is a hint. A waiter registers **before** it reads the store, so work that appears in
//! between is either read or announced; losing every announcement costs latency, never work.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ff_core::{Capabilities, ExecutionId, Lane, Namespace, Time};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::ends::Ends;
use crate::events::hints::EventHints;
use crate::lock::lock;
use crate::stops::{Stop, Stops};
use crate::tails::Tails;

/// How often, at the latest, a queue with waiting claims is read without an announcement.
pub const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Something worth waking a waiter for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Announcement {
    /// An execution joined a queue.
    Work {
        /// The tenant.
        namespace: Namespace,
        /// The queue.
        lane: Lane,
        /// What a worker must offer.
        class: Capabilities,
    },
    /// A timer is due then.
    Timer(Time),
    /// An execution has ended, or is gone.
    Ended(ExecutionId),
    /// An execution has new frames.
    Frames(ExecutionId),
    /// A worker should look at what it holds.
    Stop(Stop),
    /// A namespace has new events.
    Events(Namespace),
}

/// A queue that can be waited on.
pub type Queue = (Namespace, Lane);

/// Passes announcements to the waiters of this process.
#[derive(Debug)]
pub struct Wakeups {
    queues: Arc<Mutex<HashMap<Queue, Waiters>>>,
    timer: Notify,
    /// The timer loop sleeps until this moment; only an earlier timer is worth waking it.
    armed: AtomicU64,
    engines: Notify,
    ends: Ends,
    stops: Stops,
    tails: Tails,
    events: EventHints,
}

impl Default for Wakeups {
    fn default() -> Self {
        Wakeups {
            queues: Arc::default(),
            timer: Notify::new(),
            armed: AtomicU64::new(u64::MAX),
            engines: Notify::new(),
            ends: Ends::default(),
            stops: Stops::default(),
            tails: Tails::default(),
            events: EventHints::default(),
        }
    }
}

/// The claims that wait on one queue, in the order in which they came.
#[derive(Debug)]
struct Waiters {
    waiting: VecDeque<Arc<Waiter>>,
    next_poll: Instant,
}

#[derive(Debug)]
struct Waiter {
    capabilities: Capabilities,
    notify: Notify,
    /// Why it was last woken, until it has read the store.
    cause: Mutex<Option<Cause>>,
}

/// Why a waiter is woken.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Cause {
    /// Work of this class.
    Work(Capabilities),
    /// Another waiter polled and found work.
    Poll,
    /// Something unknown.
    Maybe,
}

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// Work was announced.
    Announced,
    /// It is this waiter's turn to read the store without an announcement.
    Poll,
}

impl Wakeups {
    /// Wakes those that wait for what has become durable.
    pub fn announce(&self, announcements: impl IntoIterator<Item = Announcement>) {
        for announcement in announcements {
            match announcement {
                Announcement::Work { namespace, lane, class } => {
                    if let Some(waiters) = lock(&self.queues).get_mut(&(namespace, lane)) {
                        waiters.wake_for(class);
                    }
                }
                Announcement::Timer(due) => {
                    if due.as_ms() < self.armed.load(Ordering::SeqCst) {
                        self.timer.notify_one();
                    }
                }
                Announcement::Ended(id) => self.ends.hint(id),
                Announcement::Frames(id) => self.tails.hint(id),
                Announcement::Stop(stop) => self.stops.announce(stop),
                Announcement::Events(namespace) => self.events.hint(namespace.as_str()),
            }
        }
    }

    /// Something unknown has happened, for example in another process: wakes every waiter.
    pub fn announce_maybe(&self) {
        for waiters in lock(&self.queues).values_mut() {
            waiters.wake_all();
        }
        self.timer.notify_one();
        self.ends.hint_where(|_| true);
        self.events.hint_all();
    }

    /// The namespaces whose events are followed.
    pub fn events(&self) -> &EventHints {
        &self.events
    }

    /// The executions whose end is waited for.
    pub fn ends(&self) -> &Ends {
        &self.ends
    }

    /// The streams that are followed.
    pub fn tails(&self) -> &Tails {
        &self.tails
    }

    /// What was stopped while a worker held it.
    pub fn stops(&self) -> &Stops {
        &self.stops
    }

    /// An engine process has come or gone: wakes every engine of this process.
    pub fn announce_engines(&self) {
        self.engines.notify_waiters();
        // One that is not waiting yet.
        self.engines.notify_one();
    }

    /// Waits until an engine process has come or gone.
    pub async fn engines_changed(&self) {
        self.engines.notified().await;
    }

    /// Subscribes to work of `queue`. [Register](Subscription::register), read the store, then wait.
    pub fn subscribe(&self, queue: Queue, capabilities: Capabilities) -> Subscription {
        let waiter = Waiter { capabilities, notify: Notify::new(), cause: Mutex::new(None) };
        Subscription {
            queues: self.queues.clone(),
            queue,
            waiter: Arc::new(waiter),
            reading: AtomicBool::new(false),
        }
    }

    /// Whether a worker of this process that offers `class` waits on `queue` now.
    pub fn is_waited_for(&self, queue: &Queue, class: &Capabilities) -> bool {
        let queues = lock(&self.queues);
        let waiting = queues.get(queue).into_iter().flat_map(|waiters| &waiters.waiting);
        waiting.into_iter().any(|waiter| waiter.capabilities.covers(class))
    }

    /// How many wait on `queue`.
    pub fn waiting(&self, queue: &Queue) -> usize {
        lock(&self.queues).get(queue).map_or(0, |waiters| waiters.waiting.len())
    }

    /// The queues that a claim waits on.
    pub fn waited_on(&self) -> Vec<Queue> {
        let queues = lock(&self.queues);
        let waited = queues.iter().filter(|(_, waiters)| !waiters.waiting.is_empty());
        waited.map(|(queue, _)| queue.clone()).collect()
    }

    /// Whether any claim waits.
    pub fn anybody_waits(&self) -> bool {
        lock(&self.queues).values().any(|waiters| !waiters.waiting.is_empty())
    }

    /// The timer loop is about to read timers: until it [arms](Self::arm_timer), any
    /// timer wakes it.
    pub fn disarm_timer(&self) {
        self.armed.store(u64::MAX, Ordering::SeqCst);
    }

    /// The timer loop sleeps until `next`.
    pub fn arm_timer(&self, next: Option<Time>) {
        self.armed.store(next.map_or(u64::MAX, Time::as_ms), Ordering::SeqCst);
    }

    /// Waits until an earlier timer than the armed one was announced.
    pub async fn timer_changed(&self) {
        self.timer.notified().await;
    }
}

impl Waiters {
    /// Wakes the first waiter that covers `class`.
    fn wake_for(&mut self, class: Capabilities) {
        let place = self.waiting.iter().position(|waiter| waiter.capabilities.covers(&class));
        if let Some(waiter) = place.and_then(|place| self.waiting.remove(place)) {
            waiter.wake(Cause::Work(class));
        }
    }

    fn wake_all(&mut self) {
        for waiter in self.waiting.drain(..) {
            waiter.wake(Cause::Maybe);
        }
    }

    fn place(&self, waiter: &Arc<Waiter>) -> Option<usize> {
        self.waiting.iter().position(|other| Arc::ptr_eq(other, waiter))
    }
}

impl Waiter {
    fn wake(&self, cause: Cause) {
        *lock(&self.cause) = Some(cause);
        self.notify.notify_one();
    }

    fn take_cause(&self) -> Option<Cause> {
        lock(&self.cause).take()
    }
}

/// A claim's wait for work of one queue. Dropping it ends the wait; a wake-up that it has not answered
/// by reading the store is passed to the others.
#[derive(Debug)]
pub struct Subscription {
    queues: Arc<Mutex<HashMap<Queue, Waiters>>>,
    queue: Queue,
    waiter: Arc<Waiter>,
    /// The store is being read, and the answer has not come.
    reading: AtomicBool,
}

impl Subscription {
    /// Registers the wait, before the store is read.
    pub fn register(&self) {
        self.reading.store(true, Ordering::SeqCst);
        let mut queues = lock(&self.queues);
        // The read that follows answers whatever it was woken for.
        self.waiter.take_cause();
        let waiters = queues.entry(self.queue.clone()).or_insert_with(|| Waiters {
            waiting: VecDeque::new(),
            next_poll: Instant::now() + POLL_INTERVAL,
        });
        if waiters.place(&self.waiter).is_none() {
            waiters.waiting.push_back(self.waiter.clone());
        }
    }

    /// The store has been read.
    pub fn has_read(&self) {
        self.reading.store(false, Ordering::SeqCst);
    }

    /// Waits for an announcement, or for this waiter's turn to poll.
    pub async fn woken(&self) -> Wake {
        loop {
            let turn = match lock(&self.queues).get(&self.queue) {
                Some(waiters) => waiters.next_poll,
                None => return Wake::Poll,
            };
            tokio::select! {
                () = self.waiter.notify.notified() => {
                    return match *lock(&self.waiter.cause) {
                        Some(Cause::Poll) => Wake::Poll,
                        _ => Wake::Announced,
                    };
                }
                () = tokio::time::sleep_until(turn) => {}
            }
            // Of all that wait on the queue, one polls at each turn.
            if let Some(waiters) = lock(&self.queues).get_mut(&self.queue)
                && waiters.next_poll <= Instant::now()
            {
                waiters.next_poll = Instant::now() + POLL_INTERVAL;
                return Wake::Poll;
            }
        }
    }

    /// Wakes the next waiter too: there was work that no announcement had mentioned.
    pub fn pass_on(&self) {
        if let Some(waiters) = lock(&self.queues).get_mut(&self.queue) {
            let other = |waiter: &Arc<Waiter>| !Arc::ptr_eq(waiter, &self.waiter);
            let place = waiters.waiting.iter().position(other);
            if let Some(waiter) = place.and_then(|place| waiters.waiting.remove(place)) {
                waiter.wake(Cause::Poll);
            }
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut queues = lock(&self.queues);
        let Some(waiters) = queues.get_mut(&self.queue) else { return };
        if let Some(place) = waiters.place(&self.waiter) {
            waiters.waiting.remove(place);
        }
        match self.waiter.take_cause() {
            // A read that was given up may have been for anything.
            _ if self.reading.load(Ordering::SeqCst) => waiters.wake_all(),
            Some(Cause::Work(class)) => waiters.wake_for(class),
            Some(Cause::Poll | Cause::Maybe) => waiters.wake_all(),
            None => {}
        }
        if waiters.waiting.is_empty() {
            queues.remove(&self.queue);
        }
    }
}
