//! Reads, for commands and callers.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

use ff_core::collection::{Collection, Content, Element, ElementKey, ElementRange, RangeRead};
use ff_core::continuation::Continuation;
use ff_core::limits::Blocker;
use ff_core::machine::{ClaimRequest, LaneClass, Loaded, NeedsAdmission, Nominate, ReadSet};
use ff_core::placement::QueueEntry;
use ff_core::resource::LaneState;
use ff_core::stream::{FRAME_HEAD, FrameEnd, Kept};
use ff_core::{
    Execution, ExecutionId, Namespace, Partition, Resource, ResourceKey, ResourceKind, Time,
};
use ff_store::backlog::Backlog;
use ff_store::steady::Mark;
use ff_store::{
    BlockedClass, BlockedScan, DueCursor, DueTimers, ListIndex, ListScan, Listed, PartitionSet,
    Position, ResourceScan,
};

use crate::tables::{Tables, Waiting};

impl Tables {
    /// Adds what `reads` names to `loaded`, for a command in the partition `at`.
    pub(crate) fn load(&self, at: Partition, reads: &ReadSet, loaded: &mut Loaded) {
        for id in &reads.records {
            let here = self.records.get(id).filter(|_| self.partition(*id) == at);
            loaded.records.insert(*id, here.cloned());
        }
        for key in &reads.keys {
            loaded.keys.insert(key.clone(), self.keys.get(key).copied());
        }
        if let Some(nominate) = &reads.nominate {
            let candidates = self.nominate(at, nominate);
            for id in &candidates {
                loaded.records.insert(*id, self.records.get(id).cloned());
            }
            loaded.candidates = Some(candidates);
        }
        if let Some(request) = &reads.claimed_by {
            let claimed_by: Vec<_> =
                self.requests.get(request).into_iter().flatten().copied().collect();
            for id in &claimed_by {
                loaded.records.insert(*id, self.records.get(id).cloned());
            }
            loaded.claimed_by = Some(claimed_by);
        }
        if let Some(class) = &reads.class {
            loaded.other_classes = Some(self.other_classes(at, class));
        }
        for key in &reads.blobs {
            loaded.blobs.insert(*key, self.blobs.get(key).cloned());
        }
        for key in &reads.elements {
            loaded.elements.insert(key.clone(), self.named(key).cloned());
        }
        for range in &reads.ranges {
            loaded.ranges.insert(range.clone(), self.elements(range));
        }
        for id in &reads.streams {
            loaded.streams.insert(*id, self.kept(*id));
        }
        for read in &reads.continuations {
            loaded.continuations.insert(*read, self.continuations.get(read).copied());
        }
        for owner in &reads.tallies {
            loaded.tallies.insert(*owner, self.tallies.get(owner).cloned().unwrap_or_default());
        }
        for key in &reads.resources {
            loaded.resources.insert(key.clone(), self.resources.get(key).cloned());
        }
        if let Some((namespace, lane)) = &reads.lane {
            let key = ResourceKey::lane_in(at, namespace, lane);
            loaded.resources.insert(key.clone(), self.resources.get(&key).cloned());
            loaded.lane = Some(key);
        }
    }

    /// Elements in a row.
    pub(crate) fn elements(&self, range: &ElementRange) -> Vec<Element> {
        let ElementRange { owner, collection, from, limit } = *range;
        let all = self.elements.range((owner, collection, from)..=(owner, collection, u64::MAX));
        let mut read = RangeRead::default();
        let some = all.take(limit).map(|(_, element)| element);
        some.take_while(|element| read.takes(element)).cloned().collect()
    }

    /// The newest element of a name.
    fn named(&self, key: &ElementKey) -> Option<&Element> {
        let ElementKey { owner, collection, name } = key;
        let all = (*owner, *collection, 0)..=(*owner, *collection, u64::MAX);
        let mut newest_first = self.elements.range(all).rev().map(|(_, element)| element);
        newest_first.find(|element| element.name.as_ref() == Some(name))
    }

    /// How much is kept of a stream. One that cannot be read counts as empty: only commands that make
    /// no frames leave such elements.
    fn kept(&self, owner: ExecutionId) -> Kept {
        let all = (owner, Collection::Frames, 0)..=(owner, Collection::Frames, u64::MAX);
        let mut all = self.elements.range(all).filter_map(|(_, element)| frame_end(element));
        let Some(first) = all.next() else { return Kept::default() };
        let last = all.next_back().unwrap_or(first);
        Kept::between(first, last).unwrap_or_default()
    }

    /// The number of the next element.
    pub(crate) fn next_number(&self, owner: ExecutionId, collection: Collection) -> u64 {
        let all = (owner, collection, 0)..=(owner, collection, u64::MAX);
        self.elements.range(all).next_back().map_or(0, |((.., last), _)| last + 1)
    }

