//! Submit a flow: create its record and its members, in one command or in slices.

use std::collections::BTreeSet;

use super::submit::new_record;
use super::{Context, Decide, Facts, FlowSubmitted, ReadSet, Step, Submit, WriteSet};
use crate::bounds::{FLOW_NODES, FLOW_OPEN, FLOW_SLICE};
use crate::collection::{Collection, Content, Element, ElementName};
use crate::continuation::{
    Armed, Continuation, ContinuationChange, ContinuationKind, LATCH, TallyChange,
};
use crate::digest::Digest;
use crate::event::EventKind;
use crate::flow::{self, Flow, Member, OnFailure, Phase, Rest, START, member_id};
use crate::id::{ExecutionId, Partition};
use crate::name::{IdempotencyKey, Kind, Lane, Namespace, NodeName};
use crate::overrides::PolicyOverrides;
use crate::patch::Patch;
use crate::record::{Execution, Tags};
use crate::refusal::Refusal;
use crate::resource::ResourceKey;
use crate::state::{Intent, State};
use crate::table::Verb;
use crate::time::Millis;

/// Creates members of a flow, and the flow with the first of them. A graph that one command cannot carry
/// comes in slices, in order; nothing of it runs before the last of them. Made by
/// [`FlowSubmission`](crate::graph::FlowSubmission).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmitFlow {
    /// The flow; the same in every slice.
    pub flow: FlowSpec,
    /// Where it lies in its store.
    pub partition: Partition,
    /// The number of the first of `nodes`.
    pub first: u32,
    /// The nodes of this slice.
    pub nodes: Vec<FlowNode>,
    /// Of the first of several slices, the nodes that depend on none.
    pub roots: Vec<u32>,
}

/// A flow as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowSpec {
    /// The id, made by the caller.
    pub id: ExecutionId,
    /// The tenant.
    pub namespace: Namespace,
    /// The lane that it is listed with.
    pub lane: Lane,
    /// Its labels.
    pub tags: Tags,
    /// Its priority, for people: its members have their own.
    pub priority: i16,
    /// The caller's own name for it.
    pub key: Option<IdempotencyKey>,
    /// How long it may take.
    pub deadline: Option<Millis>,
    /// How long it and its members stay readable after its end.
    pub retention: Option<Millis>,
    /// How many nodes it has.
    pub size: u32,
    /// The fingerprint of all that was submitted.
    pub digest: Digest,
}

/// A node, by numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowNode {
    /// Its name.
    pub name: NodeName,
    /// The work.
    pub work: Submit,
    /// The nodes that it depends on.
    pub after: Vec<u32>,
    /// How many of them must succeed.
    pub needs: u32,
    /// The nodes that depend on it.
    pub next: Vec<u32>,
    /// What it does when too many of its upstreams do not succeed.
    pub on_failure: OnFailure,
    /// What becomes of upstreams that it does not need any more.
    pub rest: Rest,
}

impl FlowSpec {
    /// The submit that its own record is like.
    fn work(&self) -> Submit {
        Submit {
            namespace: self.namespace.clone(),
            lane: self.lane.clone(),
            kind: Kind::flow(),
            tags: self.tags.clone(),
            priority: self.priority,
            key: self.key.clone(),
            policy: PolicyOverrides {
                deadline: self.deadline.map_or(Patch::Clear, Patch::Set),
                retention: self.retention,
                ..PolicyOverrides::default()
            },
            ..Submit::new(self.id)
        }
    }
}

impl SubmitFlow {
    /// Whether the graph is whole with this slice.
    fn is_last(&self) -> bool {
        self.end() == self.flow.size
    }

    fn end(&self) -> u32 {
        self.first + self.nodes.len() as u32
    }

    fn is_whole(&self) -> bool {
        self.first == 0 && self.is_last()
    }

    fn lanes(&self) -> BTreeSet<&Lane> {
        self.nodes.iter().map(|node| &node.work.lane).collect()
    }

    fn lane_key(&self, lane: &Lane) -> ResourceKey {
        ResourceKey::lane_in(self.partition, &self.flow.namespace, lane)
    }

