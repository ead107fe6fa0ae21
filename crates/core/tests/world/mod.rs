//! A naive store: the machine's partner in these tests.
//!
//! It does what it is told and no more. Index entries change only by the differences that come with
//! a change, so an entry that the machine forgets stays visible. Beside the store it keeps a log of
//! what happened: moves, events and every fence ever issued.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

pub(crate) mod invariants;
pub(crate) mod make;
pub(crate) mod random;
pub(crate) mod repeats;
pub(crate) mod report;
pub(crate) mod strangers;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use ff_core::event::EventKind;
use ff_core::machine::{
    self, Action, Change, Command, Loaded, MAX_ROUNDS, Nominate, ReadSet, Reply, Step, Tick,
    Ticked, Transition, WriteSet,
};
use ff_core::payload::BlobKey;
use ff_core::placement::{Entry, QueueEntry};
use ff_core::record::Attempt;
use ff_core::table::{Arrow, Node, Verb};
use ff_core::{Execution, ExecutionId, Fence, Millis, Refusal, Time, timer};
use ff_core::{Partition, ResourceKey};

/// When every world begins.
pub(crate) const START: Time = Time::from_ms(1_700_000_000_000);

/// Everything that is stored. Two equal stores hold the same bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Store {
    pub(crate) records: BTreeMap<ExecutionId, Execution>,
    pub(crate) blobs: BTreeMap<BlobKey, Bytes>,
    pub(crate) past: BTreeMap<ExecutionId, Vec<Attempt>>,
    pub(crate) entries: BTreeSet<(Entry, ExecutionId)>,
}

/// One change of one record.
#[derive(Debug, Clone)]
pub(crate) struct Moved {
    pub(crate) id: ExecutionId,
    pub(crate) verb: Verb,
    pub(crate) before: Option<Execution>,
    pub(crate) after: Option<Execution>,
}

impl Moved {
    pub(crate) fn arrow(&self) -> Arrow {
        (Node::of(self.before.as_ref()), self.verb, Node::of(self.after.as_ref()))
    }
}

/// A store, its clock and the log of what happened.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) store: Store,
    /// Executions whose record a nomination cannot read.
    pub(crate) unreadable: BTreeSet<ExecutionId>,
    /// How often each arrow was taken.
    pub(crate) arrows: BTreeMap<Arrow, u64>,
    /// What happened to each execution, oldest first.
    pub(crate) events: BTreeMap<ExecutionId, Vec<EventKind>>,
    /// Every fence ever issued, oldest first.
    pub(crate) fences: BTreeMap<ExecutionId, Vec<Fence>>,
    /// What the last command changed.
    pub(crate) moved: Vec<Moved>,
}

impl World {
    /// Empty, at [`START`].
    pub(crate) fn new() -> World {
        World {
            now: START,
            store: Store::default(),
            unreadable: BTreeSet::new(),
            arrows: BTreeMap::new(),
            events: BTreeMap::new(),
            fences: BTreeMap::new(),
            moved: Vec::new(),
        }
    }

    /// Runs a command to its end.
    pub(crate) fn run(&mut self, command: &Command) -> Result<Reply, Refusal> {
        self.moved.clear();
        let transition = self.decide(command)?;
        let mut joined: Option<Reply> = None;
        for item in transition.items {
            if let Some(write) = item.write {
                self.commit(&command.action, write);
            }
            joined = Some(match joined {
                Some(earlier) => earlier.join(item.reply),
                None => item.reply,
            });
        }
        Ok(joined.expect("a transition has at least one item"))
    }

    /// Runs an action with no randomness.
    pub(crate) fn act(&mut self, action: impl Into<Action>) -> Result<Reply, Refusal> {
        self.run(&Command { entropy: 0, action: action.into() })
    }

    /// What a command would do now.
    pub(crate) fn decide(&self, command: &Command) -> Result<Transition, Refusal> {
        self.decide_at(self.now, command)
    }

    /// What a command would do at `now`, if nothing else happened before.
    pub(crate) fn decide_at(&self, now: Time, command: &Command) -> Result<Transition, Refusal> {
        machine::check(command)?;
        let mut loaded = Loaded::at(now);
        let reads = machine::reads(command);
        invariants::a_command_reads_its_subject(command, &reads);
        self.load(&reads, &mut loaded);
        for _ in 0..MAX_ROUNDS {
            match machine::apply(command, &loaded)? {
                Step::Done(transition) => return Ok(transition),
                Step::NeedMore(more) => self.load(&more, &mut loaded),
            }
        }
        panic!("no decision within {MAX_ROUNDS} rounds: {command:?}");
    }

    /// Lets time pass.
    pub(crate) fn advance(&mut self, span: Millis) {
        self.now = self.now + span;
    }

    /// Lets time do one thing to an execution.
    pub(crate) fn tick(&mut self, execution: ExecutionId) -> Ticked {
        match self.act(Tick { execution }) {
            Ok(Reply::Ticked(ticked)) => ticked,
            other => panic!("a tick is never refused: {other:?}"),
        }
    }

    /// Moves the clock to the execution's timer and lets it fire.
    pub(crate) fn fire(&mut self, execution: ExecutionId) -> Ticked {
        self.now = self.record(execution).placed.timer.expect("it has a timer");
        self.tick(execution)
    }

    /// The record of an execution that is there.
    pub(crate) fn record(&self, id: ExecutionId) -> &Execution {
        self.get(id).expect("the execution is there")
    }

