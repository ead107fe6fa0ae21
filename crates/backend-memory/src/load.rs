//! Reads, for commands and callers.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

use ff_core::collection::{Collection, Element, ElementKey, ElementRange, RangeRead};
use ff_core::limits::Blocker;
use ff_core::machine::{LaneClass, Loaded, Nominate, ReadSet};
use ff_core::placement::QueueEntry;
use ff_core::{
    Execution, ExecutionId, Namespace, Partition, Resource, ResourceKey, ResourceKind, Time,
};
use ff_store::backlog::Backlog;
use ff_store::steady::Mark;
use ff_store::{
    BlockedClass, BlockedScan, DueCursor, DueTimers, ListIndex, ListScan, Listed, Position,
    ResourceScan,
};

use crate::tables::{Tables, Waiting};

impl Tables {
    /// Adds what `reads` names to `loaded`.
    pub(crate) fn load(&self, reads: &ReadSet, loaded: &mut Loaded) {
        for id in &reads.records {
            loaded.records.insert(*id, self.records.get(id).cloned());
        }
        for key in &reads.keys {
            loaded.keys.insert(key.clone(), self.keys.get(key).copied());
        }
        if let Some(nominate) = &reads.nominate {
            let candidates = self.nominate(nominate);
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
            loaded.other_classes = Some(self.other_classes(class));
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
        for key in &reads.resources {
            loaded.resources.insert(key.clone(), self.resources.get(key).cloned());
        }
        if let Some((namespace, lane)) = &reads.lane {
            let key = ResourceKey::lane_in(Partition::ONLY, namespace, lane);
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

    /// The number of the next element.
    pub(crate) fn next_number(&self, owner: ExecutionId, collection: Collection) -> u64 {
        let all = (owner, collection, 0)..=(owner, collection, u64::MAX);
        self.elements.range(all).next_back().map_or(0, |((.., last), _)| last + 1)
    }

    fn nominate(&self, nominate: &Nominate) -> Vec<ExecutionId> {
        let queue = (nominate.namespace.clone(), nominate.lane.clone());
        let classes = self.queues.get(&queue).into_iter().flatten();
        let covered = classes.filter(|(class, _)| nominate.capabilities.covers(class));
        let mut heads: Vec<_> =
            covered.flat_map(|(_, members)| members.iter().take(nominate.limit)).collect();
        heads.sort_unstable();
        heads.into_iter().take(nominate.limit).map(|(_, id)| *id).collect()
    }

    fn other_classes(&self, class: &LaneClass) -> usize {
        let queue = (class.namespace.clone(), class.lane.clone());
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

    /// Due timers.
    pub(crate) fn due(&self, time: Mark, after: DueCursor, limit: usize) -> DueTimers {
        let (now, confirmed) = (time.now, time.confirmed());
        let all = self.timers.range(..=now);
        let members = all.flat_map(|(at, ids)| ids.iter().map(|id| (*at, *id)));
        let finished = |id: &ExecutionId| {
            self.records.get(id).is_some_and(|record| record.outcome().is_some())
        };
        let certain = members.filter(|(at, id)| *at <= confirmed || !finished(id));
        let due = certain.filter(|member| after.execution.is_none_or(|after| *member > after));
        let next = self.timers.range((Excluded(now), Unbounded)).next();
        let due: Vec<_> = due.take(limit).collect();
        let all = self.resource_timers.iter();
        let later = all.clone().find(|(at, _)| *at > now);
        let next = next.map(|(at, _)| *at).into_iter().chain(later.map(|(at, _)| *at)).min();
        let found = all.filter(|timer| after.resource.as_ref().is_none_or(|after| *timer > after));
        let found: Vec<_> = found.take_while(|(at, _)| *at <= now).take(limit).collect();
        let more = (due.len() == limit || found.len() == limit).then(|| DueCursor {
            execution: due.last().copied().or(after.execution),
            resource: found.last().map(|last| (*last).clone()).or(after.resource),
        });
        let resources = found.into_iter().map(|(_, key)| key.clone()).collect();
        DueTimers { now, due, more, resources, next, offset: time.offset() }
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

    /// A range of the limits that executions wait for.
    pub(crate) fn blockers(
        &self,
        after: Option<&(Namespace, Blocker)>,
        limit: usize,
    ) -> Vec<(Namespace, Blocker)> {
        let mut found: Vec<(Namespace, Blocker)> = Vec::new();
        for (namespace, on, _) in self.blocked.keys() {
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

    /// A range of the resources of a namespace.
    pub(crate) fn scanned(&self, scan: &ResourceScan) -> Vec<Resource> {
        let mine = self.resources.values().filter(|resource| {
            resource.key.kind == scan.kind
                && resource.key.namespace == scan.namespace
                && scan.after.as_ref().is_none_or(|after| resource.key.name > *after)
        });
        mine.take(scan.limit).cloned().collect()
    }

    /// How many precede a place of a queue.
    pub(crate) fn ahead(&self, place: &QueueEntry, id: ExecutionId) -> u64 {
        let queue = (place.namespace.clone(), place.lane.clone());
        let members = self.queues.get(&queue).and_then(|classes| classes.get(&place.class));
        members.map_or(0, |members| members.range(..(place.score, id)).count() as u64)
    }

    /// How many executions wait, and for what.
    pub(crate) fn backlog(&self, now: Time) -> Backlog {
        let mut backlog = Backlog { now, ..Backlog::default() };
        for ((namespace, lane), classes) in &self.queues {
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