    fn nominate(&self, at: Partition, nominate: &Nominate) -> Vec<ExecutionId> {
        let queue = (at, nominate.namespace.clone(), nominate.lane.clone());
        let classes = self.queues.get(&queue).into_iter().flatten();
        let covered = classes.filter(|(class, _)| nominate.capabilities.covers(class));
        let mut heads: Vec<_> =
            covered.flat_map(|(_, members)| members.iter().take(nominate.limit)).collect();
        heads.sort_unstable();
        heads.into_iter().take(nominate.limit).map(|(_, id)| *id).collect()
    }

    fn other_classes(&self, at: Partition, class: &LaneClass) -> usize {
        let queue = (at, class.namespace.clone(), class.lane.clone());
        let classes = self.queues.get(&queue).into_iter().flatten().map(|(other, _)| other);
        classes.filter(|other| !other.is_empty() && **other != class.class).count()
    }

    /// A range of a listing.
    pub(crate) fn listed(&self, scan: &ListScan) -> Vec<Listed> {
        let set = match scan.which {
            ListIndex::All => self.list.get(&scan.namespace),
            ListIndex::Attention(attention) => {
                self.attention.get(&(scan.namespace.clone(), attention))
            }
        };
        let below = scan.after.map_or(Unbounded, Excluded);
        let places = set.into_iter().flat_map(|set| set.range((Unbounded, below)).rev());
        let at = |place: &Position| match self.at(place) {
            Some(record) => Listed::Record(Box::new(record.clone())),
            None => Listed::Unreadable(*place),
        };
        places.take(scan.limit).map(at).collect()
    }

    fn at(&self, place: &Position) -> Option<&Execution> {
        self.records.get(&ExecutionId::from_bytes(&place.id).ok()?)
    }

    /// Due timers of `share`.
    pub(crate) fn due(
        &self,
        share: &PartitionSet,
        time: Mark,
        after: DueCursor,
        limit: usize,
    ) -> DueTimers {
        let (now, confirmed) = (time.now, time.confirmed());
        let mine = |id: &ExecutionId| share.has(self.partition(*id).number());
        let all = self.timers.iter();
        let members = all.flat_map(|(at, ids)| ids.iter().map(|id| (*at, *id)));
        let members = members.filter(|(_, id)| mine(id));
        let next = members.clone().map(|(at, _)| at).find(|at| *at > now);
        let members = members.take_while(|(at, _)| *at <= now);
        let finished = |id: &ExecutionId| {
            self.records.get(id).is_some_and(|record| record.outcome().is_some())
        };
        let certain = members.filter(|(at, id)| *at <= confirmed || !finished(id));
        let due = certain.filter(|member| after.execution.is_none_or(|after| *member > after));
        let due: Vec<_> = due.take(limit).collect();
        let all = self.resource_timers.iter();
        let all = all.filter(|(_, key)| share.has(key.partition.number()));
        let later = all.clone().find(|(at, _)| *at > now);
        let next = next.into_iter().chain(later.map(|(at, _)| *at)).min();
        let found = all.filter(|timer| after.resource.as_ref().is_none_or(|after| *timer > after));
        let found: Vec<_> = found.take_while(|(at, _)| *at <= now).take(limit).collect();
        let later = self.continuations.values().filter(|at| **at > now).min().copied();
        let next = next.into_iter().chain(later).min();
        let later = self.due_continuations(now, after.continuation, limit);
        let is_full = [due.len(), found.len(), later.len()].contains(&limit);
        let more = is_full.then(|| DueCursor {
            execution: due.last().copied().or(after.execution),
            resource: found.last().map(|last| (*last).clone()).or(after.resource),
            continuation: later.last().copied().or(after.continuation),
        });
        let resources = found.into_iter().map(|(_, key)| key.clone()).collect();
        let continuations = later.into_iter().map(|(_, due)| due).collect();
        DueTimers { now, due, more, resources, continuations, next, offset: time.offset() }
    }

    /// Continuations that are due, earliest first.
    fn due_continuations(
        &self,
        now: Time,
        after: Option<(Time, Continuation)>,
        limit: usize,
    ) -> Vec<(Time, Continuation)> {
        let all = self.continuations.iter().map(|(continuation, at)| (*at, *continuation));
        let mut due: Vec<_> =
            all.filter(|due| due.0 <= now && after.is_none_or(|after| *due > after)).collect();
        due.sort_unstable();
        due.truncate(limit);
        due
    }

    /// A range of the executions that wait for a limit.
    pub(crate) fn blocked(&self, scan: &BlockedScan) -> Vec<BlockedClass> {
        let from = (scan.namespace.clone(), scan.on.clone(), scan.from);
        let all = self.blocked.range(from..);
        let mine = all
            .take_while(|((namespace, on, _), _)| (namespace, on) == (&scan.namespace, &scan.on));
        let class = |((_, _, class), all): (&Waiting, &BTreeSet<_>)| BlockedClass {
            class: *class,
            first: all.iter().take(scan.each).copied().collect(),
        };
        mine.take(scan.classes).map(class).collect()
    }

