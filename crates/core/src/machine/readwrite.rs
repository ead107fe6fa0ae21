//! What passes between the machine and a store: what to read, what was loaded, what to write.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bytes::Bytes;

use super::Context;
use super::admission::Settlement;
use super::reply::Reply;
use crate::capability::Capabilities;
use crate::collection::{Append, Collection, Element, ElementKey, ElementRange};
use crate::continuation::{Continuation, ContinuationChange, Tally, TallyChange};
use crate::event::{Event, EventKind};
use crate::id::{ExecutionId, RequestId};
use crate::name::{IdempotencyKey, Lane, Namespace, Source};
use crate::payload::{BlobKey, BlobPart};
use crate::placement::{EntryDiff, Placement};
use crate::record::{Attempt, Execution, Version};
use crate::resource::{Body, LaneState, Resource, ResourceKey};
use crate::state::State;
use crate::stream::Kept;
use crate::time::{Millis, Time};
use crate::timer;

/// How often a command may ask to read before it must decide.
pub const MAX_ROUNDS: usize = 6;

/// What a command must see before it can decide.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadSet {
    /// Records, by id.
    pub records: Vec<ExecutionId>,
    /// Executions, by their submitter's own name.
    pub keys: Vec<(Namespace, IdempotencyKey)>,
    /// The best candidates of a queue, with their records.
    pub nominate: Option<Nominate>,
    /// The executions that a claim or grant holds, with their records.
    pub claimed_by: Option<RequestId>,
    /// Whether a lane has room for a class.
    pub class: Option<LaneClass>,
    /// Bytes beside records. They never change, so nothing guards them.
    pub blobs: Vec<BlobKey>,
    /// Elements beside records, by name.
    pub elements: Vec<ElementKey>,
    /// Elements beside records, by number. An answer that is shorter than asked for need not be the last.
    pub ranges: Vec<ElementRange>,
    /// How much is kept of the streams of executions.
    pub streams: Vec<ExecutionId>,
    /// Continuations.
    pub continuations: Vec<Continuation>,
    /// The counters of executions. Nothing guards them: others may count before the commit.
    pub tallies: Vec<ExecutionId>,
    /// Resources, by key.
    pub resources: Vec<ResourceKey>,
    /// A record or a resource that cannot be read costs itself alone, instead of failing the command.
    pub tolerant: bool,
    /// The settings of a lane, as the command's partition has them.
    pub lane: Option<(Namespace, Lane)>,
}

impl ReadSet {
    /// One record.
    pub fn record(id: ExecutionId) -> ReadSet {
        ReadSet { records: vec![id], ..ReadSet::default() }
    }

    /// One resource.
    pub fn resource(key: &ResourceKey) -> ReadSet {
        ReadSet { resources: vec![key.clone()], ..ReadSet::default() }
    }
}

/// A query that only nominates: the record of a candidate decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nominate {
    /// The tenant.
    pub namespace: Namespace,
    /// The queue.
    pub lane: Lane,
    /// What the worker offers; only classes it covers are read.
    pub capabilities: Capabilities,
    /// How many at most, lowest score first, then lowest id.
    pub limit: usize,
}

/// A class of a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneClass {
    /// The tenant.
    pub namespace: Namespace,
    /// The queue.
    pub lane: Lane,
    /// What a worker must offer.
    pub class: Capabilities,
}

