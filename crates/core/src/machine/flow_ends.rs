//! How a flow ends: settled by its members, or ended before them, and removed with them.

use std::ops::{ControlFlow, Range};

use bytes::Bytes;

use super::cascade::{later, next_range, nodes};
use super::continue_::{Slice, Work};
use super::{Context, Moves, ReadSet, WriteSet};
use crate::bounds::FLOW_SLICE;
use crate::collection::{Collection, Content, ElementRange};
use crate::continuation::{Continuation, ContinuationChange, ContinuationKind, LATCH};
use crate::event::EventKind;
use crate::flow::{self, Ending, Flow, FlowCounts, HeldMembers, Phase, member_id};
use crate::name::Category;
use crate::payload::{BlobPart, PayloadShape};
use crate::record::{EndReason, Execution};
use crate::state::{CancelRequest, Failure, Outcome, State};
use crate::table::Verb;

const DONE: fn() -> Slice = || ControlFlow::Continue((WriteSet::default(), None));

/// The members of one slice of a walk through all of them.
fn stretch(flow: &Flow, from: u64) -> Range<u32> {
    let from = (from as u32).min(flow.members);
    from..(from.saturating_add(FLOW_SLICE as u32)).min(flow.members)
}

/// Reads one slice of the members; answers them, those that are there, and where the next slice begins.
pub(super) struct Walk<'a> {
    pub(super) flow: &'a Execution,
    pub(super) members: Vec<&'a Execution>,
    pub(super) next: Option<u64>,
}

impl<'a> Walk<'a> {
    pub(super) fn of(
        context: &Context<'a>,
        continuation: &Continuation,
    ) -> ControlFlow<Slice, Walk<'a>> {
        let Some(record) = context.loaded.record(continuation.owner) else {
            return ControlFlow::Break(DONE());
        };
        let Some(flow) = record.flow.as_deref() else { return ControlFlow::Break(DONE()) };
        let range = stretch(flow, continuation.from);
        let some: Vec<_> = range.clone().collect();
        if let Some(more) = context.missing_members(record.id, &some) {
            return ControlFlow::Break(ControlFlow::Break(more));
        }
        let members =
            some.iter().filter_map(|node| context.loaded.record(member_id(record.id, *node)));
        let next = (range.end < flow.members).then_some(range.end.into());
        ControlFlow::Continue(Walk { flow: record, members: members.collect(), next })
    }
}

/// [`ContinuationKind::SETTLE`]: the flow ends when all its members have.
pub(super) struct Settle;

impl Work for Settle {
    fn moves(&self) -> Moves {
        Moves::By(Verb::Cascade)
    }

    fn reads(&self, continuation: &Continuation) -> ReadSet {
        ReadSet { tallies: vec![continuation.owner], ..ReadSet::record(continuation.owner) }
    }

    fn slice(&self, context: &Context<'_>, continuation: &Continuation) -> Slice {
        let Some(record) = context.loaded.record(continuation.owner) else { return DONE() };
        let tally = context.loaded.tallies.get(&record.id).cloned().unwrap_or_default();
        let Some(flow) = record.flow.as_deref() else { return DONE() };
        if !flow.graph {
            return ControlFlow::Continue((context.every_child_ended(record), None));
        }
        if record.outcome().is_some() || tally.of(LATCH) != 0 {
            return DONE();
        }
        let (outcome, what) = match &flow.phase {
            Phase::Running if tally.of(flow::BAD) == 0 => {
                (Outcome::Success { result: PayloadShape::default() }, EventKind::Completed)
            }
            Phase::Running => {
                let failure = Failure {
                    category: Category::flow(),
                    retryable: false,
                    message: failed(&FlowCounts::of(&tally)).into(),
                };
                (Outcome::Failed { failure }, EventKind::Failed)
            }
            Phase::Ending(Ending { outcome, .. }) => (outcome.clone(), ended(outcome)),
            Phase::Open | Phase::Settled | Phase::Retiring => return DONE(),
        };
        let is_success = outcome.is_success();
        let mut after = context.finished(record, outcome, EndReason::Completed);
        if let Some(flow) = after.description.flow.as_deref_mut() {
            flow.phase = Phase::Settled;
        }
        let mut write = context.update(record, after, what);
        if is_success {
            write = write.with_blob(BlobPart::Result(record.run.number), Bytes::new());
        }
        ControlFlow::Continue((write, None))
    }
}

