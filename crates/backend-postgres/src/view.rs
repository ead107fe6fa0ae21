//! What a transaction has read, and what its commands have changed of it.
//!
//! The serial driver runs every command on it as if it were the store: each sees what those before it
//! wrote. What it has not read is a miss: the command is run again from its beginning once that is loaded.
//! A write changes the view and is kept for the flush; what the view cannot follow is forgotten, and read
//! again after the flush.

use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;
use ff_core::collection::{Element, ElementKey, ElementRange};
use ff_core::continuation::{Armed, Continuation, ContinuationChange, Tally};
use ff_core::machine::{Change, Loaded, ReadSet, WriteSet};
use ff_core::payload::BlobKey;
use ff_core::placement::{Entry, QueueEntry};
use ff_core::stream::Kept;
use ff_core::{
    Execution, ExecutionId, IdempotencyKey, Millis, Namespace, Partition, RequestId, Resource,
    ResourceKey, Time, timer,
};
use ff_store::StoreError;
use ff_store::optimistic::MAX_AGE_MS;
use ff_store::serial::Transaction;

use crate::commit::Pending;
use crate::event;
use crate::wants::{Classes, Head, HeadKey, Wants};

/// What is stored under a name.
#[derive(Debug)]
pub(crate) enum Stored<T> {
    There(T),
    Absent,
    /// It cannot be read, and why.
    Unreadable(String),
}

impl<T> Stored<T> {
    fn from_option(stored: Option<T>) -> Stored<T> {
        stored.map_or(Stored::Absent, Stored::There)
    }

    fn there(&self) -> Option<&T> {
        match self {
            Stored::There(found) => Some(found),
            Stored::Absent | Stored::Unreadable(_) => None,
        }
    }
}

/// What a transaction knows of the store.
#[derive(Debug, Default)]
pub(crate) struct View {
    pub(crate) now: Time,
    pub(crate) records: HashMap<ExecutionId, Stored<Execution>>,
    pub(crate) keys: HashMap<(Namespace, IdempotencyKey), Option<ExecutionId>>,
    pub(crate) heads: HashMap<HeadKey, Head>,
    pub(crate) requests: HashMap<RequestId, BTreeSet<ExecutionId>>,
    pub(crate) classes: Classes,
    pub(crate) blobs: HashMap<BlobKey, Option<Bytes>>,
    pub(crate) elements: HashMap<ElementKey, Option<Element>>,
    pub(crate) ranges: HashMap<ElementRange, Vec<Element>>,
    /// How much is kept of each, or why that cannot be read.
    pub(crate) streams: HashMap<ExecutionId, Result<Kept, String>>,
    pub(crate) continuations: HashMap<Continuation, Option<Time>>,
    pub(crate) tallies: HashMap<ExecutionId, Tally>,
    pub(crate) resources: HashMap<ResourceKey, Stored<Resource>>,
    /// What commands have missed since the last load.
    pub(crate) missing: Wants,
    /// The command that runs has missed something.
    pub(crate) has_missed: bool,
    /// What they have written since the last flush.
    pub(crate) pending: Pending,
}

impl View {
    /// Until when what was decided may be written: no timer of what was read comes due, and it is not too
    /// old.
    pub(crate) fn fresh_until(&self) -> Time {
        let records = self.records.values().filter_map(Stored::there);
        let timers = records.filter_map(|record| timer::next(record)).map(|(at, _)| at);
        let resources = self.resources.values().filter_map(Stored::there);
        let all = timers.chain(resources.filter_map(Resource::timer));
        let oldest = self.now + Millis::new(MAX_AGE_MS + 1);
        all.filter(|at| *at > self.now).min().unwrap_or(oldest).min(oldest)
    }

    /// Notes what `reads` asks for and was not read; answers whether it is all there.
    pub(crate) fn want(&mut self, reads: &ReadSet) -> bool {
        let ReadSet {
            records,
            keys,
            nominate,
            claimed_by,
            class,
            blobs,
            elements,
            ranges,
            streams,
            continuations,
            tallies,
            resources,
            tolerant: _,
            lane,
        } = reads;
        let mut missing = Wants::default();
        missing.records.extend(records.iter().filter(|id| !self.records.contains_key(id)));
        missing.keys.extend(keys.iter().filter(|key| !self.keys.contains_key(key)).cloned());
        if let Some(nominate) = nominate {
            let key = head_key(nominate);
            let known = self.heads.get(&key).and_then(|head| head.first(nominate.limit));
            if known.is_none() {
                missing.head(key, nominate.limit);
            }
        }
        missing.requests.extend(claimed_by.filter(|request| !self.requests.contains_key(request)));
        if let Some(class) = class {
            let lane = (class.namespace.clone(), class.lane.clone());
            if !self.classes.contains_key(&lane) {
                missing.classes.insert(lane);
            }
        }
        missing.blobs.extend(blobs.iter().filter(|key| !self.blobs.contains_key(key)));
        let unread = |key: &&ElementKey| !self.elements.contains_key(key);
        missing.elements.extend(elements.iter().filter(unread).cloned());
        let unread = |range: &&ElementRange| !self.ranges.contains_key(range);
        missing.ranges.extend(ranges.iter().filter(unread).cloned());
        missing.streams.extend(streams.iter().filter(|owner| !self.streams.contains_key(owner)));
        let unread = |read: &&Continuation| !self.continuations.contains_key(read);
        missing.continuations.extend(continuations.iter().filter(unread));
        missing.tallies.extend(tallies.iter().filter(|owner| !self.tallies.contains_key(owner)));
        let unread = |key: &&ResourceKey| !self.resources.contains_key(key);
        missing.resources.extend(resources.iter().filter(unread).cloned());
        if let Some((namespace, lane)) = lane {
            let key = ResourceKey::lane_in(Partition::ONLY, namespace, lane);
            if !self.resources.contains_key(&key) {
                missing.lanes.insert(key);
            }
        }
        let is_all = missing.is_empty();
        self.missing.join(missing);
        is_all
    }