/// What a store has read for a command, over one or more rounds.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// The store's time. All rounds of one command decide with the first one's.
    pub now: Time,
    /// How much of `now` may be taken back, because the store's clock jumped or was set back. What
    /// cannot be undone goes by what is left of it.
    pub unconfirmed: Millis,
    /// Records; `None` was asked for and is absent.
    pub records: HashMap<ExecutionId, Option<Execution>>,
    /// Names; `None` was asked for and is absent.
    pub keys: BTreeMap<(Namespace, IdempotencyKey), Option<ExecutionId>>,
    /// The answer to [`ReadSet::nominate`], best first.
    pub candidates: Option<Vec<ExecutionId>>,
    /// The limit of that [`Nominate`]: as many candidates may have others behind them.
    pub asked: usize,
    /// The answer to [`ReadSet::claimed_by`].
    pub claimed_by: Option<Vec<ExecutionId>>,
    /// The answer to [`ReadSet::class`]: how many other classes the lane has queued.
    pub other_classes: Option<usize>,
    /// Bytes; `None` was asked for and is absent.
    pub blobs: HashMap<BlobKey, Option<Bytes>>,
    /// Elements; `None` was asked for and is absent.
    pub elements: HashMap<ElementKey, Option<Element>>,
    /// The answers to [`ReadSet::ranges`].
    pub ranges: HashMap<ElementRange, Vec<Element>>,
    /// How much is kept of the streams of executions; of one without frames, nothing.
    pub streams: HashMap<ExecutionId, Kept>,
    /// Continuations, by when they are due; `None` was asked for and is absent.
    pub continuations: BTreeMap<Continuation, Option<Time>>,
    /// The counters of executions.
    pub tallies: HashMap<ExecutionId, Tally>,
    /// Resources; `None` was asked for and is absent.
    pub resources: BTreeMap<ResourceKey, Option<Resource>>,
    /// Those of them that are there and cannot be read; they count as absent and are never written.
    pub unreadable: BTreeSet<ResourceKey>,
    /// The answer to [`ReadSet::lane`]: which of the resources it is.
    pub lane: Option<ResourceKey>,
}

impl Loaded {
    /// Nothing loaded yet, at `now`.
    pub fn at(now: Time) -> Loaded {
        Loaded { now, ..Loaded::default() }
    }

    /// The record of `id`, if it was loaded and exists.
    pub fn record(&self, id: ExecutionId) -> Option<&Execution> {
        self.records.get(&id)?.as_ref()
    }

    /// The resource of `key`, if it was loaded and exists.
    pub fn resource(&self, key: &ResourceKey) -> Option<&Resource> {
        self.resources.get(key)?.as_ref()
    }

    /// The settings of the command's lane, if it has any.
    pub(super) fn lane_state(&self) -> Option<&LaneState> {
        self.resource(self.lane.as_ref()?)?.as_lane()
    }

    /// Takes note of what was asked for, after the store has answered it.
    pub fn has_read(&mut self, reads: &ReadSet) {
        if let Some(nominate) = &reads.nominate {
            self.asked = nominate.limit;
        }
    }

    /// Whether there may be candidates behind the ones that were found, and `most` would show them.
    pub(super) fn hides_more(&self, most: usize) -> bool {
        let found = self.candidates.as_ref().map_or(0, Vec::len);
        found > 0 && found == self.asked && found < most
    }

    /// The moment at which a decision made on this stops being right: the first timer, after now,
    /// of a loaded record or resource.
    pub fn valid_until(&self) -> Option<Time> {
        let records = self.records.values().flatten();
        let timers = records.filter_map(|record| timer::next(record)).map(|(at, _)| at);
        let resources = self.resources.values().flatten().filter_map(Resource::timer);
        timers.chain(resources).filter(|at| *at > self.now).min()
    }
}

/// What a command does next.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "it is taken apart where it is made")]
pub enum Step {
    /// It has decided.
    Done(Transition),
    /// It must see more first.
    NeedMore(ReadSet),
}

impl Step {
    /// An answer that changes nothing.
    pub(super) fn answer(reply: impl Into<Reply>) -> Step {
        Step::Done(Transition { items: vec![Item { write: None, reply: reply.into() }] })
    }

    /// One write and its answer.
    pub(super) fn write(write: WriteSet, reply: impl Into<Reply>) -> Step {
        Step::Done(Transition { items: vec![Item { write: Some(write), reply: reply.into() }] })
    }

    /// The same, with another answer.
    pub(super) fn answering(mut self, reply: impl Into<Reply>) -> Step {
        if let Step::Done(Transition { items }) = &mut self
            && let Some(item) = items.first_mut()
        {
            item.reply = reply.into();
        }
        self
    }
}

