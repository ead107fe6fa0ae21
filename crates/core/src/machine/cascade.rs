//! What the end of a member means for its flow: what depends on it is released or skipped.
//!
//! A write that ends a member adds a continuation and counts, and reads nothing for that. The
//! continuation goes through the dependants, slice by slice. A completion whose dependants are few does
//! it itself, in the same write.

use std::ops::ControlFlow;

use super::continue_::{Slice, Work};
use super::{Context, Moves, ReadSet, Step, WriteSet};
use crate::bounds::{FLOW_INLINE, FLOW_NODES, FLOW_SLICE};
use crate::collection::{Collection, Content, Element, ElementRange};
use crate::continuation::{
    Armed, Continuation, ContinuationChange, ContinuationKind, LATCH, TallyChange,
};
use crate::event::EventKind;
use crate::flow::{
    self, Ending, Flow, HeldMembers, Member, OnFailure, Phase, Rest, START, Verdict, member_id,
};
use crate::id::ExecutionId;
use crate::name::{Category, NodeName};
use crate::record::{EndReason, Execution};
use crate::state::{DelayReason, Failure, Outcome, State};
use crate::table::Verb;

/// A continuation of a flow.
pub(super) fn later(
    context: &Context<'_>,
    kind: ContinuationKind,
    flow: ExecutionId,
    member: u32,
) -> Armed {
    let continuation = Continuation { kind, owner: flow, salt: context.salt, member, from: 0 };
    Armed::at(context.now, continuation)
}

