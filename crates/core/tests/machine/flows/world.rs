//! A store in maps that flows run on: everything a flow needs, and nothing that looks for it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bytes::Bytes;
use ff_core::collection::{Collection, Element};
use ff_core::continuation::{Continuation, ContinuationChange, Tally};
use ff_core::flow::member_id;
use ff_core::graph::{FlowSubmission, Join, NodeSpec};
use ff_core::machine::{
    self, Action, Assignment, ClaimRequest, Command, Continue, Loaded, MAX_ROUNDS, ReadSet, Reply,
    Step, Submit, WriteSet,
};
use ff_core::payload::BlobKey;
use ff_core::placement::{Entry, Score};
use ff_core::table::{Arrow, Node, Verb};
use ff_core::{Execution, ExecutionId, Refusal, Time, timer};

use crate::fixture::START;
use crate::fixture::make::{claim, id};

#[derive(Default)]
pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) records: HashMap<ExecutionId, Execution>,
    pub(crate) elements: HashMap<(ExecutionId, Collection), Vec<Element>>,
    pub(crate) blobs: HashMap<BlobKey, Bytes>,
    pub(crate) queue: BTreeSet<(Score, ExecutionId)>,
    pub(crate) later: BTreeSet<Continuation>,
    pub(crate) tallies: HashMap<ExecutionId, Tally>,
    pub(crate) arrows: BTreeMap<Arrow, u64>,
    pub(crate) commands: u64,
}

impl World {
    pub(crate) fn new() -> World {
        World { now: START, ..World::default() }
    }

    pub(crate) fn act(&mut self, action: impl Into<Action>) -> Result<Reply, Refusal> {
        self.commands += 1;
        let command = Command { entropy: self.commands, by: None, action: action.into() };
        machine::check(&command)?;
        let mut loaded = Loaded::at(self.now);
        self.load(&machine::reads(&command), &mut loaded);
        for _ in 0..MAX_ROUNDS {
            match machine::apply(&command, &loaded)? {
                Step::NeedMore(more) => self.load(&more, &mut loaded),
                Step::Done(transition) => {
                    let mut joined: Option<Reply> = None;
                    for item in transition.items {
                        item.write.into_iter().for_each(|write| self.write(&command.action, write));
                        joined = Some(match joined {
                            Some(earlier) => earlier.join(item.reply),
                            None => item.reply,
                        });
                    }
                    return Ok(joined.unwrap());
                }
            }
        }
        panic!("no decision within {MAX_ROUNDS} rounds: {command:?}");
    }

    fn load(&self, reads: &ReadSet, loaded: &mut Loaded) {
        for id in &reads.records {
            loaded.records.insert(*id, self.records.get(id).cloned());
        }
        for (namespace, key) in &reads.keys {
            let named = |record: &&Execution| record.spec.key.as_ref() == Some(key);
            let found = self.records.values().find(named).map(|record| record.id);
            loaded.keys.insert((namespace.clone(), key.clone()), found);
        }
        if let Some(nominate) = &reads.nominate {
            let ids: Vec<_> = self.queue.iter().take(nominate.limit).map(|(_, id)| *id).collect();
            for id in &ids {
                loaded.records.insert(*id, self.records.get(id).cloned());
            }
            loaded.asked = nominate.limit;
            loaded.candidates = Some(ids);
        }
        for key in &reads.elements {
            let all = self.elements.get(&(key.owner, key.collection)).into_iter().flatten();
            let found = all.rev().find(|element| element.name.as_ref() == Some(&key.name));
            loaded.elements.insert(key.clone(), found.cloned());
        }
        for range in &reads.ranges {
            let all = self.elements.get(&(range.owner, range.collection)).into_iter().flatten();
            let some = all.skip(range.from as usize).take(range.limit).cloned();
            loaded.ranges.insert(range.clone(), some.collect());
        }
        for key in &reads.blobs {
            loaded.blobs.insert(*key, self.blobs.get(key).cloned());
        }
        for read in &reads.continuations {
            loaded.continuations.insert(*read, self.later.get(read).map(|_| self.now));
        }
        for owner in &reads.tallies {
            loaded.tallies.insert(*owner, self.tallies.get(owner).cloned().unwrap_or_default());
        }
        for key in &reads.resources {
            loaded.resources.insert(key.clone(), None);
        }
    }

