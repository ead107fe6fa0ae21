//! What commands must see and a transaction has not read yet.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use ff_core::collection::{ElementKey, ElementRange};
use ff_core::continuation::Continuation;
use ff_core::payload::BlobKey;
use ff_core::{Capabilities, ExecutionId, IdempotencyKey, Lane, Namespace, RequestId, ResourceKey};

/// A queue as workers of certain capabilities see it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct HeadKey {
    pub(crate) namespace: Namespace,
    pub(crate) lane: Lane,
    pub(crate) capabilities: Capabilities,
}

/// How many candidates are read for all claims of a queue that come together, besides those that the
/// greediest of them asks for.
const FURTHER_CANDIDATES: usize = 128;

/// How much of a queue is to be read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted {
    most: usize,
    sum: usize,
}

impl Wanted {
    /// How many candidates.
    pub(crate) fn candidates(self) -> usize {
        self.sum.min(self.most + FURTHER_CANDIDATES)
    }
}

/// What is to be read. In order where rows are locked: transactions that lock in one order do not wait for
/// each other in a circle.
#[derive(Debug, Default)]
pub(crate) struct Wants {
    pub(crate) records: BTreeSet<ExecutionId>,
    pub(crate) keys: BTreeSet<(Namespace, IdempotencyKey)>,
    pub(crate) heads: Vec<(HeadKey, Wanted)>,
    pub(crate) requests: BTreeSet<RequestId>,
    pub(crate) classes: BTreeSet<(Namespace, Lane)>,
    pub(crate) blobs: HashSet<BlobKey>,
    pub(crate) elements: HashSet<ElementKey>,
    pub(crate) ranges: HashSet<ElementRange>,
    /// Streams, by their owners.
    pub(crate) streams: BTreeSet<ExecutionId>,
    pub(crate) continuations: BTreeSet<Continuation>,
    pub(crate) tallies: BTreeSet<ExecutionId>,
    pub(crate) resources: BTreeSet<ResourceKey>,
    /// The settings of lanes that must stay as they are until the commit, without being changed.
    pub(crate) lanes: BTreeSet<ResourceKey>,
}

impl Wants {
    /// Adds `limit` candidates of a queue.
    pub(crate) fn head(&mut self, key: HeadKey, limit: usize) {
        let place = match self.heads.iter().position(|(known, _)| *known == key) {
            Some(place) => place,
            None => {
                self.heads.push((key, Wanted::default()));
                self.heads.len() - 1
            }
        };
        let wanted = &mut self.heads[place].1;
        wanted.most = wanted.most.max(limit);
        wanted.sum += limit;
    }

    /// Adds what another wants.
    pub(crate) fn join(&mut self, other: Wants) {
        self.records.extend(other.records);
        self.keys.extend(other.keys);
        for (key, wanted) in other.heads {
            self.head(key, wanted.sum);
        }
        self.requests.extend(other.requests);
        self.classes.extend(other.classes);
        self.blobs.extend(other.blobs);
        self.elements.extend(other.elements);
        self.ranges.extend(other.ranges);
        self.streams.extend(other.streams);
        self.continuations.extend(other.continuations);
        self.tallies.extend(other.tallies);
        self.resources.extend(other.resources);
        self.lanes.extend(other.lanes);
    }

    /// Whether nothing is to be read.
    pub(crate) fn is_empty(&self) -> bool {
        let Wants {
            records,
            keys,
            heads,
            requests,
            classes,
            blobs,
            elements,
            ranges,
            streams,
            continuations,
            tallies,
            resources,
            lanes,
        } = self;
        records.is_empty()
            && keys.is_empty()
            && heads.is_empty()
            && requests.is_empty()
            && classes.is_empty()
            && blobs.is_empty()
            && elements.is_empty()
            && ranges.is_empty()
            && streams.is_empty()
            && continuations.is_empty()
            && tallies.is_empty()
            && resources.is_empty()
            && lanes.is_empty()
    }
}

/// The first candidates of a queue, best first.
#[derive(Debug, Default)]
pub(crate) struct Head {
    /// Score and id of each.
    pub(crate) places: Vec<(i64, ExecutionId)>,
    /// What lies after this place is not known; everything is, if there is none.
    pub(crate) known_to: Option<(i64, ExecutionId)>,
}

impl Head {
    /// An execution joins the queue.
    pub(crate) fn join(&mut self, place: (i64, ExecutionId)) {
        if self.known_to.is_some_and(|last| place > last) {
            return;
        }
        if let Err(at) = self.places.binary_search(&place) {
            self.places.insert(at, place);
        }
    }

    /// An execution leaves the queue.
    pub(crate) fn leave(&mut self, place: (i64, ExecutionId)) {
        if let Ok(at) = self.places.binary_search(&place) {
            self.places.remove(at);
        }
    }

    /// The first `limit`, if so many are known or there are no more.
    pub(crate) fn first(&self, limit: usize) -> Option<Vec<ExecutionId>> {
        let is_enough = self.known_to.is_none() || self.places.len() >= limit;
        is_enough.then(|| self.places.iter().take(limit).map(|(_, id)| *id).collect())
    }
}

/// The classes of a lane that have something queued, the empty one aside.
pub(crate) type Classes = BTreeMap<(Namespace, Lane), BTreeSet<String>>;

#[cfg(test)]
mod tests {
    use ff_core::{Partition, Time};

    use super::*;

    fn id(number: u64) -> ExecutionId {
        ExecutionId::mint(Time::from_ms(1_700_000_000_000), Partition::ONLY, 0, number)
    }

    #[test]
    fn a_head_follows_its_queue_as_far_as_it_is_known() {
        let mut head = Head { places: vec![(1, id(1)), (3, id(3))], known_to: Some((3, id(3))) };
        assert_eq!(head.first(2), Some(vec![id(1), id(3)]));
        assert_eq!(head.first(3), None, "there may be more");
        head.join((2, id(2)));
        head.join((4, id(4)));
        assert_eq!(head.first(3), Some(vec![id(1), id(2), id(3)]));
        head.leave((1, id(1)));
        head.leave((9, id(9)));
        assert_eq!(head.first(2), Some(vec![id(2), id(3)]));
        assert_eq!(head.first(3), None, "what joined later is not known");
        let mut whole = Head::default();
        assert_eq!(whole.first(3), Some(vec![]));
        whole.join((4, id(4)));
        assert_eq!(whole.first(3), Some(vec![id(4)]));
    }
}
