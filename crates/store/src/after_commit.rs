//! What follows a commit: waiters are woken, executions that have stopped are settled, and changes of
//! executions are counted.
//!
//! A backend publishes this once a write is durable. The calls of [roles](crate::roles) run in tasks
//! that the process owns, so a caller that goes away loses none of it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use ff_core::machine::{Change, Settlement, WriteSet};
use ff_core::placement::Entry;

use crate::lock::lock;
use crate::metrics::{self, Counted};
use crate::stops::Stop;
use crate::wakeups::{Announcement, Wakeups};

/// What follows from writes once they are durable.
#[derive(Debug, Default)]
pub struct AfterCommit {
    announcements: Vec<Announcement>,
    settlements: Vec<Settlement>,
    counted: Vec<Counted>,
}

impl AfterCommit {
    /// Adds what follows from `write`.
    pub fn add(&mut self, write: &WriteSet) {
        let added = write.changes.iter().flat_map(|change| &change.entries.add);
        self.announcements.extend(added.filter_map(|entry| match entry {
            Entry::Queue(place) => Some(Announcement::Work {
                namespace: place.namespace.clone(),
                lane: place.lane.clone(),
                class: place.class.clone(),
            }),
            Entry::Timer(due) => Some(Announcement::Timer(*due)),
            _ => None,
        }));
        let resources = write.resources.iter().filter_map(|change| change.after.as_ref());
        self.announcements.extend(resources.filter_map(|r| r.timer()).map(Announcement::Timer));
        // One that had ended before is announced again, and nobody waits for it.
        let over = |change: &&Change| change.after.as_ref().is_none_or(|r| r.outcome().is_some());
        let ended = write.changes.iter().filter(over);
        self.announcements.extend(ended.map(|change| Announcement::Ended(change.id)));
        self.announcements.extend(Stop::all(write).map(Announcement::Stop));
        self.settlements.extend(write.settlements.iter().cloned());
        self.counted.extend(write.events.iter().filter_map(|event| {
            let change = write.changes.iter().find(|change| change.id == event.execution)?;
            Counted::of(change.after.as_ref()?, event.what, event.at)
        }));
    }

    /// Adds what follows from other writes.
    pub fn join(&mut self, other: AfterCommit) {
        self.announcements.extend(other.announcements);
        self.settlements.extend(other.settlements);
        self.counted.extend(other.counted);
    }

    /// Wakes waiters, queues settlements for the process, and counts.
    pub fn publish(self, wakeups: &Wakeups, settlements: &SettlementQueue) {
        settlements.push(self.settlements);
        wakeups.announce(self.announcements);
        metrics::count(&self.counted);
    }
}

/// Settlements that commits of this process have made necessary and that are still to be made.
#[derive(Debug, Default)]
pub struct SettlementQueue {
    queue: Mutex<Vec<Settlement>>,
    /// So that a command that stops nothing pays for no lock.
    any: AtomicBool,
}

impl SettlementQueue {
    /// Queues settlements.
    pub fn push(&self, settlements: impl IntoIterator<Item = Settlement>) {
        let mut settlements = settlements.into_iter().peekable();
        if settlements.peek().is_some() {
            lock(&self.queue).extend(settlements);
            self.any.store(true, Ordering::SeqCst);
        }
    }

    /// Whether nothing is queued.
    pub fn is_empty(&self) -> bool {
        !self.any.load(Ordering::SeqCst)
    }

    /// Takes everything that is queued.
    pub fn take(&self) -> Vec<Settlement> {
        match self.any.swap(false, Ordering::SeqCst) {
            true => std::mem::take(&mut *lock(&self.queue)),
            false => Vec::new(),
        }
    }
}