    fn ids(&self) -> impl Iterator<Item = ExecutionId> + '_ {
        (self.first..self.end()).map(|number| member_id(self.flow.id, number))
    }

    /// The answer when the flow is there and has these nodes or more.
    fn again(&self, record: &Execution, conflict: Refusal) -> Result<Option<Step>, Refusal> {
        if record.digest != self.flow.digest || record.spec.namespace != self.flow.namespace {
            return Err(conflict);
        }
        let flow = record.flow.as_deref().ok_or(conflict)?;
        let is_there = flow.members >= self.end() || flow.phase != Phase::Open;
        Ok(is_there.then(|| {
            let (flow, members) = (record.id, flow.members);
            Step::answer(FlowSubmitted { flow, created: false, members })
        }))
    }

    /// The record of the flow, new.
    fn new_flow(&self, context: &Context<'_>) -> Execution {
        let is_whole = self.is_whole();
        let mut record = new_record(context, &self.flow.work(), None, self.flow.digest);
        record.state = State::Awaiting { why: Intent::Fresh };
        record.flow = Some(Box::new(Flow {
            phase: Phase::Open,
            graph: true,
            members: 0,
            size: self.flow.size,
            sealed: is_whole,
            starting: !is_whole,
            wait: None,
        }));
        if !is_whole {
            let open_until = context.now + FLOW_OPEN;
            let deadline = record.run.deadline.map_or(open_until, |at| at.min(open_until));
            record.run.deadline = Some(deadline);
        }
        record
    }

    /// The record of a node, new.
    fn member(&self, context: &Context<'_>, number: u32, node: &FlowNode) -> WriteSet {
        let lane = context.loaded.resource(&self.lane_key(&node.work.lane));
        let lane = lane.and_then(|lane| lane.as_lane()).and_then(|lane| lane.defaults.as_deref());
        let mut record = new_record(context, &node.work, lane, self.flow.digest);
        record.description.id = member_id(self.flow.id, number);
        // Of a graph that comes in slices, the flow itself is the upstream of the roots.
        let is_started = !self.is_whole() && node.after.is_empty();
        let needs = if is_started { 1 } else { node.needs as i32 };
        let upstreams = if is_started { 1 } else { node.after.len() as i32 };
        let is_awaiting = needs > 0 || !node.after.is_empty();
        if is_awaiting {
            record.state = State::Awaiting { why: Intent::Fresh };
        }
        record.member = Some(Box::new(Member {
            flow: self.flow.id,
            node: number,
            name: node.name.clone(),
            needs,
            spare: upstreams - needs,
            required: node.needs,
            on_failure: node.on_failure,
            rest: node.rest,
            is_sink: node.next.is_empty(),
            start: node.work.start,
            counted: 0,
        }));
        let what = match is_awaiting {
            true => EventKind::Awaiting,
            false => EventKind::Submitted { from: node.work.start.resolve(context.now) },
        };
        let next = chunks(&mut record, &node.next);
        let mut write = context.create(record, node.work.input.bytes.clone(), what);
        if let Some(leftover) = context.loaded.record(member_id(self.flow.id, number)) {
            let new = write.changes.remove(0);
            write.changes.push(context.replace(leftover, new));
        }
        write.changes[0].elements = next;
        write
    }

    /// The write that adds these nodes to their flow.
    fn write(&self, context: &Context<'_>, before: Option<&Execution>) -> WriteSet {
        let mut record = before.cloned().unwrap_or_else(|| self.new_flow(context));
        let roots = chunks(&mut record, &self.roots);
        let members = self.nodes.iter().map(|node| {
            let number = record.counts.add(Collection::Members);
            let name = Some(ElementName::from_stored(node.name.as_str().to_owned().into()));
            let content = Content::Bytes(flow::pack(&node.after));
            (Collection::Members, Element { number, name, content })
        });
        let elements: Vec<_> = roots.into_iter().chain(members.collect::<Vec<_>>()).collect();
        let mut count = self.nodes.len() as i64;
        let mut later = None;
        if let Some(flow) = record.description.flow.as_deref_mut() {
            flow.members = self.end();
            if self.is_last() {
                flow.phase = Phase::Running;
                flow.sealed = true;
            }
        }
        if self.is_last() && !self.is_whole() {
            record.run.deadline = record.spec.policy.deadline.map(|span| record.created + span);
            later = Some(self.starts(context));
        }
        if self.first == 0 && !self.is_whole() {
            // The start of the graph counts until all that depends on it is released.
            count += 1;
        }
        let mut own = match before {
            None => context.create(record, bytes::Bytes::new(), EventKind::Awaiting),
            Some(before) => context.update(before, record, None),
        };
        own.changes[0].elements = elements;
        // The flow comes last: a fault before it leaves members that no flow has, and that do not run.
        let mut write = WriteSet::default();
        for (number, node) in (self.first..).zip(&self.nodes) {
            write = write.join(self.member(context, number, node));
        }
        write = write.join(own);
        let add = [(LATCH, count)].into();
        write.tallies.push(TallyChange { owner: self.flow.id, add, at_zero: None });
        write.continuations.extend(later.into_iter().flatten());
        for lane in self.lanes() {
            let key = self.lane_key(lane);
            let version = context.loaded.resource(&key).map(|resource| resource.version);
            write.guards.push((key, version));
        }
        write
    }

    /// What follows once the graph is whole: its start ends, and what members that have ended by then
    /// mean for others is made up for.
    fn starts(&self, context: &Context<'_>) -> Vec<ContinuationChange> {
        let tally = context.loaded.tallies.get(&self.flow.id);
        let left = tally.map_or(0, |tally| tally.of(LATCH));
        let add = |kind, member| {
            let (owner, salt) = (self.flow.id, context.salt);
            let continuation = Continuation { kind, owner, salt, member, from: 0 };
            ContinuationChange::Add(Armed::at(context.now, continuation))
        };
        let some_have_ended = left < i64::from(self.first) + 1;
        let missed = some_have_ended.then(|| add(ContinuationKind::CATCH_UP, 0));
        missed.into_iter().chain([add(ContinuationKind::ENDED, START)]).collect()
    }
}

