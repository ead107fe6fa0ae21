//! Wake-ups inside one process: waiting claims and timer loops hear of work and timers.
//!
//! Hearing is a hint. A waiter registers **before** it looks at the store, so work that appears in
//! between is either seen or announced; losing every announcement costs latency, never work.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ff_core::{Capabilities, Lane, Namespace, Time};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::lock::lock;

/// How often, at the latest, somebody looks at a queue that people wait on.
pub const NET: Duration = Duration::from_secs(1);

/// Something worth waking somebody for.
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
    /// Time will do something then.
    Timer(Time),
}

/// A queue that can be waited on.
pub type Queue = (Namespace, Lane);

/// The meeting place of announcements and waiters.
#[derive(Debug)]
pub struct Wakeups {
    lines: Arc<Mutex<HashMap<Queue, Line>>>,
    timer: Notify,
    /// The timer loop sleeps until this moment; only an earlier timer is worth waking it.
    armed: AtomicU64,
    engines: Notify,
}

impl Default for Wakeups {
    fn default() -> Self {
        Wakeups {
            lines: Arc::default(),
            timer: Notify::new(),
            armed: AtomicU64::new(u64::MAX),
            engines: Notify::new(),
        }
    }
}

/// Those who wait on one queue, first come first.
#[derive(Debug)]
struct Line {
    waiting: VecDeque<Arc<Waiter>>,
    net_turn: Instant,
}

#[derive(Debug)]
struct Waiter {
    capabilities: Capabilities,
    wake: Notify,
    /// What it was last called for.
    call: Mutex<Option<Cause>>,
}

/// What a waiter was called for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Cause {
    /// Work of this class.
    Work(Capabilities),
    /// Somebody looked without being told and found work.
    Net,
    /// Something unknown.
    Maybe,
}

/// Why a waiter was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Work was announced.
    Announced,
    /// It is this waiter's turn to look anyway.
    Net,
}

impl Wakeups {
    /// Tells waiters what became durable.
    pub fn announce(&self, announcements: impl IntoIterator<Item = Announcement>) {
        for announcement in announcements {
            match announcement {
                Announcement::Work { namespace, lane, class } => {
                    if let Some(line) = lock(&self.lines).get_mut(&(namespace, lane)) {
                        line.call_for(class);
                    }
                }
                Announcement::Timer(due) => {
                    if due.as_ms() < self.armed.load(Ordering::SeqCst) {
                        self.timer.notify_one();
                    }
                }
            }
        }
    }

    /// Something unknown has happened, for example in another process: everybody looks.
    pub fn announce_maybe(&self) {
        for line in lock(&self.lines).values_mut() {
            line.call_all();
        }
        self.timer.notify_one();
    }

    /// An engine process has come or gone.
    pub fn announce_engines(&self) {
        self.engines.notify_one();
    }

    /// Waits until an engine process has come or gone.
    pub async fn engines_changed(&self) {
        self.engines.notified().await;
    }

    /// Has the timer loop look at once: what it acts on has changed.
    pub fn wake_timers(&self) {
        self.timer.notify_one();
    }

    /// A place for work of `queue`. [Join](Ticket::join) the line, look at the store, then wait.
    pub fn ticket(&self, queue: Queue, capabilities: Capabilities) -> Ticket {
        let waiter = Waiter { capabilities, wake: Notify::new(), call: Mutex::new(None) };
        Ticket {
            lines: self.lines.clone(),
            queue,
            waiter: Arc::new(waiter),
            unanswered: AtomicBool::new(false),
        }
    }

    /// Whether a worker of this process that offers `class` waits on `queue` now.
    pub fn is_waited_for(&self, queue: &Queue, class: &Capabilities) -> bool {
        let lines = lock(&self.lines);
        let waiting = lines.get(queue).into_iter().flat_map(|line| &line.waiting);
        waiting.into_iter().any(|waiter| waiter.capabilities.covers(class))
    }

    /// How many wait on `queue`.
    pub fn waiting(&self, queue: &Queue) -> usize {
        lock(&self.lines).get(queue).map_or(0, |line| line.waiting.len())
    }

    /// The queues that somebody waits on.
    pub fn waited_on(&self) -> Vec<Queue> {
        let lines = lock(&self.lines);
        let waited = lines.iter().filter(|(_, line)| !line.waiting.is_empty());
        waited.map(|(queue, _)| queue.clone()).collect()
    }

    /// Whether anybody waits on any queue.
    pub fn anybody_waits(&self) -> bool {
        lock(&self.lines).values().any(|line| !line.waiting.is_empty())
    }

