//! Wait for children: a holder parks its execution until children of it have ended.
//!
//! What ends a child adds a continuation that counts it for its parent, if that waits for it. A child that
//! ends while its parent is being parked is found by a continuation that the parking adds.

use std::ops::ControlFlow;

use super::continue_::{Slice, Work};
use super::guard::Leave;
use super::spawn::child_key;
use super::{Context, Decide, Facts, LeaseRef, Moves, ReadSet, Step, Suspended, WriteSet};
use crate::bounds::{FLOW_SLICE, WAITED_CHILDREN};
use crate::continuation::{Continuation, ContinuationKind, LATCH};
use crate::digest::Digest;
use crate::event::EventKind;
use crate::flow::{ChildWait, member_id};
use crate::id::LeaseId;
use crate::name::NodeName;
use crate::record::{Execution, Exited};
use crate::refusal::Refusal;
use crate::state::{Intent, State};
use crate::table::Verb;

/// Ends the lease and continues the same attempt once children have ended. Those that have ended by then
/// count; if they are enough, the holder keeps its lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitChildren {
    /// What is held.
    pub hold: LeaseRef,
    /// The children that it waits for, at most [`WAITED_CHILDREN`]; all that it has if none is named.
    pub children: Vec<NodeName>,
    /// How many of those must complete; every one must have ended, however, if not given. It is over in any
    /// case when all have ended.
    pub completed: Option<u32>,
}

impl ChildWait {
    /// Counts a child that has ended. Answers whether it was waited for.
    fn count(&mut self, node: u32, is_success: bool) -> bool {
        let ChildWait::Some { left, completed } = self else { return false };
        let Ok(place) = left.binary_search(&node) else { return false };
        left.remove(place);
        if let Some(more) = completed.as_mut().filter(|_| is_success) {
            *more = more.saturating_sub(1);
        }
        true
    }

    fn is_over(&self) -> bool {
        match self {
            ChildWait::Every => false,
            ChildWait::Some { left, completed } => left.is_empty() || *completed == Some(0),
        }
    }
}

impl WaitChildren {
    fn digest(&self) -> Digest {
        Digest::of(|fields| {
            fields.text("wait_children");
            fields.number(self.children.len() as u64);
            self.children.iter().for_each(|name| fields.text(name.as_str()));
            fields.maybe(self.completed.map(u64::from));
        })
    }

    /// The numbers of the children that it names, in order.
    fn numbers(&self, context: &Context<'_>) -> Result<Vec<u32>, Refusal> {
        let number = |name: &NodeName| {
            let key = child_key(self.hold.target.execution, name);
            let found = context.loaded.elements.get(&key).and_then(Option::as_ref);
            found.map(|element| element.number as u32).ok_or(Refusal::NoSuch { what: "child" })
        };
        let mut numbers = self.children.iter().map(number).collect::<Result<Vec<_>, _>>()?;
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }
}

impl Decide for WaitChildren {
    fn facts(&self) -> Facts<'_> {
        Facts::stop(&self.hold.target, Verb::WaitChildren)
    }

    fn lease_mut(&mut self) -> Option<&mut LeaseId> {
        Some(&mut self.hold.fence.lease)
    }

    fn check(&self) -> Result<(), Refusal> {
        Refusal::cap("children", self.children.len(), WAITED_CHILDREN, "children")?;
        match self.completed {
            Some(_) if self.children.is_empty() => {
                Err(Refusal::invalid("completed", "is only for children that are named"))
            }
            Some(0) => Err(Refusal::invalid("completed", "is 0; give at least 1")),
            _ => Ok(()),
        }
    }

    fn reads(&self) -> ReadSet {
        let parent = self.hold.target.execution;
        ReadSet {
            elements: self.children.iter().map(|name| child_key(parent, name)).collect(),
            tallies: vec![parent],
            ..ReadSet::record(parent)
        }
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let (record, digest) = (context.found(&self.hold.target)?, self.digest());
        let answer = |exited| Suspended { exited, waitpoints: Vec::new() };
        if let Some(exited) = context.repeated(record, &self.hold, digest)? {
            return Ok(Step::answer(answer(Some(exited))));
        }
        let held = context.held(&self.hold)?;
        if let Some(request) = held.cancel {
            let leave = context.cancelled(record, request.reason.clone());
            let answer = answer(Some(leave.answer));
            return Ok(context.leave(record, held.lease, digest, leave).answering(answer));
        }
        let numbers = self.numbers(context)?;
        if let Some(more) = context.missing_members(record.id, &numbers) {
            return Ok(Step::NeedMore(more));
        }
        let mut wait = match self.children.is_empty() {
            true => ChildWait::Every,
            false => ChildWait::Some { left: numbers.clone(), completed: self.completed },
        };
        for number in numbers {
            let child = context.loaded.record(member_id(record.id, number));
            // One that is not there has been removed.
            match child.map(|child| child.outcome()) {
                Some(None) => {}
                Some(Some((outcome, _))) => _ = wait.count(number, outcome.is_success()),
                None => _ = wait.count(number, false),
            }
        }
        let left = context.loaded.tallies.get(&record.id).map_or(0, |tally| tally.of(LATCH));
        let is_over = match &wait {
            ChildWait::Every => left <= 0,
            some => some.is_over(),
        };
        let (true, false) = (record.flow.is_some(), is_over) else {
            return Ok(Step::answer(answer(None)));
        };
        let mut after = record.clone();
        if let Some(flow) = after.description.flow.as_deref_mut() {
            flow.wait = Some(Box::new(wait));
        }
        after.state = State::Awaiting { why: Intent::Resume };
        let exited = Exited::Suspended { until: None };
        let what = EventKind::Awaiting;
        let leave = Leave { after, what, answer: exited, result: None, entry: None };
        let step = context.leave(record, held.lease, digest, leave).answering(answer(Some(exited)));
        Ok(context.looks_after(record, step))
    }
}

