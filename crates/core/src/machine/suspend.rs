//! Suspend: a holder parks its execution until signals have come or its time is over.

use super::guard::Leave;
use super::hold::check_message;
use super::journal::{check_room, entry_of};
use super::{Context, Decide, Facts, LeaseRef, NewWaitpoint, ReadSet, Step, Suspended};
use crate::bounds::WAITPOINTS;
use crate::condition::Condition;
use crate::digest::Digest;
use crate::event::EventKind;
use crate::id::LeaseId;
use crate::journal::{Entry, Recorded};
use crate::name::{StepName, WaitpointKey};
use crate::record::{Execution, Exited};
use crate::refusal::Refusal;
use crate::state::State;
use crate::suspension::{OnTimeout, SuspendReason, Suspension, Waitpoint, Waits};
use crate::table::Verb;
use crate::time::When;

/// Ends the lease and continues the same attempt once the condition is satisfied. Signals that came
/// early count: if they satisfy it, the execution joins its queue at once, or stays with its holder if
/// that asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspend {
    /// What is held.
    pub hold: LeaseRef,
    /// Every waitpoint of the suspension: those that are open are used, others are opened.
    pub waitpoints: Vec<NewWaitpoint>,
    /// What ends it.
    pub condition: Condition,
    /// When it ends by itself.
    pub timeout: Option<When>,
    /// What happens then.
    pub on_timeout: OnTimeout,
    /// What kind of answer it waits for.
    pub reason: SuspendReason,
    /// What is asked, for people.
    pub message: Option<Box<str>>,
    /// The name under which the journal keeps how it ended.
    pub step: Option<StepName>,
    /// Keeps the lease if the condition is satisfied already.
    pub keep_if_satisfied: bool,
}

impl Suspend {
    /// The fingerprint of the call. The ids of new waitpoints are not part of it: a call that is made
    /// again has others.
    fn digest(&self) -> Digest {
        Digest::of(|fields| {
            fields.text("suspend");
            fields.number(self.waitpoints.len() as u64);
            for waitpoint in &self.waitpoints {
                fields.text(waitpoint.key.as_str());
                fields.number(u64::from(waitpoint.until.is_some()));
                waitpoint.until.unwrap_or(When::Now).fingerprint(fields);
            }
            self.condition.fingerprint(fields);
            fields.number(u64::from(self.timeout.is_some()));
            self.timeout.unwrap_or(When::Now).fingerprint(fields);
            fields.text(self.on_timeout.as_str());
            fields.text(self.reason.as_str());
            fields.text(self.message.as_deref().unwrap_or(""));
            fields.text(self.step.as_ref().map_or("", StepName::as_str));
        })
    }

    fn keys(&self) -> Vec<WaitpointKey> {
        self.waitpoints.iter().map(|waitpoint| waitpoint.key.clone()).collect()
    }

    /// The waitpoints of this call that `record` has open.
    fn open_in(&self, record: &Execution, context: &Context<'_>) -> Vec<Waitpoint> {
        let open = |new: &NewWaitpoint| record.waits.open(&new.key, context.now).cloned();
        self.waitpoints.iter().filter_map(open).collect()
    }

    /// Whether the journal shows that this wait is over. Refuses the name of something else, and a wait
    /// for whose entry the journal has no room.
    fn is_over(&self, record: &Execution, context: &Context<'_>) -> Result<bool, Refusal> {
        let Some(step) = &self.step else { return Ok(false) };
        match context.entry(record, step).map(Entry::of) {
            None => check_room(record, 0).map(|()| false),
            Some(Ok(Entry { what: Recorded::Wait { .. }, .. })) => Ok(true),
            Some(_) => Err(Refusal::StepConflict),
        }
    }

    /// The condition is satisfied and the holder keeps its lease. With a name, the journal keeps that and
    /// the waitpoints are closed; without one nothing changes, so that the call can be repeated.
    fn kept(&self, record: &Execution, parked: &Execution, context: &Context<'_>) -> Step {
        if self.step.is_none() {
            let waitpoints = self.open_in(record, context);
            return Step::answer(Suspended { exited: None, waitpoints });
        }
        let (resumed, entry) = context.resumed(parked, false);
        let mut after = resumed;
        after.state = record.state.clone();
        let write = context.update(record, after, None).with_entry(entry);
        Step::write(write, Suspended { exited: None, waitpoints: Vec::new() })
    }