    /// A range of the limits that executions of `share` wait for.
    pub(crate) fn blockers(
        &self,
        share: &PartitionSet,
        after: Option<&(Namespace, Blocker)>,
        limit: usize,
    ) -> Vec<(Namespace, Blocker)> {
        let mut found: Vec<(Namespace, Blocker)> = Vec::new();
        let mine = |id: &ExecutionId| share.has(self.partition(*id).number());
        for ((namespace, on, _), waiting) in &self.blocked {
            if !waiting.iter().any(|(_, id)| mine(id)) {
                continue;
            }
            let limit_name = (namespace.clone(), on.clone());
            if after.is_some_and(|after| limit_name <= *after) {
                continue;
            }
            if found.last() == Some(&limit_name) {
                continue;
            }
            if found.len() >= limit {
                break;
            }
            found.push(limit_name);
        }
        found
    }

    /// A range of the resources of a namespace, at its home.
    pub(crate) fn scanned(&self, scan: &ResourceScan) -> Vec<Resource> {
        let home = Partition::home(&scan.namespace, self.partitions);
        let mine = self.resources.values().filter(|resource| {
            resource.key.partition == home
                && resource.key.kind == scan.kind
                && resource.key.namespace == scan.namespace
                && scan.after.as_ref().is_none_or(|after| resource.key.name > *after)
        });
        mine.take(scan.limit).cloned().collect()
    }

    /// How many precede a place of a queue.
    pub(crate) fn ahead(&self, place: &QueueEntry, id: ExecutionId) -> u64 {
        let queue = (&place.namespace, &place.lane);
        let parts = self.queues.iter().filter(|((_, of, lane), _)| (of, lane) == queue);
        let members = parts.filter_map(|(_, classes)| classes.get(&place.class));
        members.map(|members| members.range(..(place.score, id)).count() as u64).sum()
    }

    /// The first of what must be admitted before a claim gets it, over all partitions. In a store of one
    /// partition the claim has read all of them.
    pub(crate) fn admission_candidates(
        &self,
        claim: &ClaimRequest,
        most: usize,
    ) -> Vec<NeedsAdmission> {
        if self.partitions == 1 {
            return Vec::new();
        }
        let (namespace, lane) = (&claim.namespace, &claim.lane);
        let mut found: Vec<_> = Vec::new();
        for ((at, of, queue), classes) in &self.queues {
            if (of, queue) != (namespace, lane) {
                continue;
            }
            let settings = self.resources.get(&ResourceKey::lane_in(*at, namespace, lane));
            let lane = settings.and_then(Resource::as_lane);
            let is_limited = lane.is_some_and(LaneState::is_limited);
            let covered = classes.iter().filter(|(class, _)| claim.capabilities.covers(class));
            found.extend(covered.flat_map(|(_, members)| members).filter_map(|place| {
                Some((*place, NeedsAdmission::of(self.records.get(&place.1)?, is_limited)?))
            }));
        }
        found.sort_by_key(|(place, _)| *place);
        found.into_iter().take(most).map(|(_, needs)| needs).collect()
    }

    /// How many executions wait, and for what.
    pub(crate) fn backlog(&self, now: Time) -> Backlog {
        let mut backlog = Backlog { now, ..Backlog::default() };
        for ((_, namespace, lane), classes) in &self.queues {
            for (class, members) in classes {
                if let Some((head, _)) = members.first() {
                    let queue = (namespace.clone(), lane.clone());
                    backlog.add_queue(queue, class.clone(), members.len() as u64, *head);
                }
            }
        }
        let holding = self.requests.values().flatten().filter_map(|id| self.records.get(id));
        for record in holding.filter(|record| record.lease().is_some()) {
            let queue = (record.spec.namespace.clone(), record.spec.lane.clone());
            *backlog.active.entry(queue).or_default() += 1;
        }
        for ((namespace, on, _), all) in &self.blocked {
            let lane = all.iter().find_map(|(_, id)| Some(self.records.get(id)?.spec.lane.clone()));
            backlog.add_blocked((namespace.clone(), on.clone()), lane, all.len() as u64);
        }
        let workers = self.resources.keys().filter(|key| key.kind == ResourceKind::Worker);
        backlog.workers = workers.count() as u64;
        backlog
    }
}

/// What a stream knows of one of its frames.
pub(crate) fn frame_end(element: &Element) -> Option<FrameEnd<'_>> {
    let Content::Bytes(bytes) = &element.content else { return None };
    let head = &bytes[..bytes.len().min(FRAME_HEAD)];
    Some(FrameEnd { number: element.number, head, stored: bytes.len() })
}
