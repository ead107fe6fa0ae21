//! The contents of the store: records, what is stored with them, and indexes.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use ff_core::collection::{Collection, Element};
use ff_core::continuation::{Continuation, Tally};
use ff_core::limits::Blocker;
use ff_core::payload::BlobKey;
use ff_core::placement::{AdmissionClass, Attention, Entry, QueueEntry, Score};
use ff_core::{
    Capabilities, Execution, ExecutionId, IdempotencyKey, Lane, Namespace, Partition, RequestId,
    Resource, ResourceKey, SettingName, Time,
};
use ff_store::{EngineId, Position};

use crate::events::{Late, Log};

/// The contents. Indexes are changed only by [`Tables::add`] and [`Tables::remove`].
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// How many partitions there are.
    pub(crate) partitions: u16,
    pub(crate) records: BTreeMap<ExecutionId, Execution>,
    pub(crate) blobs: BTreeMap<BlobKey, Bytes>,
    pub(crate) elements: BTreeMap<(ExecutionId, Collection, u64), Element>,
    pub(crate) queues: BTreeMap<Queue, Classes>,
    pub(crate) timers: BTreeMap<Time, BTreeSet<ExecutionId>>,
    pub(crate) requests: BTreeMap<RequestId, BTreeSet<ExecutionId>>,
    pub(crate) list: BTreeMap<Namespace, BTreeSet<Position>>,
    pub(crate) attention: BTreeMap<(Namespace, Attention), BTreeSet<Position>>,
    pub(crate) keys: BTreeMap<(Namespace, IdempotencyKey), ExecutionId>,
    pub(crate) blocked: BTreeMap<Waiting, BTreeSet<(Score, ExecutionId)>>,
    pub(crate) continuations: BTreeMap<Continuation, Time>,
    pub(crate) tallies: BTreeMap<ExecutionId, Tally>,
    pub(crate) resources: BTreeMap<ResourceKey, Resource>,
    pub(crate) resource_timers: BTreeSet<(Time, ResourceKey)>,
    pub(crate) events: BTreeMap<(Namespace, Partition), Log>,
    /// How often events were read.
    pub(crate) event_reads: u64,
    /// Makes events visible late.
    pub(crate) late: Option<Late>,
    pub(crate) settings: BTreeMap<SettingName, Bytes>,
    /// Engines, by their last heartbeat.
    pub(crate) engines: BTreeMap<EngineId, Time>,
}

/// The part of a lane's queue that lies in one partition.
pub(crate) type Queue = (Partition, Namespace, Lane);

/// What executions wait for, and their admission class.
pub(crate) type Waiting = (Namespace, Blocker, AdmissionClass);

/// A queue, one ordered set per class that has something queued.
pub(crate) type Classes = BTreeMap<Capabilities, BTreeSet<(Score, ExecutionId)>>;

impl Tables {
    pub(crate) fn add(&mut self, id: ExecutionId, entry: Entry) {
        match entry {
            Entry::Queue(QueueEntry { namespace, lane, class, score }) => {
                let queue = (self.partition(id), namespace, lane);
                let classes = self.queues.entry(queue).or_default();
                classes.entry(class).or_default().insert((score, id));
            }
            Entry::Timer(due) => {
                self.timers.entry(due).or_default().insert(id);
            }
            Entry::Request(request) => {
                self.requests.entry(request).or_default().insert(id);
            }
            Entry::List(namespace, created) => {
                self.list.entry(namespace).or_default().insert(position(created, id));
            }
            Entry::Attention(namespace, attention, created) => {
                let set = self.attention.entry((namespace, attention)).or_default();
                set.insert(position(created, id));
            }
            Entry::Blocked(namespace, on, class, score) => {
                self.blocked.entry((namespace, on, class)).or_default().insert((score, id));
            }
            Entry::Key(namespace, key) => {
                self.keys.insert((namespace, key), id);
            }
        }
    }

    pub(crate) fn remove(&mut self, id: ExecutionId, entry: Entry) {
        match entry {
            Entry::Queue(QueueEntry { namespace, lane, class, score }) => {
                let queue = (self.partition(id), namespace, lane);
                if let Some(classes) = self.queues.get_mut(&queue) {
                    take(classes, &class, &(score, id));
                    if classes.is_empty() {
                        self.queues.remove(&queue);
                    }
                }
            }
            Entry::Timer(due) => take(&mut self.timers, &due, &id),
            Entry::Request(request) => take(&mut self.requests, &request, &id),
            Entry::List(namespace, created) => {
                take(&mut self.list, &namespace, &position(created, id));
            }
            Entry::Attention(namespace, attention, created) => {
                take(&mut self.attention, &(namespace, attention), &position(created, id));
            }
            Entry::Blocked(namespace, on, class, score) => {
                take(&mut self.blocked, &(namespace, on, class), &(score, id));
            }
            Entry::Key(namespace, key) => {
                self.keys.remove(&(namespace, key));
            }
        }
    }
}

/// Removes `member` from the set under `key`, and the set when it is empty.
fn take<K: Ord, M: Ord>(sets: &mut BTreeMap<K, BTreeSet<M>>, key: &K, member: &M) {
    if let Some(set) = sets.get_mut(key) {
        set.remove(member);
        if set.is_empty() {
            sets.remove(key);
        }
    }
}

fn position(created: Time, id: ExecutionId) -> Position {
    Position { created, id: *id.as_bytes() }
}