impl Context<'_> {
    /// Adds what follows for flows when `before` becomes `after`.
    pub(super) fn follow(&self, before: &Execution, after: &Execution, write: &mut WriteSet) {
        if let Some(member) = &after.member {
            self.follow_member(before, after, member, write);
        }
        let Some(flow) = &after.flow else { return };
        let ends = before.outcome().is_none() && after.outcome().is_some();
        if ends && flow.members > 0 && flow.phase == Phase::Running {
            self.add(write, ContinuationKind::CANCEL, after.id, 0);
        }
    }

    fn follow_member(
        &self,
        before: &Execution,
        after: &Execution,
        member: &Member,
        write: &mut WriteSet,
    ) {
        let flow = member.flow;
        if let (None, Some((outcome, _))) = (before.outcome(), after.outcome()) {
            if !member.is_sink {
                self.add(write, ContinuationKind::ENDED, flow, member.node);
            }
            let at_zero = Some(later(self, ContinuationKind::SETTLE, flow, 0));
            let add = flow::ended(member, outcome);
            write.tallies.push(TallyChange { owner: flow, add, at_zero });
        } else if before.lease().is_some() && after.lease().is_none() && after.outcome().is_none() {
            self.add(write, ContinuationKind::STRAY, flow, member.node);
        }
    }

    pub(super) fn add(
        &self,
        write: &mut WriteSet,
        kind: ContinuationKind,
        flow: ExecutionId,
        member: u32,
    ) {
        let armed = later(self, kind, flow, member);
        write.continuations.push(ContinuationChange::Add(armed));
    }

    /// What the end of an upstream does to `dependants`, all of `flow`.
    fn cascade<'r>(
        &self,
        flow: &Execution,
        upstream: &Ended<'_>,
        dependants: impl Iterator<Item = &'r Execution>,
    ) -> WriteSet {
        let mut write = WriteSet::default();
        let mut fails = None;
        for record in dependants {
            let mut after = record.clone();
            let Some(member) = after.description.member.as_deref_mut() else { continue };
            match upstream.is_start {
                true => member.begin(),
                false => member.count(upstream.is_success),
            }
            let (decided, failed) = self.decide(flow, record, after, upstream.name);
            fails = failed.or(fails);
            write = write.join(decided);
        }
        if let Some(name) = fails {
            write = write.join(self.fail_flow(flow, &name, upstream.name));
        }
        write
    }

    /// The write by which a member of `flow` has the numbers of `after`, and is released or skipped if that
    /// is what they say; `because` of the upstream that decides it. Answers also the name of one whose skip
    /// fails the flow.
    pub(super) fn decide(
        &self,
        flow: &Execution,
        record: &Execution,
        mut after: Execution,
        because: &NodeName,
    ) -> (WriteSet, Option<NodeName>) {
        let (mut write, mut fails) = (WriteSet::default(), None);
        let Some(member) = after.member.as_deref().cloned() else { return (write, None) };
        let decides = record.is_awaiting() && flow.runs_members();
        let what = match member.verdict() {
            Verdict::Run if decides => {
                if member.rest == Rest::Cancel {
                    self.add(&mut write, ContinuationKind::UNNEEDED, flow.id, member.node);
                }
                Some(self.release(&mut after))
            }
            Verdict::Skip if decides => {
                let because = because.clone();
                after = self.finished(&after, Outcome::Skipped { because }, EndReason::Cancelled);
                fails = (member.on_failure == OnFailure::FailFlow).then_some(member.name);
                Some(EventKind::Skipped)
            }
            _ => None,
        };
        (write.join(self.update(record, after, what)), fails)
    }

    /// Lets a member start, or continue, that waits for nothing more.
    pub(super) fn release(&self, record: &mut Execution) -> EventKind {
        let State::Awaiting { why } = record.state else { return EventKind::Awaiting };
        record.queued_at = self.now;
        let start = record.member.as_ref().and_then(|member| member.start.resolve(self.now));
        let from = start.filter(|_| why.starts_attempt());
        record.state = match from {
            Some(until) => State::Delayed { until, why: DelayReason::Start, step: None },
            None => State::Queued { why },
        };
        EventKind::Released { from, resumes: !why.starts_attempt() }
    }

    pub(super) fn fail_flow(
        &self,
        flow: &Execution,
        skipped: &NodeName,
        because: &NodeName,
    ) -> WriteSet {
        let message = format!("node {because} did not succeed, and node {skipped} needs it");
        let failure =
            Failure { category: Category::flow(), retryable: false, message: message.into() };
        let ending = Ending { outcome: Outcome::Failed { failure }, held: HeldMembers::Cancel };
        self.end_flow(flow, ending)
    }

    /// The write by which the start of a flow counts no more: it was gone through, or its graph will never be
    /// whole.
    pub(super) fn start_over(&self, record: &Execution) -> WriteSet {
        let mut after = record.clone();
        if let Some(flow) = after.description.flow.as_deref_mut() {
            (flow.sealed, flow.starting) = (true, false);
        }
        let mut write = self.update(record, after, None);
        let at_zero = Some(later(self, ContinuationKind::SETTLE, record.id, 0));
        write.tallies.push(TallyChange { owner: record.id, add: [(LATCH, -1)].into(), at_zero });
        write
    }

    /// The write by which a flow begins to end. Nothing of it is claimed, released or added after it.
    pub(super) fn end_flow(&self, record: &Execution, ending: Ending) -> WriteSet {
        let mut after = record.clone();
        if let Some(flow) = after.description.flow.as_deref_mut() {
            flow.phase = Phase::Ending(ending);
        }
        after.run.deadline = None;
        let mut write = self.update(record, after, None);
        self.add(&mut write, ContinuationKind::CANCEL, record.id, 0);
        write
    }

    /// `step`, which completes a member, with what that means for its dependants if they are few: then no
    /// continuation is added. Asks to read them first.
    pub(super) fn cascade_at_once(&self, record: &Execution, step: Step) -> Step {
        let Step::Done(mut transition) = step else { return step };
        let write = transition.items.first_mut().and_then(|item| item.write.as_mut());
        let (Some(write), Some(member)) = (write, record.member.as_deref()) else {
            return Step::Done(transition);
        };
        if record.counts.of(Collection::Next) != 1 {
            return Step::Done(transition);
        }
        let range = next_range(record.id, 0);
        let (flow, next) = (self.loaded.records.get(&member.flow), self.loaded.ranges.get(&range));
        let (Some(flow), Some(next)) = (flow, next) else {
            let (records, ranges) = (vec![member.flow], vec![range]);
            return Step::NeedMore(ReadSet { records, ranges, ..ReadSet::default() });
        };
        let next = dependants(next, Some(member.node));
        let Some(flow) = flow.as_ref().filter(|flow| flow.runs_members()) else {
            return Step::Done(transition);
        };
        if next.len() > FLOW_INLINE {
            return Step::Done(transition);
        }
        if let Some(more) = self.missing_members(flow.id, &next) {
            return Step::NeedMore(more);
        }
        let dependants =
            next.iter().filter_map(|node| self.loaded.record(member_id(flow.id, *node)));
        let upstream = Ended { name: &member.name, is_success: true, is_start: false };
        let cascade = self.cascade(flow, &upstream, dependants);
        if cascade.changes.iter().any(|change| change.id == flow.id)
            || !cascade.continuations.is_empty()
        {
            return Step::Done(transition);
        }
        let own = write.changes.first_mut().and_then(|change| change.after.as_mut());
        if let Some(own) = own.and_then(|own| own.description.member.as_deref_mut()) {
            own.counted = 1;
        }
        *write = std::mem::take(write).join(cascade);
        write.continuations.retain(|change| !is_end_of(change, member));
        write.seen.push((flow.id, flow.version));
        Step::Done(transition)
    }

    /// What must be read of these members of `flow`, if anything.
    pub(super) fn missing_members(&self, flow: ExecutionId, nodes: &[u32]) -> Option<ReadSet> {
        let ids = nodes.iter().map(|node| member_id(flow, *node));
        let records: Vec<_> = ids.filter(|id| !self.loaded.records.contains_key(id)).collect();
        (!records.is_empty()).then(|| ReadSet { records, ..ReadSet::default() })
    }
}

