//! Replay a flow: what did not complete runs again, once all of it is reopened.
//!
//! The flow is open meanwhile, as one whose graph is being built: nothing of it runs. Its members are
//! reopened in slices, as [`reopened`](crate::reopen::reopened) says, and the last slice lets it run.

use std::ops::ControlFlow;

use super::continue_::{Slice, Work};
use super::flow_ends::Walk;
use super::{Context, Decide, Facts, Moves, ReadSet, Reply, Step, Target, WriteSet};
use crate::act::Deed;
use crate::bounds::{FLOW_OPEN, FLOW_SLICE, RUNS};
use crate::continuation::{Continuation, ContinuationKind, LATCH, TallyChange};
use crate::event::EventKind;
use crate::flow::{self, Phase, Verdict, member_id};
use crate::id::ExecutionId;
use crate::record::{Execution, PastRun, Run};
use crate::refusal::{Full, Refusal};
use crate::state::{Intent, State};
use crate::table::Verb;

/// Begins a new run of a flow that has ended. It names the run it follows, so that a repeated call does
/// not begin two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayFlow {
    /// Which flow.
    pub target: Target,
    /// The run that has ended.
    pub run: u32,
}

/// Reopens members of a flow that is being replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReopenMembers {
    /// Which flow.
    pub target: Target,
    /// The run of it that has begun.
    pub run: u32,
    /// The members, at most [`FLOW_SLICE`].
    pub members: Vec<ReopenedMember>,
    /// Whether these are the last: then the flow runs.
    pub is_last: bool,
}

/// A member that runs again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReopenedMember {
    /// Its number.
    pub node: u32,
    /// The run of it that has ended.
    pub run: u32,
    /// How many successes of upstreams it needs before it may run.
    pub needs: i32,
    /// How many upstreams may still end without success.
    pub spare: i32,
}

/// `record`, which has ended, at the beginning of its next run.
fn next_run(context: &Context<'_>, record: &Execution) -> Result<Execution, Refusal> {
    let State::Finished { outcome, at } = &record.state else {
        return Err(Refusal::WrongState {
            command: "replay",
            state: record.public_state(),
            needs: "finished",
        });
    };
    let number = record.run.number + 1;
    if number >= RUNS {
        return Err(Refusal::LimitReached { what: Full::Runs { most: RUNS } });
    }
    let mut after = record.clone();
    let (started, ended, outcome) = (record.run.started, *at, outcome.clone());
    after.past_runs.push(PastRun { started, ended, outcome });
    after.run = Run::start(number, context.now, &record.spec.policy);
    after.waits.last = None;
    after.queued_at = context.now;
    after.state = State::Awaiting { why: Intent::Replay };
    Ok(after)
}

impl Decide for ReplayFlow {
    fn facts(&self) -> Facts<'_> {
        Facts { adds: true, ..Facts::execution(self.target.execution, Verb::Replay) }
    }

    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.target.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = context.found(&self.target)?;
        let none = Refusal::NoSuch { what: "flow" };
        let flow = record.flow.as_deref().filter(|flow| flow.graph).ok_or(none.clone())?;
        let current = record.run.number;
        if self.run.checked_add(1) == Some(current) {
            return Ok(Step::answer(Reply::Replayed(current)));
        }
        if self.run != current {
            return Err(Refusal::RunMismatch { current });
        }
        if flow.phase == Phase::Retiring {
            return Err(none);
        }
        let mut after = next_run(context, record)?;
        after.run.deadline = Some(context.now + FLOW_OPEN);
        if let Some(flow) = after.description.flow.as_deref_mut() {
            flow.phase = Phase::Open;
            (flow.sealed, flow.starting) = (false, true);
        }
        context.sign(&mut after, Deed::Replay);
        let mut write = context.update(record, after, EventKind::Awaiting);
        // Its start counts until what may run is released.
        let add = [(LATCH, 1)].into();
        write.tallies.push(TallyChange { owner: record.id, add, at_zero: None });
        Ok(Step::write(write, Reply::Replayed(current + 1)))
    }
}