    fn write(&mut self, action: &Action, write: WriteSet) {
        for (id, seen) in &write.seen {
            let stored = self.records.get(id).map(|record| record.version);
            assert_eq!(stored, Some(*seen), "a guard holds");
        }
        for change in write.changes {
            let before = self.records.remove(&change.id);
            assert_eq!(change.before, before.as_ref().map(|record| record.version));
            let due = before.as_ref().and_then(|record| timer::due(record, self.now));
            let verb = Verb::of(action, change.id, due).unwrap();
            let arrow = (Node::of(before.as_ref()), verb, Node::of(change.after.as_ref()));
            *self.arrows.entry(arrow).or_default() += 1;
            for entry in change.entries.remove {
                if let Entry::Queue(place) = entry {
                    assert!(self.queue.remove(&(place.score, change.id)));
                }
            }
            for entry in change.entries.add {
                if let Entry::Queue(place) = entry {
                    assert!(self.queue.insert((place.score, change.id)));
                }
            }
            if let Some((part, bytes)) = change.blob {
                self.blobs.insert(BlobKey { execution: change.id, part }, bytes);
            }
            for (collection, element) in change.elements {
                self.elements.entry((change.id, collection)).or_default().push(element);
            }
            match change.after {
                Some(record) => _ = self.records.insert(change.id, record),
                None => {
                    self.elements.retain(|(owner, _), _| *owner != change.id);
                    self.blobs.retain(|key, _| key.execution != change.id);
                    self.tallies.remove(&change.id);
                }
            }
        }
        for change in write.continuations {
            match change {
                ContinuationChange::Add(armed) => _ = self.later.insert(armed.continuation),
                ContinuationChange::Remove(read) => assert!(self.later.remove(&read)),
            }
        }
        for change in write.tallies {
            if self.records.contains_key(&change.owner) {
                let added = self.tallies.entry(change.owner).or_default().count(&change);
                self.later.extend(added.map(|armed| armed.continuation));
            }
        }
    }

    /// Submits a flow, and answers its id.
    pub(crate) fn submit(&mut self, flow: FlowSubmission) -> Result<ExecutionId, Refusal> {
        let id = flow.id;
        for command in flow.into_commands(1)? {
            self.act(command)?;
        }
        Ok(id)
    }

    /// Runs one slice of the continuation in this place.
    pub(crate) fn slice(&mut self, place: usize) {
        let continuation = *self.later.iter().nth(place).unwrap();
        self.act(Continue { continuation }).unwrap();
    }

    /// Runs all follow-up work.
    pub(crate) fn follow(&mut self) {
        while !self.later.is_empty() {
            self.slice(0);
        }
    }

    /// Claims the best execution, if there is one.
    pub(crate) fn claim(&mut self) -> Option<Assignment> {
        loop {
            let call = ClaimRequest { ..claim("w", self.commands.into()) };
            let Ok(Reply::Claimed(mut claimed)) = self.act(call) else { panic!("a claim") };
            if let Some(assignment) = claimed.assignments.pop() {
                return Some(assignment);
            }
            if !claimed.again {
                return None;
            }
        }
    }

    pub(crate) fn node(&self, flow: ExecutionId, number: u32) -> &Execution {
        &self.records[&member_id(flow, number)]
    }
}

/// A node with every default.
pub(crate) fn node(name: &str, after: &[&str]) -> NodeSpec {
    NodeSpec {
        name: name.parse().unwrap(),
        work: Submit::new(id(0)),
        after: after.iter().map(|name| name.parse().unwrap()).collect(),
        join: Join::All,
        on_failure: ff_core::flow::OnFailure::Skip,
        rest: ff_core::flow::Rest::Finish,
    }
}