    /// Says that the timer loop is about to read timers: until it [arms](Self::arm_timer), any
    /// timer wakes it.
    pub fn disarm_timer(&self) {
        self.armed.store(u64::MAX, Ordering::SeqCst);
    }

    /// Says until when the timer loop sleeps.
    pub fn arm_timer(&self, next: Option<Time>) {
        self.armed.store(next.map_or(u64::MAX, Time::as_ms), Ordering::SeqCst);
    }

    /// Waits until an earlier timer than the armed one was announced.
    pub async fn timer_changed(&self) {
        self.timer.notified().await;
    }
}

impl Line {
    /// Calls the first in line who covers `class`.
    fn call_for(&mut self, class: Capabilities) {
        let place = self.waiting.iter().position(|waiter| waiter.capabilities.covers(&class));
        if let Some(waiter) = place.and_then(|place| self.waiting.remove(place)) {
            waiter.call(Cause::Work(class));
        }
    }

    fn call_all(&mut self) {
        for waiter in self.waiting.drain(..) {
            waiter.call(Cause::Maybe);
        }
    }

    fn place(&self, waiter: &Arc<Waiter>) -> Option<usize> {
        self.waiting.iter().position(|other| Arc::ptr_eq(other, waiter))
    }
}

impl Waiter {
    fn call(&self, cause: Cause) {
        *lock(&self.call) = Some(cause);
        self.wake.notify_one();
    }

    fn take_call(&self) -> Option<Cause> {
        lock(&self.call).take()
    }
}

/// A waiter's place in line. Dropping it leaves the line; a call it has not answered by looking at
/// the store goes to the others.
#[derive(Debug)]
pub struct Ticket {
    lines: Arc<Mutex<HashMap<Queue, Line>>>,
    queue: Queue,
    waiter: Arc<Waiter>,
    /// A call was taken and the look that answers it has not come back.
    unanswered: AtomicBool,
}

impl Ticket {
    /// Joins the line, before a look at the store.
    pub fn join(&self) {
        self.unanswered.store(true, Ordering::SeqCst);
        let mut lines = lock(&self.lines);
        // The look that follows answers whatever it was called for.
        self.waiter.take_call();
        let line = lines
            .entry(self.queue.clone())
            .or_insert_with(|| Line { waiting: VecDeque::new(), net_turn: Instant::now() + NET });
        if line.place(&self.waiter).is_none() {
            line.waiting.push_back(self.waiter.clone());
        }
    }

    /// The look has come back.
    pub fn looked(&self) {
        self.unanswered.store(false, Ordering::SeqCst);
    }

    /// Waits to be called, or for this waiter's turn to look anyway.
    pub async fn called(&self) -> Call {
        loop {
            let turn = match lock(&self.lines).get(&self.queue) {
                Some(line) => line.net_turn,
                None => return Call::Net,
            };
            tokio::select! {
                () = self.waiter.wake.notified() => {
                    return match *lock(&self.waiter.call) {
                        Some(Cause::Net) => Call::Net,
                        _ => Call::Announced,
                    };
                }
                () = tokio::time::sleep_until(turn) => {}
            }
            // Of all who wait on the queue, one looks at each turn.
            if let Some(line) = lock(&self.lines).get_mut(&self.queue)
                && line.net_turn <= Instant::now()
            {
                line.net_turn = Instant::now() + NET;
                return Call::Net;
            }
        }
    }

    /// Lets the next in line look too: work was found that nobody was told of.
    pub fn pass_on(&self) {
        if let Some(line) = lock(&self.lines).get_mut(&self.queue) {
            let other = |waiter: &Arc<Waiter>| !Arc::ptr_eq(waiter, &self.waiter);
            let place = line.waiting.iter().position(other);
            if let Some(waiter) = place.and_then(|place| line.waiting.remove(place)) {
                waiter.call(Cause::Net);
            }
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut lines = lock(&self.lines);
        let Some(line) = lines.get_mut(&self.queue) else { return };
        if let Some(place) = line.place(&self.waiter) {
            line.waiting.remove(place);
        }
        match self.waiter.take_call() {
            // A look that did not come back may have been for anything.
            _ if self.unanswered.load(Ordering::SeqCst) => line.call_all(),
            Some(Cause::Work(class)) => line.call_for(class),
            Some(Cause::Net | Cause::Maybe) => line.call_all(),
            None => {}
        }
        if line.waiting.is_empty() {
            lines.remove(&self.queue);
        }
    }
}