/// What a command decided: items that commit one by one, each whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// At least one.
    pub items: Vec<Item>,
}

/// One atomic part of a transition. Answers of several items are joined by [`Reply::join`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What to write, if anything.
    pub write: Option<WriteSet>,
    /// What to answer once it is written.
    pub reply: Reply,
}

/// Writes that happen together, in one partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteSet {
    /// The records that change.
    pub changes: Vec<Change>,
    /// Records that must still have the version decided on, and do not change.
    pub seen: Vec<(ExecutionId, Version)>,
    /// Elements that are added without a change of their record.
    pub appends: Vec<Append>,
    /// Follow-up work that is added or removed.
    pub continuations: Vec<ContinuationChange>,
    /// What is counted: before the records change if that raises a latch, else after it. So a fault
    /// between leaves a latch too high, never too low.
    pub tallies: Vec<TallyChange>,
    /// The resources that change.
    pub resources: Vec<ResourceChange>,
    /// Resources that must still be as they were seen: their key and version, or `None` if there
    /// was none.
    pub guards: Vec<(ResourceKey, Option<Version>)>,
    /// Executions that have stopped, to be settled with what admitted them.
    pub settlements: Vec<Settlement>,
    /// What happened.
    pub events: Vec<Event>,
}

/// The change of one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceChange {
    /// Which one.
    pub key: ResourceKey,
    /// The version decided on; `None` means it must not exist.
    pub before: Option<Version>,
    /// Its timer until now.
    pub timer_before: Option<Time>,
    /// The new one; `None` removes it.
    pub after: Option<Resource>,
}

/// The change of one record and of all that is stored beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The execution.
    pub id: ExecutionId,
    /// The version decided on; `None` means it must not exist.
    pub before: Option<Version>,
    /// The new record; `None` removes it with its payloads and elements.
    pub after: Option<Execution>,
    /// The index entries to remove and add.
    pub entries: EntryDiff,
    /// Bytes to store beside it.
    pub blob: Option<(BlobPart, Bytes)>,
    /// Elements to store beside it. Those of one collection are in a row.
    pub elements: Vec<(Collection, Element)>,
}