    /// The record of an execution, if it is there.
    pub(crate) fn get(&self, id: ExecutionId) -> Option<&Execution> {
        self.store.records.get(&id)
    }

    /// The index entries of an execution.
    pub(crate) fn entries_of(&self, id: ExecutionId) -> Vec<&Entry> {
        let mine = self.store.entries.iter().filter(|(_, owner)| *owner == id);
        mine.map(|(entry, _)| entry).collect()
    }

    fn load(&self, reads: &ReadSet, loaded: &mut Loaded) {
        for id in &reads.records {
            loaded.records.insert(*id, self.get(*id).cloned());
        }
        for (namespace, key) in &reads.keys {
            let entry = Entry::Key(namespace.clone(), key.clone());
            loaded.keys.insert((namespace.clone(), key.clone()), self.owner(&entry).next());
        }
        if let Some(nominate) = &reads.nominate {
            let ids = self.nominated(nominate);
            self.load_readable(&ids, loaded);
            loaded.candidates = Some(ids);
            loaded.asked = nominate.limit;
        }
        if let Some(request) = reads.claimed_by {
            let ids: Vec<_> = self.owner(&Entry::Request(request)).collect();
            self.load_readable(&ids, loaded);
            loaded.claimed_by = Some(ids);
        }
        if let Some(room) = &reads.class {
            let queued = self.queued().map(|(queue, _)| queue);
            let others: BTreeSet<_> = queued
                .filter(|q| (&q.namespace, &q.lane) == (&room.namespace, &room.lane))
                .filter(|q| q.class != room.class)
                .map(|q| &q.class)
                .collect();
            loaded.other_classes = Some(others.len());
        }
        for key in &reads.blobs {
            loaded.blobs.insert(*key, self.store.blobs.get(key).cloned());
        }
        // No lane has settings here.
        if let Some((namespace, lane)) = &reads.lane {
            let key = ResourceKey::lane_in(Partition::ONLY, namespace, lane);
            loaded.resources.insert(key.clone(), None);
            loaded.lane = Some(key);
        }
    }

    fn load_readable(&self, ids: &[ExecutionId], loaded: &mut Loaded) {
        for id in ids.iter().filter(|id| !self.unreadable.contains(id)) {
            loaded.records.insert(*id, self.get(*id).cloned());
        }
    }

    /// The lowest scores, then the lowest ids, of the classes the worker covers.
    fn nominated(&self, nominate: &Nominate) -> Vec<ExecutionId> {
        let mut found: Vec<_> = self
            .queued()
            .filter(|(q, _)| (&q.namespace, &q.lane) == (&nominate.namespace, &nominate.lane))
            .filter(|(q, _)| nominate.capabilities.covers(&q.class))
            .map(|(q, id)| (q.score, id))
            .collect();
        found.sort();
        found.into_iter().take(nominate.limit).map(|(_, id)| id).collect()
    }

    fn queued(&self) -> impl Iterator<Item = (&QueueEntry, ExecutionId)> {
        self.store.entries.iter().filter_map(|(entry, id)| match entry {
            Entry::Queue(queue) => Some((queue, *id)),
            _ => None,
        })
    }

    fn owner(&self, wanted: &Entry) -> impl Iterator<Item = ExecutionId> {
        self.store.entries.iter().filter(move |(entry, _)| entry == wanted).map(|(_, id)| *id)
    }

    fn commit(&mut self, action: &Action, write: WriteSet) {
        for change in write.changes {
            self.write(action, change);
        }
        for event in write.events {
            assert_eq!(event.at, self.now, "an event tells the store's time");
            self.events.entry(event.execution).or_default().push(event.what);
        }
    }

    fn write(&mut self, action: &Action, change: Change) {
        let Change { id, before: decided_on, after, entries, blob, past_attempt } = change;
        let before = self.store.records.remove(&id);
        assert_eq!(decided_on, before.as_ref().map(|r| r.version), "decided on what is stored");
        for entry in entries.remove {
            assert!(self.store.entries.remove(&(entry.clone(), id)), "{entry:?} was not there");
        }
        for entry in entries.add {
            assert!(self.store.entries.insert((entry.clone(), id)), "{entry:?} was there");
        }
        if let Some((part, bytes)) = blob {
            let old = self.store.blobs.insert(BlobKey { execution: id, part }, bytes);
            assert_eq!(old, None, "a blob is written once");
        }
        self.store.past.entry(id).or_default().extend(past_attempt);
        match &after {
            Some(record) => {
                self.store.records.insert(id, record.clone());
                self.note_fence(record);
            }
            None => {
                self.store.blobs.retain(|key, _| key.execution != id);
                self.store.past.remove(&id);
            }
        }
        let written = |record: &Option<Execution>| record.as_ref().map(|r| r.version.counter());
        let expected = after.as_ref().map(|_| written(&before).unwrap_or(0) + 1);
        assert_eq!(written(&after), expected, "every write has a version of its own");
        let due = before.as_ref().and_then(|record| timer::due(record, self.now));
        let verb = Verb::of(action, due).expect("a tick changes nothing unless something is due");
        let moved = Moved { id, verb, before, after };
        *self.arrows.entry(moved.arrow()).or_default() += 1;
        self.moved.push(moved);
    }

    fn note_fence(&mut self, record: &Execution) {
        let known = self.fences.entry(record.id).or_default();
        if let Some(fence) = record.fence().filter(|fence| known.last() != Some(fence)) {
            known.push(fence);
        }
    }
}