/// The elements of `record` that list `nodes` as what depends on it.
fn chunks(record: &mut Execution, nodes: &[u32]) -> Vec<(Collection, Element)> {
    let chunks = nodes.chunks(FLOW_SLICE).map(|chunk| {
        let number = record.counts.add(Collection::Next);
        let content = Content::Bytes(flow::pack(chunk));
        (Collection::Next, Element { number, name: None, content })
    });
    chunks.collect()
}

impl Decide for SubmitFlow {
    fn facts(&self) -> Facts<'_> {
        let payload_bytes = self.nodes.iter().map(|node| node.work.input.bytes.len()).sum();
        Facts { adds: true, payload_bytes, ..Facts::execution(self.flow.id, Verb::Submit) }
    }

    fn check(&self) -> Result<(), Refusal> {
        self.flow.work().check_input()?;
        Refusal::cap("nodes", self.nodes.len(), FLOW_SLICE, "nodes")?;
        Refusal::cap("nodes", self.flow.size as usize, FLOW_NODES, "nodes")?;
        let is_in = |number: &u32| *number < self.flow.size;
        let fits = self.first.checked_add(self.nodes.len() as u32);
        if self.nodes.is_empty() || fits.is_none_or(|end| end > self.flow.size) {
            return Err(Refusal::invalid("nodes", "is no slice of the flow"));
        }
        for node in &self.nodes {
            if !node.after.iter().chain(&node.next).all(is_in)
                || node.needs as usize > node.after.len()
            {
                let why = format!("has node {}, whose edges are not of the flow", node.name);
                return Err(Refusal::invalid("nodes", why));
            }
            node.work.check_input()?;
        }
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        let key = self.flow.key.iter().map(|key| (self.flow.namespace.clone(), key.clone()));
        ReadSet {
            records: [self.flow.id].into_iter().chain(self.ids()).collect(),
            keys: key.collect(),
            resources: self.lanes().into_iter().map(|lane| self.lane_key(lane)).collect(),
            tallies: vec![self.flow.id],
            ..ReadSet::default()
        }
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let loaded = context.loaded;
        let mut before = None;
        if let Some(record) = loaded.record(self.flow.id) {
            if let Some(again) = self.again(record, Refusal::IdConflict)? {
                return Ok(again);
            }
            before = Some(record);
        } else if let Some(key) = &self.flow.key
            && let Some(Some(id)) = loaded.keys.get(&(self.flow.namespace.clone(), key.clone()))
        {
            if !loaded.records.contains_key(id) {
                return Ok(Step::NeedMore(ReadSet::record(*id)));
            }
            if let Some(record) = loaded.record(*id) {
                // It is continued under the id that it has.
                let (flow, flows) = (record.id, record.flow.as_deref());
                let members = flows.map_or(0, |flow| flow.members);
                return match record.digest == self.flow.digest && flows.is_some() {
                    true => Ok(Step::answer(FlowSubmitted { flow, created: false, members })),
                    false => Err(Refusal::IdempotencyConflict),
                };
            }
        }
        let at = before.and_then(|record| record.flow.as_deref()).map_or(0, |flow| flow.members);
        if at != self.first {
            return Err(Refusal::invalid("nodes", "is not the next slice of the flow"));
        }
        // What a fault has left of an earlier try is replaced.
        let is_leftover = |record: &Execution| {
            let place = record.member.as_deref();
            record.digest == self.flow.digest && place.is_some_and(|it| it.flow == self.flow.id)
        };
        if self.ids().any(|id| loaded.record(id).is_some_and(|found| !is_leftover(found))) {
            return Err(Refusal::IdConflict);
        }
        for lane in self.lanes() {
            let lane = loaded.resource(&self.lane_key(lane)).and_then(|lane| lane.as_lane());
            if lane.is_some_and(|lane| lane.draining) {
                return Err(Refusal::LaneDraining);
            }
        }
        let created = FlowSubmitted { flow: self.flow.id, created: true, members: self.end() };
        Ok(Step::write(self.write(context, before), created))
    }
}
