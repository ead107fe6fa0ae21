//! Fire: decide the moments of a schedule that have come, and make their runs, in one write.
//!
//! The write moves the schedule past a moment and makes the run of that moment, or neither. A moment that
//! is decided again, because a fault came between, finds the run under its id.

use super::{reads, submit};
use crate::bounds::{SCHEDULE_CHECK, SCHEDULE_SLICE, SCHEDULE_WAITING};
use crate::id::ExecutionId;
use crate::machine::{Context, Decide, Facts, Moves, ReadSet, Step, WriteSet};
use crate::refusal::Refusal;
use crate::resource::{Body, Resource, ResourceKey};
use crate::schedule::{Overlap, RunEffect, Schedule, ScheduledRun, run_id};
use crate::state::State;
use crate::table::Verb;
use crate::time::{Millis, Time};

/// How much of a backfill that was held up is made up for at once.
const BURST: Millis = Millis::from_secs(1);

/// Decides the moments of a schedule that have come, a few at a time. It belongs to no tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FireSchedule {
    /// Where it lies.
    pub key: ResourceKey,
}

/// What became of the moments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fired {
    /// Something was decided.
    pub changed: bool,
    /// The runs that were made.
    pub made: Vec<ExecutionId>,
    /// Runs that must be cancelled before the next moment has its run.
    pub cancel: Vec<ExecutionId>,
}

impl Decide for FireSchedule {
    fn facts(&self) -> Facts<'_> {
        let moves = Moves::By(Verb::Submit);
        Facts { adds: true, moves, ..Facts::resource(&self.key) }
    }

    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let (key, now) = (&self.key, context.now);
        let before = context.loaded.resource(key);
        let schedule = before.and_then(Resource::as_schedule);
        let due = |schedule: &&Schedule| schedule.timer(key).is_some_and(|at| at <= now);
        let (Some(before), Some(schedule)) = (before, schedule.filter(due)) else {
            return Ok(Step::answer(Fired::default()));
        };
        let needed = concerned(schedule, key, now);
        if needed.iter().any(|id| !context.loaded.records.contains_key(id)) {
            return Ok(Step::NeedMore(reads(schedule, &key.namespace, needed)));
        }
        let mut firing = Firing {
            context,
            key,
            after: schedule.clone(),
            write: WriteSet::default(),
            fired: Fired::default(),
            room: SCHEDULE_SLICE,
        };
        firing.decide();
        let Firing { after, write, mut fired, .. } = firing;
        if after == *schedule {
            return Ok(Step::answer(fired));
        }
        fired.changed = true;
        let write = write.join(context.put(key, Some(before), Body::Schedule(Box::new(after))));
        let write = if fired.made.is_empty() { write } else { context.guarded(write) };
        Ok(Step::write(write, fired))
    }
}

/// The executions that decide on the moments that have come: runs that may not have ended, and those that
/// may be made.
fn concerned(schedule: &Schedule, key: &ResourceKey, now: Time) -> Vec<ExecutionId> {
    let mut ids: Vec<_> = schedule.open().collect();
    ids.extend(schedule.waiting.iter().take(SCHEDULE_SLICE).map(|moment| run_id(key, *moment)));
    let mut ahead = schedule.clone();
    for _ in 0..SCHEDULE_SLICE {
        let Some(moment) = ahead.due_moment(key, now) else { break };
        ids.push(run_id(key, moment));
        ahead.decide(moment);
    }
    if let Some(backfill) = schedule.backfill.as_ref().filter(|backfill| backfill.due <= now) {
        let moments = schedule.spec.plan.upcoming(backfill.decided, SCHEDULE_SLICE);
        let moments = moments.into_iter().take_while(|moment| *moment <= backfill.until);
        ids.extend(moments.map(|moment| run_id(key, moment)));
    }
    ids.sort_unstable();
    ids.dedup();
    ids
}

struct Firing<'a, 'b> {
    context: &'a Context<'b>,
    key: &'a ResourceKey,
    after: Schedule,
    write: WriteSet,
    fired: Fired,
    /// How many more moments are decided.
    room: usize,
}

