//! Schedules: set and paused by an operator, fired by time, run and backfilled on request.

mod ask;
mod fire;

pub use ask::{BackfillSchedule, RunSchedule};
pub use fire::{FireSchedule, Fired};

use super::hold::check_message;
use super::submit::new_record;
use super::{Context, Decide, Facts, LaneClass, ReadSet, Reply, Step, WriteSet};
use crate::bounds;
use crate::event::EventKind;
use crate::id::ExecutionId;
use crate::name::Namespace;
use crate::refusal::{Full, Refusal};
use crate::resource::{Body, Resource, ResourceKey};
use crate::schedule::{Cadence, Paused, RunRefused, Schedule, ScheduleSpec, run};
use crate::time::Time;

/// Makes a schedule, or changes what it is to do. Moments that have passed are none of its.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetSchedule {
    /// Where it lies.
    pub key: ResourceKey,
    /// What it is to do.
    pub spec: ScheduleSpec,
}

impl Decide for SetSchedule {
    fn facts(&self) -> Facts<'_> {
        let payload_bytes = self.spec.work.input.len();
        Facts { adds: true, payload_bytes, ..Facts::resource(&self.key) }
    }

    fn check(&self) -> Result<(), Refusal> {
        self.key.name.check_free("name")?;
        self.spec.check()
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let (before, now) = (context.loaded.resource(&self.key), context.now);
        let earlier = before.and_then(Resource::as_schedule);
        let mut after = match earlier {
            Some(earlier) if earlier.spec == self.spec => {
                return Ok(Step::answer(Reply::Schedule(Box::new(earlier.clone()))));
            }
            Some(earlier) => {
                let mut after = earlier.clone();
                after.become_spec(self.spec.clone(), now);
                after
            }
            None => Schedule::new(self.spec.clone(), now),
        };
        let had_moments = earlier.is_some_and(|earlier| earlier.spec.plan == self.spec.plan);
        if after.next.is_none() && !had_moments {
            return Err(over(&self.spec));
        }
        after.changed = context.changed(after.changed.as_ref());
        let answer = Reply::Schedule(Box::new(after.clone()));
        Ok(Step::write(context.put(&self.key, before, Body::Schedule(Box::new(after))), answer))
    }
}

/// A schedule that would never run.
fn over(spec: &ScheduleSpec) -> Refusal {
    match (&spec.plan.cadence, spec.plan.end) {
        (Cadence::At(_), None) => Refusal::invalid("at", "has passed; give a later time"),
        (_, Some(_)) => Refusal::invalid("end", "leaves no moment from now on; give a later one"),
        _ => Refusal::invalid("cron", "names no moment from now on"),
    }
}

/// Pauses a schedule, or lets it continue with the moments from then on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PauseSchedule {
    /// Where it lies.
    pub key: ResourceKey,
    /// Whether it is paused from now on.
    pub paused: bool,
    /// Why, for people.
    pub reason: Option<Box<str>>,
}

impl Decide for PauseSchedule {
    fn facts(&self) -> Facts<'_> {
        Facts::resource(&self.key)
    }

    fn check(&self) -> Result<(), Refusal> {
        check_message("reason", self.reason.as_deref().unwrap_or(""))
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let (before, schedule) = found(context, &self.key)?;
        let mut after = schedule.clone();
        match (&schedule.paused, self.paused) {
            (Some(earlier), true) if earlier.reason == self.reason => {}
            (earlier, true) => {
                let since = earlier.as_ref().map_or(context.now, |earlier| earlier.since);
                let by = context.by.cloned();
                after.paused = Some(Paused { since, reason: self.reason.clone(), by });
            }
            (Some(_), false) => {
                after.paused = None;
                after.skip_to(context.now);
            }
            (None, false) => {}
        }
        if after == *schedule {
            return Ok(Step::answer(Reply::Schedule(Box::new(after))));
        }
        after.changed = context.changed(after.changed.as_ref());
        let answer = Reply::Schedule(Box::new(after.clone()));
        let body = Body::Schedule(Box::new(after));
        Ok(Step::write(context.put(&self.key, Some(before), body), answer))
    }
}

/// The schedule of `key`, which must exist.
fn found<'a>(
    context: &Context<'a>,
    key: &ResourceKey,
) -> Result<(&'a Resource, &'a Schedule), Refusal> {
    let resource = context.loaded.resource(key);
    let found = resource.and_then(|resource| Some((resource, resource.as_schedule()?)));
    found.ok_or(Refusal::NoSuch { what: "schedule" })
}

/// What must be seen to submit runs of `schedule` under these ids.
fn reads(schedule: &Schedule, namespace: &Namespace, records: Vec<ExecutionId>) -> ReadSet {
    let work = &schedule.spec.work;
    ReadSet {
        records,
        class: (!work.requires.is_empty()).then(|| LaneClass {
            namespace: namespace.clone(),
            lane: work.lane.clone(),
            class: work.requires.clone(),
        }),
        lane: Some((namespace.clone(), work.lane.clone())),
        ..ReadSet::default()
    }
}

/// The write that submits a run of `schedule` for `moment`, unless its lane takes none.
fn submit(
    context: &Context<'_>,
    key: &ResourceKey,
    schedule: &Schedule,
    id: ExecutionId,
    moment: Time,
) -> Result<WriteSet, RunRefused> {
    let loaded = context.loaded;
    if loaded.lane_state().is_some_and(|lane| lane.draining) {
        return Err(RunRefused::LaneDraining);
    }
    if loaded.other_classes.is_some_and(|others| others >= bounds::CLASSES_PER_LANE) {
        return Err(RunRefused::CapabilitySets);
    }
    let tags = run::tags(&key.name, moment);
    let submit = schedule.spec.work.submit(id, key.namespace.clone(), tags);
    let lane = loaded.lane_state().and_then(|lane| lane.defaults.as_deref());
    let record = new_record(context, &submit, lane, submit.digest());
    Ok(context.create(record, submit.input.bytes, EventKind::Submitted { from: None }))
}

impl RunRefused {
    /// The same for who asked for the run.
    fn refusal(self) -> Refusal {
        match self {
            RunRefused::LaneDraining => Refusal::LaneDraining,
            RunRefused::CapabilitySets => {
                let most = bounds::CLASSES_PER_LANE as u64;
                Refusal::LimitReached { what: Full::CapabilitySets { most } }
            }
        }
    }
}