/// Why a flow failed that has run to its end.
fn failed(counts: &FlowCounts) -> String {
    let FlowCounts { failed, cancelled, expired, skipped, .. } = counts;
    let all =
        [(failed, "failed"), (expired, "expired"), (cancelled, "cancelled"), (skipped, "skipped")];
    let some: Vec<_> = all.iter().filter(|(count, _)| **count > 0).collect();
    let some: Vec<_> = some.iter().map(|(count, word)| format!("{count} {word}")).collect();
    format!("not every final node completed: {}", some.join(", "))
}

fn ended(outcome: &Outcome) -> EventKind {
    match outcome {
        Outcome::Success { .. } => EventKind::Completed,
        Outcome::Failed { .. } => EventKind::Failed,
        Outcome::Cancelled { .. } => EventKind::Cancelled,
        Outcome::Expired => EventKind::Expired,
        Outcome::Skipped { .. } => EventKind::Skipped,
    }
}

/// [`ContinuationKind::CANCEL`]: the members of a flow that is ending, or of a task that has ended, are
/// cancelled.
pub(super) struct CancelMembers;

impl Work for CancelMembers {
    fn moves(&self) -> Moves {
        Moves::By(Verb::Cascade)
    }

    fn reads(&self, continuation: &Continuation) -> ReadSet {
        ReadSet::record(continuation.owner)
    }

    fn slice(&self, context: &Context<'_>, continuation: &Continuation) -> Slice {
        let walk = match Walk::of(context, continuation) {
            ControlFlow::Continue(walk) => walk,
            ControlFlow::Break(slice) => return slice,
        };
        let Some(held) = context.ends_members(walk.flow) else { return DONE() };
        let mut write = WriteSet::default();
        for member in &walk.members {
            if let Some(cancelled) = context.cancel_member(walk.flow, member, held) {
                write = write.join(cancelled);
            }
        }
        let is_open = walk.flow.flow.as_ref().is_some_and(|flow| !flow.sealed);
        if walk.next.is_none() && is_open {
            write = write.join(context.start_over(walk.flow));
        }
        ControlFlow::Continue((write, walk.next))
    }
}

impl Context<'_> {
    /// What becomes of the held members of a flow that is ending; `None` if it is not.
    fn ends_members(&self, record: &Execution) -> Option<HeldMembers> {
        let flow = record.flow.as_deref()?;
        match &flow.phase {
            Phase::Ending(ending) => Some(ending.held),
            Phase::Running if record.outcome().is_some() => Some(HeldMembers::Cancel),
            _ => None,
        }
    }

    /// The write that ends a member of a flow that is ending, if it does not end by itself.
    fn cancel_member(
        &self,
        flow: &Execution,
        member: &Execution,
        held: HeldMembers,
    ) -> Option<WriteSet> {
        let reason: Box<str> = match flow.flow.as_deref().map(|flow| &flow.phase) {
            Some(Phase::Ending(Ending { outcome: Outcome::Cancelled { reason }, .. })) => {
                reason.clone().unwrap_or_else(|| "its flow was cancelled".into())
            }
            Some(Phase::Ending(Ending { outcome: Outcome::Expired, .. })) => {
                "its flow ran past its deadline".into()
            }
            Some(Phase::Ending(_)) => "its flow has failed".into(),
            _ => "what spawned it has ended".into(),
        };
        match (&member.state, held) {
            (State::Finished { .. }, _) | (State::Active { .. }, HeldMembers::Finish) => None,
            (State::Active { lease, cancel }, HeldMembers::Grace(grace)) => {
                let asked = self.now + grace;
                let by = cancel.as_ref().map_or(asked, |earlier| earlier.by.min(asked));
                let request = Some(CancelRequest { by, reason: Some(reason) });
                if *cancel == request {
                    return None;
                }
                let mut after = member.clone();
                after.state = State::Active { lease: lease.clone(), cancel: request };
                Some(self.update(member, after, EventKind::Cancelling))
            }
            _ => {
                let leave = self.cancelled(member, Some(reason));
                Some(self.update(member, leave.after, leave.what))
            }
        }
    }

    /// The write that cancels a member which must not be dispatched, because its flow is ending.
    pub(super) fn withdraw(&self, flow: &Execution, member: &Execution) -> Option<WriteSet> {
        self.ends_members(flow)?;
        self.cancel_member(flow, member, HeldMembers::Cancel)
    }
}