impl ReopenMembers {
    fn ids(&self) -> impl Iterator<Item = ExecutionId> + '_ {
        self.members.iter().map(|member| member_id(self.target.execution, member.node))
    }

    /// The write that reopens one, if that is to be done.
    fn reopen(
        &self,
        context: &Context<'_>,
        reopened: &ReopenedMember,
    ) -> Result<Option<WriteSet>, Refusal> {
        let id = member_id(self.target.execution, reopened.node);
        let Some(record) = context.loaded.record(id) else { return Ok(None) };
        let Some((outcome, _)) = record.outcome().filter(|(it, _)| !it.is_success()) else {
            return Ok(None);
        };
        let Some(member) = record.member.as_deref() else { return Ok(None) };
        if record.run.number != reopened.run {
            return Ok(None);
        }
        let ended = flow::ended(member, outcome);
        let mut after = next_run(context, record)?;
        if let Some(member) = after.description.member.as_deref_mut() {
            (member.needs, member.spare, member.counted) = (reopened.needs, reopened.spare, 0);
        }
        let mut write = context.update(record, after, EventKind::Awaiting);
        let add = ended.into_iter().map(|(counter, by)| (counter, -by)).collect();
        let owner = self.target.execution;
        write.tallies.push(TallyChange { owner, add, at_zero: None });
        Ok(Some(write))
    }
}

impl Decide for ReopenMembers {
    fn facts(&self) -> Facts<'_> {
        Facts { adds: true, ..Facts::execution(self.target.execution, Verb::Replay) }
    }

    fn check(&self) -> Result<(), Refusal> {
        Refusal::cap("members", self.members.len(), FLOW_SLICE, "members")
    }

    fn reads(&self) -> ReadSet {
        let records = [self.target.execution].into_iter().chain(self.ids()).collect();
        ReadSet { records, ..ReadSet::default() }
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = context.found(&self.target)?;
        let flow = record.flow.as_deref().ok_or(Refusal::NoSuch { what: "flow" })?;
        if record.run.number != self.run {
            return Err(Refusal::RunMismatch { current: record.run.number });
        }
        if flow.phase != Phase::Open || record.outcome().is_some() {
            return Ok(Step::answer(Reply::Replayed(self.run)));
        }
        let mut after = record.clone();
        if self.is_last {
            after.run.deadline = record.spec.policy.deadline.map(|span| context.now + span);
            if let Some(flow) = after.description.flow.as_deref_mut() {
                (flow.phase, flow.sealed) = (Phase::Running, true);
            }
        }
        // The flow comes last: it does not run before all are reopened, whatever fault comes between.
        let mut write = WriteSet::default();
        for member in &self.members {
            if let Some(reopened) = self.reopen(context, member)? {
                write = write.join(reopened);
            }
        }
        write = write.join(context.update(record, after, None));
        if self.is_last {
            context.add(&mut write, ContinuationKind::CATCH_UP, record.id, 0);
            context.add(&mut write, ContinuationKind::REOPENED, record.id, 0);
        }
        Ok(Step::write(write, Reply::Replayed(self.run)))
    }
}

/// [`ContinuationKind::REOPENED`]: members that wait for nothing are released.
pub(super) struct Reopened;

impl Work for Reopened {
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
        if walk.flow.flow.as_ref().is_none_or(|flow| !flow.sealed || !flow.starting) {
            return ControlFlow::Continue((WriteSet::default(), None));
        }
        let mut write = WriteSet::default();
        let waiting = walk.members.iter().filter(|record| {
            let verdict = record.member.as_deref().map(flow::Member::verdict);
            record.is_awaiting() && verdict == Some(Verdict::Run)
        });
        for record in waiting.filter(|_| walk.flow.runs_members()) {
            let mut after = (*record).clone();
            let what = context.release(&mut after);
            write = write.join(context.update(record, after, what));
        }
        match walk.next {
            Some(_) => write.seen.push((walk.flow.id, walk.flow.version)),
            None => write = write.join(context.start_over(walk.flow)),
        }
        ControlFlow::Continue((write, walk.next))
    }
}
