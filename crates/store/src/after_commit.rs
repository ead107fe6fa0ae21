//! What follows a commit: waiters are woken, executions that have stopped are settled, continuations are
//! run, and changes of executions are counted.
//!
//! A backend publishes this once a write is durable. The calls of [roles](crate::roles) run in tasks
//! that the process owns, so a caller that goes away loses none of it.

use ff_core::collection::Collection;
use ff_core::continuation::{Armed, Continuation, ContinuationChange};
use ff_core::machine::{Change, Settlement, WriteSet};
use ff_core::placement::Entry;

use crate::admission::queue::SettlementQueue;
use crate::continuations::ContinuationQueue;
use crate::metrics::{self, Counted};
use crate::stops::Stop;
use crate::wakeups::{Announcement, Wakeups};

/// What follows from writes once they are durable.
#[derive(Debug, Default)]
pub struct AfterCommit {
    announcements: Vec<Announcement>,
    settlements: Vec<Settlement>,
    continuations: Vec<Continuation>,
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
        let framed = write.changes.iter().filter(|change| {
            change.elements.iter().any(|(collection, _)| *collection == Collection::Frames)
        });
        let framed = framed.map(|change| change.id);
        let framed = framed.chain(write.appends.iter().map(|append| append.owner));
        self.announcements.extend(framed.map(Announcement::Frames));
        self.announcements.extend(Stop::all(write).map(Announcement::Stop));
        self.settlements.extend(write.settlements.iter().cloned());
        self.adds(write.continuations.iter().filter_map(|change| match change {
            ContinuationChange::Add(armed) => Some(*armed),
            ContinuationChange::Remove(_) => None,
        }));
        let logged = write.events.iter().map(|event| event.namespace.clone());
        self.announcements.extend(logged.map(Announcement::Events));
        self.counted.extend(write.events.iter().filter_map(|event| {
            let change = write.changes.iter().find(|change| change.id == event.execution())?;
            Counted::of(change.after.as_ref()?, event.what, event.at)
        }));
    }

    /// Adds what follows from continuations that were added, by a write or by its latches.
    pub fn adds(&mut self, added: impl IntoIterator<Item = Armed>) {
        for Armed { continuation, due } in added {
            self.announcements.push(Announcement::Timer(due));
            self.continuations.push(continuation);
        }
    }

    /// What waiters are woken for, for a store that wakes those of other processes too.
    pub fn announcements(&self) -> &[Announcement] {
        &self.announcements
    }

    /// Adds what follows from other writes.
    pub fn join(&mut self, other: AfterCommit) {
        self.announcements.extend(other.announcements);
        self.settlements.extend(other.settlements);
        self.continuations.extend(other.continuations);
        self.counted.extend(other.counted);
    }

    /// Wakes waiters, queues settlements and continuations for the process, and counts.
    pub fn publish(
        self,
        wakeups: &Wakeups,
        settlements: &SettlementQueue,
        continuations: &ContinuationQueue,
    ) {
        settlements.push(self.settlements);
        continuations.push(self.continuations);
        wakeups.announce(self.announcements);
        metrics::count(&self.counted);
    }
}
