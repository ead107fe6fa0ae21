//! Schedules: work that is submitted at moments that are known beforehand.
//!
//! A schedule is a resource at the home of its namespace, and its runs are executions of the same partition,
//! so that one write moves it past a moment and makes the run of that moment. A run's id derives from the
//! schedule and the moment: whoever decides a moment again finds the run that is there.

pub mod cron;
#[cfg(test)]
pub(crate) mod draw;
pub mod plan;
pub mod run;
pub mod zone;

use std::collections::VecDeque;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

pub use cron::Cron;
pub use plan::{Cadence, Plan};
pub use run::{RunEffect, RunRefused, RunWord, ScheduledRun, run_id, run_of};
pub use zone::Zone;

use crate::act::Changed;
use crate::bounds::{
    SCHEDULE_CATCH_UP, SCHEDULE_INPUT_BYTES, SCHEDULE_JITTER_MAX, SCHEDULE_MISSED, SCHEDULE_RUNS,
    TAGS,
};
use crate::capability::Capabilities;
use crate::digest::Digest;
use crate::id::ExecutionId;
use crate::limits::ExecutionLimits;
use crate::machine::Submit;
use crate::name::{Actor, Kind, Lane, Namespace};
use crate::overrides::PolicyOverrides;
use crate::payload::{ContentType, Payload};
use crate::record::Tags;
use crate::refusal::Refusal;
use crate::resource::ResourceKey;
use crate::time::{Millis, Time, When};
use crate::words;

words!(
    /// What becomes of a moment while an earlier run has not ended.
    Overlap {
        /// It has no run.
        Skip = "skip",
        /// Its run waits until the earlier ones have ended.
        Queue = "queue",
        /// The earlier runs are cancelled.
        Cancel = "cancel",
        /// Both run.
        Allow = "allow",
    }
);

/// What a schedule is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleSpec {
    /// When.
    pub plan: Plan,
    /// What becomes of a moment while an earlier run has not ended.
    pub overlap: Overlap,
    /// How many of the moments that were missed while nothing ran are made up for, the latest ones.
    pub catch_up: u32,
    /// Each run starts up to this much after its moment, always the same for one moment.
    pub jitter: Millis,
    /// What is submitted.
    pub work: ScheduledWork,
}

/// What each run is submitted with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduledWork {
    /// The queue.
    pub lane: Lane,
    /// The kind of work.
    pub kind: Kind,
    /// What the input is.
    pub content_type: ContentType,
    /// The bytes of the input.
    pub input: Bytes,
    /// Its labels, besides those that name the schedule and the moment.
    pub tags: Tags,
    /// Higher goes first.
    pub priority: i16,
    /// What a worker must offer.
    pub requires: Capabilities,
    /// What it asks of the engine.
    pub policy: PolicyOverrides,
    /// What it spends from and counts against.
    pub limits: ExecutionLimits,
}

/// A schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// What it is to do.
    pub spec: ScheduleSpec,
    /// When it was made.
    pub created: Time,
    /// Who changed it last.
    pub changed: Option<Changed>,
    /// Nothing of it runs.
    pub paused: Option<Paused>,
    /// Every moment up to this one is decided.
    pub decided: Time,
    /// Moments up to this one are made up for, however late it is.
    pub kept_until: Option<Time>,
    /// The first moment that is not decided.
    pub next: Option<Time>,
    /// Moments whose runs wait until earlier ones have ended, the oldest first.
    pub waiting: VecDeque<Time>,
    /// When it is checked whether they have.
    pub check_at: Option<Time>,
    /// What became of the latest moments, the newest last.
    pub runs: VecDeque<ScheduledRun>,
    /// What became of all of them.
    pub tally: ScheduleTally,
    /// Moments of the past that are being run.
    pub backfill: Option<Backfill>,
}

/// Why nothing of a schedule runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    /// Since when.
    pub since: Time,
    /// Why, for people.
    pub reason: Option<Box<str>>,
    /// Who paused it.
    pub by: Option<Actor>,
}

/// What became of the moments of a schedule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleTally {
    /// How many runs were made.
    pub made: u64,
    /// How many moments had no run because an earlier one had not ended.
    pub skipped: u64,
    /// How often moments were missed and not made up for.
    pub missed: u64,
    /// How many runs could not be submitted.
    pub refused: u64,
}

/// Moments of the past that are being run, at a rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backfill {
    /// Every moment up to this one is done.
    pub decided: Time,
    /// The last moment of the range.
    pub until: Time,
    /// How long it is from one run to the next.
    pub pace: Millis,
    /// When the next run is made.
    pub due: Time,
    /// How many runs were made.
    pub made: u64,
}