/// [`ContinuationKind::STRAY`]: a member that its holder has left unfinished is cancelled if its flow is
/// ending.
pub(super) struct Stray;

impl Work for Stray {
    fn moves(&self) -> Moves {
        Moves::By(Verb::Cascade)
    }

    fn reads(&self, continuation: &Continuation) -> ReadSet {
        let Continuation { owner, member, .. } = *continuation;
        ReadSet { records: vec![owner, member_id(owner, member)], ..ReadSet::default() }
    }

    fn slice(&self, context: &Context<'_>, continuation: &Continuation) -> Slice {
        let Continuation { owner, member, .. } = *continuation;
        let flow = context.loaded.record(owner);
        let member = context.loaded.record(member_id(owner, member));
        let (Some(flow), Some(member)) = (flow, member) else { return DONE() };
        let is_held = member.lease().is_some();
        let write = context.withdraw(flow, member).filter(|_| !is_held);
        ControlFlow::Continue((write.unwrap_or_default(), None))
    }
}

/// [`ContinuationKind::CATCH_UP`]: what members have not counted that had ended when their graph became
/// whole, or ran again, counts now.
pub(super) struct CatchUp;

impl Work for CatchUp {
    fn moves(&self) -> Moves {
        Moves::By(Verb::Cascade)
    }

    fn reads(&self, continuation: &Continuation) -> ReadSet {
        ReadSet::record(continuation.owner)
    }

    fn slice(&self, context: &Context<'_>, continuation: &Continuation) -> Slice {
        let walk = match Walk::of(context, continuation) {
            ControlFlow::Continue(walk) => walk,
            ControlFlow::Break(slice) => return slice,
        };
        let mut write = WriteSet::default();
        for record in walk.members.iter().filter(|record| record.outcome().is_some()) {
            let chunks = record.counts.of(Collection::Next);
            let Some(member) = record.member.as_deref() else { continue };
            if u64::from(member.counted) < chunks {
                let mut armed = later(context, ContinuationKind::ENDED, member.flow, member.node);
                armed.continuation.from = member.counted.into();
                write.continuations.push(ContinuationChange::Add(armed));
            }
        }
        ControlFlow::Continue((write, walk.next))
    }
}

/// [`ContinuationKind::RETIRE`]: members are removed, and then the flow.
pub(super) struct Retire;

impl Work for Retire {
    fn moves(&self) -> Moves {
        Moves::By(Verb::Cascade)
    }

    fn reads(&self, continuation: &Continuation) -> ReadSet {
        ReadSet::record(continuation.owner)
    }

    fn slice(&self, context: &Context<'_>, continuation: &Continuation) -> Slice {
        let walk = match Walk::of(context, continuation) {
            ControlFlow::Continue(walk) => walk,
            ControlFlow::Break(slice) => return slice,
        };
        if walk.flow.flow.as_ref().is_none_or(|flow| flow.phase != Phase::Retiring) {
            return DONE();
        }
        let (mut write, mut is_left) = (WriteSet::default(), false);
        for member in &walk.members {
            let has_children = member.flow.as_deref().is_some_and(|flow| flow.members > 0);
            write = write.join(match member.outcome() {
                // A child that its parent has left behind ends first.
                None => {
                    is_left = true;
                    let leave = context.cancelled(member, Some("what spawned it is gone".into()));
                    context.update(member, leave.after, leave.what)
                }
                // It is removed when its own children are.
                Some(_) if has_children => context.retire_flow(member),
                Some(_) => context.remove(member),
            });
        }
        if is_left {
            // The pass is in the upper half: the same slice again is another continuation.
            return ControlFlow::Continue((write, Some(continuation.from + (1 << 32))));
        }
        let pass = continuation.from >> 32 << 32;
        if walk.next.is_none() {
            write = write.join(context.remove(walk.flow));
        }
        ControlFlow::Continue((write, walk.next.map(|next| pass + next)))
    }
}