impl Context<'_> {
    /// A new record.
    pub(super) fn create(&self, mut record: Execution, input: Bytes, what: EventKind) -> WriteSet {
        record.version = Version::first(self.salt);
        record.placed = Placement::of(&record);
        WriteSet {
            events: vec![Event::of(&record, record.version, what, self.now)],
            changes: vec![Change {
                id: record.id,
                before: None,
                entries: EntryDiff::between(None, Some(&record)),
                after: Some(record),
                blob: Some((BlobPart::Input, input)),
                elements: Vec::new(),
            }],
            ..WriteSet::default()
        }
    }

    /// `new`, which creates a record, in the place of a `leftover` of the same execution.
    pub(super) fn replace(&self, leftover: &Execution, mut new: Change) -> Change {
        if let Some(after) = &mut new.after {
            after.version = leftover.version.next(self.salt);
            new.entries = EntryDiff::between(Some(leftover), Some(after));
        }
        new.before = Some(leftover.version);
        new
    }

    /// A changed record, and its event if there is one.
    pub(super) fn update(
        &self,
        before: &Execution,
        mut after: Execution,
        what: impl Into<Option<EventKind>>,
    ) -> WriteSet {
        let mut write = WriteSet::default();
        self.end_admission(before, &after, &mut write);
        if matches!(after.state, State::Finished { .. }) {
            after.waits.close(|_| false);
        }
        after.version = before.version.next(self.salt);
        after.placed = Placement::of(&after);
        self.follow(before, &after, &mut write);
        let act = after.acts.last().filter(|_| after.acts != before.acts);
        let by = act.map(|act| act.by.clone().into());
        let event = what.into().map(|what| Event::of(&after, after.version, what, self.now));
        WriteSet {
            events: event.map(|event| event.done_by(by)).into_iter().collect(),
            settlements: write.settlements,
            continuations: write.continuations,
            tallies: write.tallies,
            changes: vec![Change {
                id: after.id,
                before: Some(before.version),
                entries: EntryDiff::between(Some(before), Some(&after)),
                after: Some(after),
                blob: None,
                elements: Vec::new(),
            }],
            ..WriteSet::default()
        }
    }

    /// A removed record.
    pub(super) fn remove(&self, before: &Execution) -> WriteSet {
        // The record is not written again; its removal has the version that it would get.
        let version = before.version.next(before.version.salt());
        WriteSet {
            events: vec![Event::of(before, version, EventKind::Retired, self.now)],
            changes: vec![Change {
                id: before.id,
                before: Some(before.version),
                entries: EntryDiff::between(Some(before), None),
                after: None,
                blob: None,
                elements: Vec::new(),
            }],
            ..WriteSet::default()
        }
    }

    /// A resource as it is from now on; `before` is what was loaded of it.
    pub(super) fn put(&self, key: &ResourceKey, before: Option<&Resource>, body: Body) -> WriteSet {
        let version = before.map_or(Version::first(self.salt), |b| b.version.next(self.salt));
        resource_change(ResourceChange {
            key: key.clone(),
            before: before.map(|resource| resource.version),
            timer_before: before.and_then(Resource::timer),
            after: Some(Resource { key: key.clone(), version, body }),
        })
    }

    /// A removed resource.
    pub(super) fn discard(&self, before: &Resource) -> WriteSet {
        resource_change(ResourceChange {
            key: before.key.clone(),
            before: Some(before.version),
            timer_before: before.timer(),
            after: None,
        })
    }

    /// `write`, on the condition that the settings of the command's lane are unchanged.
    pub(super) fn guarded(&self, mut write: WriteSet) -> WriteSet {
        if let Some(key) = &self.loaded.lane {
            let version = self.loaded.resource(key).map(|resource| resource.version);
            write.guards.push((key.clone(), version));
        }
        write
    }
}

fn resource_change(change: ResourceChange) -> WriteSet {
    WriteSet { resources: vec![change], ..WriteSet::default() }
}

impl WriteSet {
    /// Both writes as one. What they count for one owner is counted at once.
    pub(super) fn join(mut self, other: WriteSet) -> WriteSet {
        self.changes.extend(other.changes);
        self.seen.extend(other.seen);
        self.appends.extend(other.appends);
        self.continuations.extend(other.continuations);
        for change in other.tallies {
            match self.tallies.iter_mut().find(|known| known.owner == change.owner) {
                Some(known) => {
                    for (counter, by) in change.add {
                        *known.add.entry(counter).or_default() += by;
                    }
                    known.at_zero = known.at_zero.or(change.at_zero);
                }
                None => self.tallies.push(change),
            }
        }
        self.resources.extend(other.resources);
        self.guards.extend(other.guards);
        self.settlements.extend(other.settlements);
        self.events.extend(other.events);
        self
    }

    /// Names who does this in what happened.
    pub(super) fn done_by(mut self, by: Option<Source>) -> WriteSet {
        self.events = self.events.into_iter().map(|event| event.done_by(by.clone())).collect();
        self
    }

    /// Stores bytes beside the one record of this write.
    pub(super) fn with_blob(mut self, part: BlobPart, bytes: Bytes) -> WriteSet {
        self.changes[0].blob = Some((part, bytes));
        self
    }

    /// Moves an ended attempt out of the one record of this write.
    pub(super) fn with_past_attempt(mut self, attempt: Option<Attempt>) -> WriteSet {
        let element = attempt.map(|attempt| (Collection::Attempts, attempt.into()));
        self.changes[0].elements.extend(element);
        self
    }

    /// Stores an entry of the journal of the one record of this write, which counts it.
    pub(super) fn with_entry(mut self, entry: Option<Element>) -> WriteSet {
        self.changes[0].elements.extend(entry.map(|entry| (Collection::Steps, entry)));
        self
    }
}
