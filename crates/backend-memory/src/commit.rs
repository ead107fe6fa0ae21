//! How a decision is written.

use ff_core::ExecutionId;
use ff_core::collection::{Collection, Element};
use ff_core::continuation::{Armed, ContinuationChange, TallyChange};
use ff_core::machine::{Change, ResourceChange, WriteSet};
use ff_core::payload::BlobKey;
use ff_core::placement::Entry;
use ff_core::stream::Trim;

use crate::load::frame_end;
use crate::tables::Tables;

impl Tables {
    /// Whether everything that `write` was decided on is still so.
    pub(crate) fn still_holds(&self, write: &WriteSet) -> bool {
        let version = |key| self.resources.get(key).map(|resource| resource.version);
        let records = write.changes.iter().all(|change| {
            let stored = self.records.get(&change.id).map(|record| record.version);
            stored == change.before && !self.takes_a_key(change)
        });
        let appends = write.appends.iter().all(|append| {
            let stored = self.records.get(&append.owner).map(|record| record.version);
            let next = self.next_number(append.owner, append.collection);
            stored == Some(append.seen) && append.next == next
        });
        let seen = write
            .seen
            .iter()
            .all(|(id, seen)| self.records.get(id).is_some_and(|record| record.version == *seen));
        let continuations = write.continuations.iter().all(|change| match change {
            ContinuationChange::Add(_) => true,
            ContinuationChange::Remove(read) => self.continuations.contains_key(read),
        });
        records
            && seen
            && appends
            && continuations
            && write.resources.iter().all(|change| version(&change.key) == change.before)
            && write.guards.iter().all(|(key, seen)| version(key) == *seen)
    }

    /// Whether `change` would take an idempotency key from another execution.
    fn takes_a_key(&self, change: &Change) -> bool {
        change.entries.add.iter().any(|entry| match entry {
            Entry::Key(namespace, key) => self.keys.contains_key(&(namespace.clone(), key.clone())),
            _ => false,
        })
    }

    /// Writes, and answers the continuations that latches have added.
    pub(crate) fn write(&mut self, write: WriteSet) -> Vec<Armed> {
        // A change of the feed in the same write holds for what comes after it.
        for event in write.events {
            self.log(event);
        }
        for change in write.changes {
            self.change(change);
        }
        for append in write.appends {
            for element in append.elements {
                self.elements.insert((append.owner, append.collection, element.number), element);
            }
            if let Some(trim) = append.trim {
                self.trim(append.owner, append.collection, trim);
            }
        }
        for change in write.resources {
            self.change_resource(change);
        }
        for change in write.continuations {
            match change {
                ContinuationChange::Add(Armed { continuation, due }) => {
                    self.continuations.insert(continuation, due);
                }
                ContinuationChange::Remove(read) => {
                    self.continuations.remove(&read);
                }
            }
        }
        write.tallies.iter().filter_map(|change| self.count(change)).collect()
    }

    /// Removes the oldest frames of a stream.
    fn trim(&mut self, owner: ExecutionId, collection: Collection, trim: Trim) {
        let all = (owner, collection, 0)..=(owner, collection, u64::MAX);
        let goes = |element: &Element| {
            let offset = frame_end(element).and_then(|end| end.offset().ok());
            offset.is_some_and(|offset| trim.takes(element.number, offset))
        };
        let gone = self.elements.range(all).take_while(|(_, element)| goes(element));
        for key in gone.map(|(key, _)| *key).collect::<Vec<_>>() {
            self.elements.remove(&key);
        }
    }

    /// Counts, if the owner is there. Answers the continuation that the latch has added.
    fn count(&mut self, change: &TallyChange) -> Option<Armed> {
        if !self.records.contains_key(&change.owner) {
            return None;
        }
        let tally = self.tallies.entry(change.owner).or_default();
        let added = tally.count(change);
        if tally.is_empty() {
            self.tallies.remove(&change.owner);
        }
        if let Some(Armed { continuation, due }) = added {
            self.continuations.insert(continuation, due);
        }
        added
    }

    fn change_resource(&mut self, change: ResourceChange) {
        if let Some(at) = change.timer_before {
            self.resource_timers.remove(&(at, change.key.clone()));
        }
        match change.after {
            Some(resource) => {
                let timer = resource.timer().map(|at| (at, change.key.clone()));
                self.resource_timers.extend(timer);
                self.resources.insert(change.key, resource);
            }
            None => {
                self.resources.remove(&change.key);
            }
        }
    }

    fn change(&mut self, change: Change) {
        let id = change.id;
        for entry in change.entries.remove {
            self.remove(id, entry);
        }
        for entry in change.entries.add {
            self.add(id, entry);
        }
        if let Some((part, bytes)) = change.blob {
            self.blobs.insert(BlobKey { execution: id, part }, bytes);
        }
        for (collection, element) in change.elements {
            self.elements.insert((id, collection, element.number), element);
        }
        match change.after {
            Some(record) => {
                self.records.insert(id, record);
            }
            None => {
                self.records.remove(&id);
                self.blobs.retain(|key, _| key.execution != id);
                self.elements.retain(|(owner, ..), _| *owner != id);
                self.tallies.remove(&id);
            }
        }
    }
}