/// [`ContinuationKind::UNNEEDED`]: of what a member depends on, what has not ended and nothing else waits
/// for is cancelled, and then what only that needs. `from` is which upstream, and which chunk of what
/// depends on that.
pub(super) struct Unneeded;

impl Unneeded {
    fn upstreams(continuation: &Continuation) -> ElementRange {
        ElementRange {
            owner: continuation.owner,
            collection: Collection::Members,
            from: continuation.member.into(),
            limit: 1,
        }
    }
}

impl Work for Unneeded {
    fn moves(&self) -> Moves {
        Moves::By(Verb::Cascade)
    }

    fn reads(&self, continuation: &Continuation) -> ReadSet {
        let ranges = vec![Self::upstreams(continuation)];
        ReadSet { ranges, ..ReadSet::record(continuation.owner) }
    }

    fn slice(&self, context: &Context<'_>, continuation: &Continuation) -> Slice {
        let (place, chunk) = ((continuation.from >> 32) as usize, continuation.from & 0xffff_ffff);
        let Some(flow) = context.loaded.record(continuation.owner) else { return DONE() };
        let found = context.loaded.ranges.get(&Self::upstreams(continuation));
        let upstreams =
            found.and_then(|found| found.first()).map(|element| match &element.content {
                Content::Bytes(bytes) => flow::unpack(bytes),
                Content::Attempt(_) => Vec::new(),
            });
        let upstreams = upstreams.unwrap_or_default();
        let Some(upstream) = upstreams.get(place).filter(|_| flow.runs_members()) else {
            return DONE();
        };
        let id = member_id(flow.id, *upstream);
        let range = next_range(id, chunk);
        if !context.loaded.records.contains_key(&id) || !context.loaded.ranges.contains_key(&range)
        {
            let ranges = vec![range];
            return ControlFlow::Break(ReadSet { ranges, ..ReadSet::record(id) });
        }
        let following = ((place as u64 + 1) << 32, upstreams.len() > place + 1);
        let next_upstream = following.1.then_some(following.0);
        let pass = ControlFlow::Continue((WriteSet::default(), next_upstream));
        let Some(record) = context.loaded.record(id).filter(|r| r.outcome().is_none()) else {
            return pass;
        };
        let dependants = nodes(context.loaded.ranges.get(&range).map_or(&[], |range| range));
        if let Some(more) = context.missing_members(flow.id, &dependants) {
            return ControlFlow::Break(more);
        }
        let mut records =
            dependants.iter().filter_map(|n| context.loaded.record(member_id(flow.id, *n)));
        if records.any(|dependant| dependant.is_awaiting()) {
            return pass;
        }
        if chunk + 1 < record.counts.of(Collection::Next) {
            return ControlFlow::Continue((WriteSet::default(), Some(continuation.from + 1)));
        }
        let leave = context.cancelled(record, Some("nothing needs it any more".into()));
        let mut write = context.update(record, leave.after, leave.what);
        context.add(&mut write, ContinuationKind::UNNEEDED, flow.id, *upstream);
        ControlFlow::Continue((write, next_upstream))
    }
}

impl Context<'_> {
    /// Begins the removal of a flow and its members.
    pub(super) fn retire_flow(&self, record: &Execution) -> WriteSet {
        let mut after = record.clone();
        if let Some(flow) = after.description.flow.as_deref_mut() {
            flow.phase = Phase::Retiring;
        }
        let mut write = self.update(record, after, None);
        self.add(&mut write, ContinuationKind::RETIRE, record.id, 0);
        write
    }
}