fn is_end_of(change: &ContinuationChange, member: &Member) -> bool {
    matches!(change, ContinuationChange::Add(armed)
        if armed.continuation.kind == ContinuationKind::ENDED
            && armed.continuation.owner == member.flow
            && armed.continuation.member == member.node)
}

/// An upstream that has ended.
struct Ended<'a> {
    name: &'a NodeName,
    is_success: bool,
    /// It is the start of the graph.
    is_start: bool,
}

/// One chunk of what depends on `owner`.
pub(super) fn next_range(owner: ExecutionId, from: u64) -> ElementRange {
    ElementRange { owner, collection: Collection::Next, from, limit: 1 }
}

/// The nodes that a chunk lists, each once. A number that no node has, as in a damaged chunk, could have the
/// id of another node.
pub(super) fn nodes(elements: &[Element]) -> Vec<u32> {
    let bytes = elements.iter().filter_map(|element| match &element.content {
        Content::Bytes(bytes) => Some(flow::unpack(bytes)),
        Content::Attempt(_) => None,
    });
    let exists = |node: &u32| (*node as usize) < FLOW_NODES;
    let mut nodes: Vec<_> = bytes.flatten().take(FLOW_SLICE).filter(exists).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// Those of a chunk that depend on `upstream`: a damaged one may list that itself.
fn dependants(elements: &[Element], upstream: Option<u32>) -> Vec<u32> {
    nodes(elements).into_iter().filter(|node| Some(*node) != upstream).collect()
}

/// [`ContinuationKind::ENDED`]: each slice goes through one chunk of what depends on the member.
pub(super) struct EndedWork;

impl Work for EndedWork {
    fn moves(&self) -> Moves {
        Moves::By(Verb::Cascade)
    }

    fn reads(&self, continuation: &Continuation) -> ReadSet {
        let Continuation { owner, member, from, .. } = *continuation;
        let upstream = upstream(owner, member);
        ReadSet {
            records: [owner, upstream].into(),
            ranges: vec![next_range(upstream, from)],
            ..ReadSet::default()
        }
    }

    fn slice(&self, context: &Context<'_>, continuation: &Continuation) -> Slice {
        let Continuation { owner, member, from, .. } = *continuation;
        let done = ControlFlow::Continue((WriteSet::default(), None));
        let (upstream, is_start) = (upstream(owner, member), member == START);
        let flow = context.loaded.record(owner);
        let upstream = context.loaded.record(upstream);
        let (Some(flow), Some(upstream)) = (flow, upstream) else { return done };
        let start = NodeName::start();
        let ended = match (is_start, upstream.outcome(), upstream.member.as_deref()) {
            (true, ..) => Ended { name: &start, is_success: true, is_start },
            (false, Some((outcome, _)), Some(member)) => {
                Ended { name: &member.name, is_success: outcome.is_success(), is_start }
            }
            _ => return done,
        };
        if !flow.is_flow() {
            return ControlFlow::Continue((context.children_ended(flow, &[upstream]), None));
        }
        // Before a graph is whole, what depends on the member may not be there. Its seal makes up for it.
        let counted = upstream.member.as_ref().map_or(from, |member| member.counted.into());
        let is_over = |flow: &Flow| !flow.sealed || is_start && !flow.starting;
        if counted != from || flow.flow.as_deref().is_none_or(is_over) {
            return done;
        }
        let chunk = context.loaded.ranges.get(&next_range(upstream.id, from));
        let next = dependants(chunk.map_or(&[], |chunk| chunk), Some(member));
        if let Some(more) = context.missing_members(flow.id, &next) {
            return ControlFlow::Break(more);
        }
        let records = next.iter().map(|node| context.loaded.record(member_id(flow.id, *node)));
        let mut write = context.cascade(flow, &ended, records.flatten());
        let has_more = from + 1 < upstream.counts.of(Collection::Next);
        if is_start && !has_more {
            write = write.join(context.start_over(flow));
        }
        if !write.changes.iter().any(|change| change.id == flow.id) {
            write.seen.push((flow.id, flow.version));
        }
        if !is_start {
            let mut after = upstream.clone();
            if let Some(member) = after.description.member.as_deref_mut() {
                member.counted += 1;
            }
            write = context.update(upstream, after, None).join(write);
        }
        ControlFlow::Continue((write, has_more.then_some(from + 1)))
    }
}

/// The record whose dependants are gone through.
fn upstream(flow: ExecutionId, member: u32) -> ExecutionId {
    match member {
        START => flow,
        node => member_id(flow, node),
    }
}
