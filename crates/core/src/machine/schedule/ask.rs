//! What somebody asks of a schedule besides its moments: a run now, or those of a range of the past.

use super::{found, reads, submit};
use crate::bounds::{SCHEDULE_BACKFILL_PACE_MAX, SCHEDULE_BACKFILL_PACE_MIN};
use crate::id::RequestId;
use crate::machine::{Context, Decide, Facts, Moves, ReadSet, Reply, Step, Submitted};
use crate::refusal::Refusal;
use crate::resource::{Body, ResourceKey};
use crate::schedule::{Backfill, RunEffect, ScheduledRun, run};
use crate::table::Verb;
use crate::time::{Millis, Time};
use crate::view::PublicState;

/// Submits a run of a schedule now, whatever its moments, its overlap and whether it is paused. The same
/// request makes one run, however often it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSchedule {
    /// Where it lies.
    pub key: ResourceKey,
    /// The name of this call, made by the caller and repeated when it retries.
    pub request: RequestId,
}

impl Decide for RunSchedule {
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
        let (before, schedule) = found(context, &self.key)?;
        let (moment, key) = (context.now, &self.key);
        let execution = run::asked_id(key, schedule.created, self.request);
        if !context.loaded.records.contains_key(&execution) {
            return Ok(Step::NeedMore(reads(schedule, &key.namespace, vec![execution])));
        }
        let answer = |created, state| {
            Reply::from(Submitted { execution, created, state, warnings: Vec::new() })
        };
        if let Some(record) = context.loaded.record(execution) {
            return Ok(Step::answer(answer(false, record.public_state())));
        }
        let write = submit(context, key, schedule, execution, moment);
        let write = write.map_err(|refused| refused.refusal())?;
        let mut after = schedule.clone();
        after.tally.made += 1;
        let effect = RunEffect::Started { execution, ended: false };
        after.note(ScheduledRun { moment, at: moment, effect });
        let write = write.join(context.put(key, Some(before), Body::Schedule(Box::new(after))));
        Ok(Step::write(context.guarded(write), answer(true, PublicState::Waiting)))
    }
}

/// Runs the moments of a range of the past, whatever the overlap. A moment that has a run is not run again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackfillSchedule {
    /// Where it lies.
    pub key: ResourceKey,
    /// The first moment of the range.
    pub from: Time,
    /// The last one.
    pub until: Time,
    /// How long it is from one run to the next.
    pub pace: Millis,
}

impl Decide for BackfillSchedule {
    fn facts(&self) -> Facts<'_> {
        Facts::resource(&self.key)
    }

    fn check(&self) -> Result<(), Refusal> {
        self.pace.within("pace_ms", SCHEDULE_BACKFILL_PACE_MIN, SCHEDULE_BACKFILL_PACE_MAX)?;
        match self.from <= self.until {
            true => Ok(()),
            false => Err(Refusal::invalid("until", "is before the beginning; give a later one")),
        }
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let (before, schedule) = found(context, &self.key)?;
        if self.until > context.now {
            return Err(Refusal::invalid("until", "is not in the past; give an earlier one"));
        }
        if let Some(running) = &schedule.backfill {
            if (running.until, running.pace) == (self.until, self.pace) {
                return Ok(Step::answer(Reply::Schedule(Box::new(schedule.clone()))));
            }
            let why = "asks for a second backfill while one is under way; wait until that is over";
            return Err(Refusal::invalid("from", why));
        }
        let decided = self.from - Millis::new(1);
        if schedule.spec.plan.next(decided).is_none_or(|first| first > self.until) {
            return Err(Refusal::invalid("from", "begins a range without a moment; give another"));
        }
        let mut after = schedule.clone();
        let (until, pace, due) = (self.until, self.pace, context.now);
        after.backfill = Some(Backfill { decided, until, pace, due, made: 0 });
        after.changed = context.changed(after.changed.as_ref());
        let answer = Reply::Schedule(Box::new(after.clone()));
        let body = Body::Schedule(Box::new(after));
        Ok(Step::write(context.put(&self.key, Some(before), body), answer))
    }
}