    /// Answers what was read before; all of it was.
    fn answer(&self, reads: &ReadSet, loaded: &mut Loaded) -> Result<(), StoreError> {
        for id in &reads.records {
            loaded.records.insert(*id, readable(self.records.get(id))?);
        }
        for key in &reads.keys {
            loaded.keys.insert(key.clone(), self.keys.get(key).copied().flatten());
        }
        if let Some(nominate) = &reads.nominate {
            let head = self.heads.get(&head_key(nominate));
            let candidates = head.and_then(|head| head.first(nominate.limit)).unwrap_or_default();
            self.add_readable(&candidates, loaded);
            loaded.candidates = Some(candidates);
        }
        if let Some(request) = &reads.claimed_by {
            let ids: Vec<_> = self.requests.get(request).into_iter().flatten().copied().collect();
            self.add_readable(&ids, loaded);
            loaded.claimed_by = Some(ids);
        }
        if let Some(class) = &reads.class {
            let all = self.classes.get(&(class.namespace.clone(), class.lane.clone()));
            let others = all.into_iter().flatten().filter(|other| *other != class.class.as_str());
            loaded.other_classes = Some(others.count());
        }
        for key in &reads.blobs {
            loaded.blobs.insert(*key, self.blobs.get(key).cloned().flatten());
        }
        for key in &reads.elements {
            loaded.elements.insert(key.clone(), self.elements.get(key).cloned().flatten());
        }
        for range in &reads.ranges {
            let found = self.ranges.get(range).cloned().unwrap_or_default();
            loaded.ranges.insert(range.clone(), found);
        }
        for owner in &reads.streams {
            let kept = match self.streams.get(owner) {
                Some(Err(why)) => return Err(StoreError::Corrupt(why.clone())),
                Some(Ok(kept)) => *kept,
                None => Kept::default(),
            };
            loaded.streams.insert(*owner, kept);
        }
        for read in &reads.continuations {
            loaded.continuations.insert(*read, self.continuations.get(read).copied().flatten());
        }
        for owner in &reads.tallies {
            loaded.tallies.insert(*owner, self.tallies.get(owner).cloned().unwrap_or_default());
        }
        for key in &reads.resources {
            let stored = self.resources.get(key);
            if let Some(Stored::Unreadable(why)) = stored
                && reads.tolerant
            {
                tracing::error!(why, "a resource is set aside");
                loaded.unreadable.insert(key.clone());
                loaded.resources.insert(key.clone(), None);
                continue;
            }
            loaded.resources.insert(key.clone(), readable(stored)?);
        }
        if let Some((namespace, lane)) = &reads.lane {
            let key = ResourceKey::lane_in(Partition::ONLY, namespace, lane);
            loaded.resources.insert(key.clone(), readable(self.resources.get(&key))?);
            loaded.lane = Some(key);
        }
        Ok(())
    }

    /// Adds records that were found by an index. One that cannot be read must not keep others from being
    /// claimed.
    fn add_readable(&self, ids: &[ExecutionId], loaded: &mut Loaded) {
        for id in ids {
            let stored = self.records.get(id);
            if let Some(Stored::Unreadable(why)) = stored {
                tracing::warn!(execution = %id, why, "a record is skipped");
            }
            loaded.records.insert(*id, stored.and_then(Stored::there).cloned());
        }
    }