impl ScheduleSpec {
    /// Refuses what no schedule can have.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        self.plan.check()?;
        self.jitter.within("jitter_ms", Millis::ZERO, SCHEDULE_JITTER_MAX)?;
        if self.catch_up > SCHEDULE_CATCH_UP {
            let why = format!("is {}; give 0 to {SCHEDULE_CATCH_UP}", self.catch_up);
            return Err(Refusal::invalid("catch_up", why));
        }
        Refusal::cap("input", self.work.input.len(), SCHEDULE_INPUT_BYTES, "bytes")?;
        // Two more name the schedule and the moment.
        Refusal::cap("tags", self.work.tags.len(), TAGS - run::TAG_KEYS.len(), "tags")?;
        if let Some(key) = run::TAG_KEYS.iter().find(|key| self.work.tags.contains_key(**key)) {
            let why = format!("has {key}, which each run has of its own; leave it out");
            return Err(Refusal::invalid("tags", why));
        }
        self.work.submit(ExecutionId::nil(), Namespace::default(), Tags::new()).check_input()
    }

    /// Whether both have the same moments, and start them at the same time.
    fn has_moments_of(&self, other: &ScheduleSpec) -> bool {
        (&self.plan, self.jitter) == (&other.plan, other.jitter)
    }

    /// When the run of `moment` of the schedule `key` is due.
    pub fn due(&self, key: &ResourceKey, moment: Time) -> Time {
        match self.jitter.get() {
            0 => moment,
            most => {
                let drawn = Digest::of(|fields| {
                    fields.text(key.namespace.as_str());
                    fields.text(key.name.as_str());
                    fields.number(moment.as_ms());
                });
                moment + Millis::new(drawn.get() % (most + 1))
            }
        }
    }
}

impl ScheduledWork {
    /// The work of a run.
    pub(crate) fn submit(&self, id: ExecutionId, namespace: Namespace, tags: Tags) -> Submit {
        let mut all = self.tags.clone();
        all.extend(tags);
        Submit {
            namespace,
            lane: self.lane.clone(),
            kind: self.kind.clone(),
            input: self.payload(),
            tags: all,
            priority: self.priority,
            start: When::Now,
            key: None,
            requires: self.requires.clone(),
            policy: self.policy.clone(),
            limits: self.limits.clone(),
            id,
        }
    }

    /// Its input.
    pub fn payload(&self) -> Payload {
        Payload { content_type: self.content_type.clone(), bytes: self.input.clone() }
    }
}

impl Schedule {
    /// A new one, whose moments begin at `now`.
    pub(crate) fn new(spec: ScheduleSpec, now: Time) -> Schedule {
        let next = spec.plan.next(now);
        Schedule {
            spec,
            created: now,
            changed: None,
            paused: None,
            decided: now,
            kept_until: None,
            next,
            waiting: VecDeque::new(),
            check_at: None,
            runs: VecDeque::new(),
            tally: ScheduleTally::default(),
            backfill: None,
        }
    }

    /// When it must be looked at next. `key` is its own.
    pub fn timer(&self, key: &ResourceKey) -> Option<Time> {
        if self.paused.is_some() {
            return None;
        }
        let next = self.next.map(|moment| self.spec.due(key, moment));
        let backfill = self.backfill.as_ref().map(|backfill| backfill.due);
        next.into_iter().chain(self.check_at).chain(backfill).min()
    }

    /// Is to do `spec` from now on. If that has other moments, those before now are none of its.
    pub(crate) fn become_spec(&mut self, spec: ScheduleSpec, now: Time) {
        let is_same = self.spec.has_moments_of(&spec);
        self.spec = spec;
        if !is_same {
            self.skip_to(now);
        }
    }

    /// Has no moment of its plan before `now` any more.
    pub(crate) fn skip_to(&mut self, now: Time) {
        self.kept_until = None;
        self.decide(now.max(self.decided));
    }

    /// Every moment up to `moment` is decided.
    pub(crate) fn decide(&mut self, moment: Time) {
        self.decided = moment;
        self.next = self.spec.plan.next(moment);
    }

    /// The next moment of its plan if it is due, once what was missed is left out.
    pub(crate) fn due_moment(&mut self, key: &ResourceKey, now: Time) -> Option<Time> {
        let moment = self.next.filter(|moment| self.spec.due(key, *moment) <= now)?;
        let is_kept = self.kept_until.is_some_and(|until| moment <= until);
        let cutoff = now - SCHEDULE_MISSED - self.spec.jitter;
        if is_kept || moment > cutoff {
            return Some(moment);
        }
        let latest = std::iter::successors(self.spec.plan.last(cutoff), |last| {
            self.spec.plan.last(*last - Millis::new(1)).filter(|earlier| earlier < last)
        });
        let latest = latest.take_while(|last| *last >= moment);
        let first = latest.take(self.spec.catch_up as usize).last();
        if first != Some(moment) {
            self.tally.missed += 1;
            self.note(ScheduledRun { moment, at: now, effect: RunEffect::Missed });
        }
        self.kept_until = Some(cutoff);
        self.decide(first.map_or(cutoff, |first| first - Millis::new(1)));
        self.next.filter(|moment| self.spec.due(key, *moment) <= now)
    }

    /// Keeps what became of a moment.
    pub(crate) fn note(&mut self, run: ScheduledRun) {
        if self.runs.len() == SCHEDULE_RUNS {
            self.runs.pop_front();
        }
        self.runs.push_back(run);
    }

    /// The runs among the latest that are not known to have ended.
    pub(crate) fn open(&self) -> impl Iterator<Item = ExecutionId> {
        self.runs.iter().filter_map(|run| match run.effect {
            RunEffect::Started { execution, ended: false } => Some(execution),
            _ => None,
        })
    }
}