impl Firing<'_, '_> {
    fn decide(&mut self) {
        self.note_ends();
        self.run_waiting();
        self.run_due();
        self.backfill();
        let waits = !self.after.waiting.is_empty();
        self.after.check_at = waits.then(|| self.context.now + SCHEDULE_CHECK);
    }

    /// Takes note of runs that have ended, or are gone.
    fn note_ends(&mut self) {
        for run in &mut self.after.runs {
            if let RunEffect::Started { execution, ended } = &mut run.effect
                && let Some(record) = self.context.loaded.records.get(execution)
            {
                let has_ended = |state: &State| matches!(state, State::Finished { .. });
                *ended |= record.as_ref().is_none_or(|record| has_ended(&record.state));
            }
        }
    }

    /// Whether a moment must wait for an earlier run, or give way to it.
    fn is_held_up(&self) -> bool {
        self.after.spec.overlap != Overlap::Allow && self.after.open().next().is_some()
    }

    fn run_waiting(&mut self) {
        while self.room > 0 && !self.is_held_up() {
            let Some(moment) = self.after.waiting.pop_front() else { break };
            self.run(moment);
        }
    }

    fn run_due(&mut self) {
        while self.room > 0
            && let Some(moment) = self.after.due_moment(self.key, self.context.now)
        {
            let queues = self.after.spec.overlap == Overlap::Queue;
            let is_held_up = self.is_held_up() || queues && !self.after.waiting.is_empty();
            match self.after.spec.overlap {
                Overlap::Cancel if is_held_up => {
                    // It is decided once they have ended.
                    self.fired.cancel = self.after.open().collect();
                    return;
                }
                Overlap::Queue if is_held_up && self.after.waiting.len() < SCHEDULE_WAITING => {
                    self.after.waiting.push_back(moment);
                    self.room -= 1;
                }
                _ if is_held_up => {
                    self.after.tally.skipped += 1;
                    let at = self.context.now;
                    self.after.note(ScheduledRun { moment, at, effect: RunEffect::Skipped });
                    self.room -= 1;
                }
                _ => self.run(moment),
            }
            self.after.decide(moment);
        }
    }

    fn backfill(&mut self) {
        let now = self.context.now;
        while self.room > 0
            && let Some(mut backfill) = self.after.backfill.take_if(|backfill| backfill.due <= now)
        {
            let next = self.after.spec.plan.next(backfill.decided);
            let Some(moment) = next.filter(|moment| *moment <= backfill.until) else { break };
            let made = self.fired.made.len();
            self.make(moment);
            backfill.made += (self.fired.made.len() - made) as u64;
            backfill.decided = moment;
            backfill.due = backfill.due.max(now - BURST) + backfill.pace;
            self.after.backfill = Some(backfill);
        }
    }

    /// Makes the run of a moment, and keeps what became of it.
    fn run(&mut self, moment: Time) {
        let effect = self.make(moment);
        self.after.note(ScheduledRun { moment, at: self.context.now, effect });
    }

    /// Makes the run of a moment, unless there is one.
    fn make(&mut self, moment: Time) -> RunEffect {
        self.room -= 1;
        let execution = run_id(self.key, moment);
        let known = self.context.loaded.record(execution);
        if let Some(record) = known {
            let ended = matches!(record.state, State::Finished { .. });
            return RunEffect::Started { execution, ended };
        }
        if self.fired.made.contains(&execution) {
            return RunEffect::Started { execution, ended: false };
        }
        match submit(self.context, self.key, &self.after, execution, moment) {
            Ok(write) => {
                self.write = std::mem::take(&mut self.write).join(write);
                self.fired.made.push(execution);
                self.after.tally.made += 1;
                RunEffect::Started { execution, ended: false }
            }
            Err(refused) => {
                self.after.tally.refused += 1;
                RunEffect::Refused(refused)
            }
        }
    }
}