    /// Follows a change of a record.
    fn change(&mut self, change: &Change) {
        let id = change.id;
        self.records.insert(id, Stored::from_option(change.after.clone()));
        if change.after.is_none() {
            self.forget_elements(id);
            self.tallies.remove(&id);
            self.blobs.retain(|key, _| key.execution != id);
        }
        if let Some((part, bytes)) = &change.blob {
            self.blobs.insert(BlobKey { execution: id, part: *part }, Some(bytes.clone()));
        }
        if !change.elements.is_empty() {
            self.forget_elements(id);
        }
        for entry in &change.entries.remove {
            match entry {
                Entry::Queue(place) => self.queue(place, |head, score| head.leave((score, id))),
                Entry::Request(request) => {
                    if let Some(ids) = self.requests.get_mut(request) {
                        ids.remove(&id);
                    }
                }
                Entry::Key(namespace, key) => {
                    let named = self.keys.get_mut(&(namespace.clone(), key.clone()));
                    if let Some(named) = named.filter(|named| **named == Some(id)) {
                        *named = None;
                    }
                }
                Entry::Timer(_) | Entry::List(..) | Entry::Attention(..) | Entry::Blocked(..) => {}
            }
        }
        for entry in &change.entries.add {
            match entry {
                Entry::Queue(place) => self.queue(place, |head, score| head.join((score, id))),
                Entry::Request(request) => {
                    if let Some(ids) = self.requests.get_mut(request) {
                        ids.insert(id);
                    }
                }
                Entry::Key(namespace, key) => {
                    self.keys.insert((namespace.clone(), key.clone()), Some(id));
                }
                Entry::Timer(_) | Entry::List(..) | Entry::Attention(..) | Entry::Blocked(..) => {}
            }
        }
    }

    /// Follows a change of a queue.
    fn queue(&mut self, place: &QueueEntry, change: impl Fn(&mut Head, i64)) {
        for (key, head) in &mut self.heads {
            let is_same = (&key.namespace, &key.lane) == (&place.namespace, &place.lane);
            if is_same && key.capabilities.covers(&place.class) {
                change(head, place.score.get());
            }
        }
        if !place.class.is_empty() {
            self.classes.remove(&(place.namespace.clone(), place.lane.clone()));
        }
    }

    /// Whether the feed of a namespace is on, if that was read.
    fn feed_is_on(&self, namespace: &Namespace) -> Option<bool> {
        let feed = self.resources.get(&event::feed(namespace))?.there();
        Some(feed.and_then(Resource::as_feed).is_some_and(|feed| feed.on))
    }

    fn forget_elements(&mut self, owner: ExecutionId) {
        self.elements.retain(|key, _| key.owner != owner);
        self.ranges.retain(|range, _| range.owner != owner);
        self.streams.remove(&owner);
    }
}

impl Transaction for View {
    fn now(&self) -> Time {
        self.now
    }

    fn unconfirmed(&self) -> Millis {
        Millis::ZERO
    }

    fn load(&mut self, reads: &ReadSet, loaded: &mut Loaded) -> Result<(), StoreError> {
        match self.want(reads) {
            true => self.answer(reads, loaded),
            false => {
                self.has_missed = true;
                // The one who runs the command sees that, and runs it again.
                Err(StoreError::Contention)
            }
        }
    }

    fn commit(&mut self, write: WriteSet) -> Result<Vec<Armed>, StoreError> {
        // A change of a feed holds for what comes after it.
        let feeds = write.events.iter().map(|event| event.namespace.clone());
        let feeds: HashMap<_, _> = feeds.map(|of| (of.clone(), self.feed_is_on(&of))).collect();
        for change in &write.changes {
            self.change(change);
        }
        for append in &write.appends {
            self.forget_elements(append.owner);
        }
        for change in &write.resources {
            self.resources.insert(change.key.clone(), Stored::from_option(change.after.clone()));
        }
        for change in &write.continuations {
            let (which, due) = match change {
                ContinuationChange::Add(armed) => (armed.continuation, Some(armed.due)),
                ContinuationChange::Remove(read) => (*read, None),
            };
            self.continuations.insert(which, due);
        }
        for change in &write.tallies {
            self.tallies.remove(&change.owner);
            // Whether the latch adds it is known after the flush.
            if let Some(armed) = change.at_zero {
                self.continuations.remove(&armed.continuation);
            }
        }
        self.pending.add(write, |namespace| feeds.get(namespace).copied().flatten());
        Ok(Vec::new())
    }
}

/// A command that is only decided, to see what it misses.
pub(crate) struct Probe<'a>(pub(crate) &'a mut View);

impl Transaction for Probe<'_> {
    fn now(&self) -> Time {
        self.0.now()
    }

    fn unconfirmed(&self) -> Millis {
        self.0.unconfirmed()
    }

    fn load(&mut self, reads: &ReadSet, loaded: &mut Loaded) -> Result<(), StoreError> {
        self.0.load(reads, loaded)
    }

    fn commit(&mut self, _: WriteSet) -> Result<Vec<Armed>, StoreError> {
        Ok(Vec::new())
    }
}

fn head_key(nominate: &ff_core::machine::Nominate) -> HeadKey {
    HeadKey {
        namespace: nominate.namespace.clone(),
        lane: nominate.lane.clone(),
        capabilities: nominate.capabilities.clone(),
    }
}

/// What is there, or nothing; what cannot be read fails the command.
fn readable<T: Clone>(stored: Option<&Stored<T>>) -> Result<Option<T>, StoreError> {
    match stored {
        Some(Stored::There(found)) => Ok(Some(found.clone())),
        Some(Stored::Unreadable(why)) => Err(StoreError::Corrupt(why.clone())),
        Some(Stored::Absent) | None => Ok(None),
    }
}
