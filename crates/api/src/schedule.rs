//! Schedules: what each is to do, what it did, and what it does next.

use ff_core::act::Changed;
use ff_core::schedule::{
    Backfill, Paused, RunEffect, RunRefused, RunWord, Schedule, ScheduleTally, ScheduledRun,
};
use ff_core::{Actor, ExecutionId, Millis, Refusal, ResourceName};
use ff_store::schedules::NamedSchedule;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::act::ChangedView;
use crate::http::{ScheduleRequest, schema};
use crate::timestamp::Timestamp;

/// A schedule.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ScheduleView {
    /// Its name.
    #[schema(value_type = schema::Name)]
    pub schedule: ResourceName,
    /// What it is to do.
    pub spec: ScheduleRequest,
    /// When it was made.
    pub created: Timestamp,
    /// Who changed it last, and when; null when that is not known.
    pub changed: Option<ChangedView>,
    /// Set while it is paused.
    pub paused: Option<PausedView>,
    /// Its next moments, whether or not it is paused: ten, or one in a listing.
    pub next: Vec<Timestamp>,
    /// Moments whose runs wait until earlier ones have ended.
    pub waiting: Vec<Timestamp>,
    /// What became of its latest moments, the newest last.
    pub runs: Vec<ScheduledRunView>,
    /// How many runs were made.
    pub made: u64,
    /// How many moments had no run because an earlier one had not ended.
    pub skipped: u64,
    /// How often moments were missed and not made up for.
    pub missed: u64,
    /// How many runs could not be submitted.
    pub refused: u64,
    /// Moments of the past that are being run.
    pub backfill: Option<BackfillView>,
}

/// A schedule is paused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PausedView {
    /// Since when.
    pub since: Timestamp,
    /// Why, if that was said.
    pub reason: Option<String>,
    /// Who paused it; null when that is not known.
    #[schema(value_type = Option<schema::Name>)]
    pub by: Option<Actor>,
}

/// What became of a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduledRunView {
    /// The moment; of a run that somebody asked for, when that was.
    pub scheduled_for: Timestamp,
    /// When it was decided.
    pub at: Timestamp,
    /// What became of it.
    #[schema(value_type = schema::RunWord)]
    pub effect: RunWord,
    /// The execution, if it was started.
    #[schema(value_type = Option<schema::Id>)]
    pub execution: Option<ExecutionId>,
    /// Whether that is known to have ended.
    pub ended: bool,
    /// The code of the refusal, if it was refused.
    pub code: Option<String>,
}

/// Moments of the past that are being run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackfillView {
    /// Every moment up to this one is done.
    pub done_until: Timestamp,
    /// The last moment of the range.
    pub until: Timestamp,
    /// How long it is from one run to the next.
    pub pace_ms: u64,
    /// When the next run is made.
    pub due: Timestamp,
    /// How many runs were made.
    pub made: u64,
}

/// One page of schedules, in the order of their names.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SchedulePageView {
    /// The schedules.
    pub schedules: Vec<ScheduleView>,
    /// The cursor to continue with; null when there is nothing more.
    pub next: Option<String>,
}

impl SchedulePageView {
    /// The page requested with `limit`.
    pub fn new(found: &[NamedSchedule], limit: usize) -> Self {
        let full = found.last().filter(|_| found.len() >= limit);
        let next = full.map(|last| last.name.to_string());
        SchedulePageView { schedules: found.iter().map(ScheduleView::from).collect(), next }
    }
}

impl From<&NamedSchedule> for ScheduleView {
    fn from(named: &NamedSchedule) -> ScheduleView {
        let Schedule { spec, created, changed, paused, tally, backfill, waiting, runs, .. } =
            &named.schedule;
        ScheduleView {
            schedule: named.name.clone(),
            spec: spec.into(),
            created: (*created).into(),
            changed: changed.as_ref().map(ChangedView::from),
            paused: paused.as_ref().map(|paused| PausedView {
                since: paused.since.into(),
                reason: paused.reason.as_deref().map(str::to_owned),
                by: paused.by.clone(),
            }),
            next: named.next.iter().map(|at| (*at).into()).collect(),
            waiting: waiting.iter().map(|at| (*at).into()).collect(),
            runs: runs.iter().map(ScheduledRunView::from).collect(),
            made: tally.made,
            skipped: tally.skipped,
            missed: tally.missed,
            refused: tally.refused,
            backfill: backfill.as_ref().map(|backfill| BackfillView {
                done_until: backfill.decided.into(),
                until: backfill.until.into(),
                pace_ms: backfill.pace.get(),
                due: backfill.due.into(),
                made: backfill.made,
            }),
        }
    }
}

impl From<&ScheduledRun> for ScheduledRunView {
    fn from(run: &ScheduledRun) -> ScheduledRunView {
        let (execution, ended, code) = match run.effect {
            RunEffect::Started { execution, ended } => (Some(execution), ended, None),
            RunEffect::Refused(code) => (None, false, Some(code.as_str().to_owned())),
            RunEffect::Skipped | RunEffect::Missed => (None, false, None),
        };
        ScheduledRunView {
            scheduled_for: run.moment.into(),
            at: run.at.into(),
            effect: run.effect.word(),
            execution,
            ended,
            code,
        }
    }
}

impl TryFrom<ScheduledRunView> for ScheduledRun {
    type Error = Refusal;

    fn try_from(view: ScheduledRunView) -> Result<ScheduledRun, Refusal> {
        let unknown = || Refusal::invalid("effect", "is not one that is known here");
        let effect = match view.effect {
            RunWord::Started => RunEffect::Started {
                execution: view.execution.ok_or_else(unknown)?,
                ended: view.ended,
            },
            RunWord::Skipped => RunEffect::Skipped,
            RunWord::Missed => RunEffect::Missed,
            RunWord::Refused => {
                let code = view.code.as_deref().and_then(RunRefused::parse);
                RunEffect::Refused(code.ok_or_else(unknown)?)
            }
        };
        Ok(ScheduledRun { moment: view.scheduled_for.0, at: view.at.0, effect })
    }
}

impl TryFrom<ScheduleView> for NamedSchedule {
    type Error = Refusal;

    fn try_from(view: ScheduleView) -> Result<NamedSchedule, Refusal> {
        let next: Vec<_> = view.next.into_iter().map(|at| at.0).collect();
        let schedule = Schedule {
            spec: view.spec.spec()?,
            created: view.created.0,
            changed: view.changed.as_ref().map(Changed::from),
            paused: view.paused.map(|paused| Paused {
                since: paused.since.0,
                reason: paused.reason.map(Into::into),
                by: paused.by,
            }),
            decided: ff_core::Time::EPOCH,
            kept_until: None,
            next: next.first().copied(),
            waiting: view.waiting.into_iter().map(|at| at.0).collect(),
            check_at: None,
            runs: view.runs.into_iter().map(TryInto::try_into).collect::<Result<_, Refusal>>()?,
            tally: ScheduleTally {
                made: view.made,
                skipped: view.skipped,
                missed: view.missed,
                refused: view.refused,
            },
            backfill: view.backfill.map(|backfill| Backfill {
                decided: backfill.done_until.0,
                until: backfill.until.0,
                pace: Millis::new(backfill.pace_ms),
                due: backfill.due.0,
                made: backfill.made,
            }),
        };
        Ok(NamedSchedule { name: view.schedule, schedule, next })
    }
}