impl Context<'_> {
    /// `step`, which parks `parent`, with a look at the children that have ended meanwhile.
    fn looks_after(&self, parent: &Execution, step: Step) -> Step {
        let Step::Done(mut transition) = step else { return step };
        let write = transition.items.first_mut().and_then(|item| item.write.as_mut());
        if let Some(write) = write {
            self.add(write, ContinuationKind::CHILDREN, parent.id, 0);
        }
        Step::Done(transition)
    }

    /// The write that counts children which have ended for their parent, if that waits for them.
    pub(super) fn children_ended(&self, parent: &Execution, ended: &[&Execution]) -> WriteSet {
        let is_parked = matches!(parent.state, State::Awaiting { why: Intent::Resume });
        let flow = parent.flow.as_deref().filter(|_| is_parked);
        let Some(mut wait) = flow.and_then(|flow| flow.wait.clone()) else {
            return WriteSet::default();
        };
        let counted = ended.iter().filter(|child| {
            let node = child.member.as_ref().map(|member| member.node);
            let outcome = child.outcome().map(|(outcome, _)| outcome.is_success());
            node.zip(outcome).is_some_and(|(node, is_success)| wait.count(node, is_success))
        });
        if counted.count() == 0 {
            return WriteSet::default();
        }
        match wait.is_over() {
            true => self.unparked(parent),
            false => {
                let mut after = parent.clone();
                if let Some(flow) = after.description.flow.as_deref_mut() {
                    flow.wait = Some(wait);
                }
                self.update(parent, after, None)
            }
        }
    }

    /// The write that lets a parent continue.
    fn unparked(&self, parent: &Execution) -> WriteSet {
        let mut after = parent.clone();
        if let Some(flow) = after.description.flow.as_deref_mut() {
            flow.wait = None;
        }
        let what = self.release(&mut after);
        self.update(parent, after, what)
    }

    /// The write that lets a parent continue which waits for all its children, once all have ended.
    pub(super) fn every_child_ended(&self, parent: &Execution) -> WriteSet {
        let waits = |wait: &ChildWait| *wait == ChildWait::Every;
        let wait = parent.flow.as_deref().and_then(|flow| flow.wait.as_deref());
        let is_parked = matches!(parent.state, State::Awaiting { why: Intent::Resume });
        let left = self.loaded.tallies.get(&parent.id).map_or(0, |tally| tally.of(LATCH));
        match is_parked && wait.is_some_and(waits) && left <= 0 {
            true => self.unparked(parent),
            false => WriteSet::default(),
        }
    }
}

/// [`ContinuationKind::CHILDREN`]: what children have come to that ended while their parent was being
/// parked. `from` is the number of the child with which a slice begins.
pub(super) struct Children;

impl Work for Children {
    fn moves(&self) -> Moves {
        Moves::By(Verb::Cascade)
    }

    fn reads(&self, continuation: &Continuation) -> ReadSet {
        ReadSet { tallies: vec![continuation.owner], ..ReadSet::record(continuation.owner) }
    }

    fn slice(&self, context: &Context<'_>, continuation: &Continuation) -> Slice {
        let nothing = ControlFlow::Continue((WriteSet::default(), None));
        let Some(parent) = context.loaded.record(continuation.owner) else { return nothing };
        let wait = parent.flow.as_deref().and_then(|flow| flow.wait.as_deref());
        let left = match wait {
            None => return nothing,
            Some(ChildWait::Every) => {
                return ControlFlow::Continue((context.every_child_ended(parent), None));
            }
            Some(ChildWait::Some { left, .. }) => left,
        };
        let later = left.iter().copied().filter(|node| u64::from(*node) >= continuation.from);
        let mut later: Vec<_> = later.take(FLOW_SLICE + 1).collect();
        let next = later.get(FLOW_SLICE).map(|node| u64::from(*node));
        later.truncate(FLOW_SLICE);
        if let Some(more) = context.missing_members(parent.id, &later) {
            return ControlFlow::Break(more);
        }
        let children =
            later.iter().filter_map(|node| context.loaded.record(member_id(parent.id, *node)));
        let ended: Vec<_> = children.filter(|child| child.outcome().is_some()).collect();
        ControlFlow::Continue((context.children_ended(parent, &ended), next))
    }
}