    /// `before`, suspended, with the early signals counted.
    fn suspended(&self, before: &Execution, context: &Context<'_>) -> Result<Execution, Refusal> {
        let now = context.now;
        let mut after = before.clone();
        let number = after.waits.suspensions;
        after.waits.suspensions += 1;
        for new in &self.waitpoints {
            new.open(&mut after.waits, now)?.of = Some(number);
        }
        let mut counted = Vec::new();
        let Waits { waitpoints, early, .. } = &mut after.waits;
        early.retain(|(id, arrival)| {
            let at = waitpoints.iter().find(|it| it.id == *id && it.of == Some(number));
            if let Some(at) = at {
                self.condition.count(&mut counted, &at.key, *arrival);
            }
            at.is_none()
        });
        let suspension = Suspension {
            number,
            step: self.step.clone(),
            reason: self.reason,
            message: self.message.clone(),
            condition: self.condition.clone(),
            counted,
            since: now,
            until: self.timeout.map(|timeout| timeout.resolve(now).unwrap_or(now)),
            on_timeout: self.on_timeout,
        };
        after.state = State::Suspended { suspension: Box::new(suspension) };
        Ok(after)
    }
}

impl Decide for Suspend {
    fn facts(&self) -> Facts<'_> {
        Facts::stop(&self.hold.target, Verb::Suspend)
    }

    fn lease_mut(&mut self) -> Option<&mut LeaseId> {
        Some(&mut self.hold.fence.lease)
    }

    fn check(&self) -> Result<(), Refusal> {
        if self.waitpoints.is_empty() {
            return Err(Refusal::invalid("waitpoints", "is empty; give at least one"));
        }
        Refusal::cap("waitpoints", self.waitpoints.len(), WAITPOINTS, "waitpoints")?;
        self.waitpoints.iter().try_for_each(NewWaitpoint::check)?;
        let keys = self.keys();
        if (1..keys.len()).any(|at| keys[..at].contains(&keys[at])) {
            return Err(Refusal::invalid("waitpoints", "has a key twice; give each its own"));
        }
        if let Some(timeout) = self.timeout {
            timeout.check("timeout")?;
        }
        check_message("message", self.message.as_deref().unwrap_or(""))?;
        self.condition.check(&keys)
    }

    fn reads(&self) -> ReadSet {
        let execution = self.hold.target.execution;
        let elements = self.step.iter().map(|step| entry_of(execution, step)).collect();
        ReadSet { elements, ..ReadSet::record(execution) }
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let (record, digest) = (context.found(&self.hold.target)?, self.digest());
        if let Some(answer) = context.repeated(record, &self.hold, digest)? {
            let waitpoints = self.open_in(record, context);
            return Ok(Step::answer(Suspended { exited: Some(answer), waitpoints }));
        }
        let held = context.held(&self.hold)?;
        if let Some(request) = held.cancel {
            let leave = context.cancelled(record, request.reason.clone());
            let answer = Suspended { exited: Some(leave.answer), waitpoints: Vec::new() };
            return Ok(context.leave(record, held.lease, digest, leave).answering(answer));
        }
        if self.is_over(record, context)? {
            return Ok(Step::answer(Suspended { exited: None, waitpoints: Vec::new() }));
        }
        let parked = self.suspended(record, context)?;
        let State::Suspended { suspension } = &parked.state else {
            return Err(Refusal::invalid("suspend", "made no suspension"));
        };
        let exited = Exited::Suspended { until: suspension.until };
        let is_satisfied = suspension.condition.is_satisfied(&suspension.counted);
        if is_satisfied && self.keep_if_satisfied {
            return Ok(self.kept(record, &parked, context));
        }
        if is_satisfied {
            let (after, entry) = context.resumed(&parked, false);
            let what = EventKind::Resumed { timed_out: false };
            let leave = Leave { after, what, answer: exited, result: None, entry };
            let answer = Suspended { exited: Some(exited), waitpoints: Vec::new() };
            return Ok(context.leave(record, held.lease, digest, leave).answering(answer));
        }
        let what = EventKind::Suspended { reason: self.reason };
        let answer = Suspended { exited: Some(exited), waitpoints: self.open_in(&parked, context) };
        let leave = Leave { after: parked, what, answer: exited, result: None, entry: None };
        Ok(context.leave(record, held.lease, digest, leave).answering(answer))
    }
}
