//! Schedules: tasks at moments that are known beforehand.

use std::time::Duration;

use ff_core::schedule::{Cadence, Cron, Overlap, Plan, ScheduleSpec, ScheduledWork, Zone};
use ff_core::{ExecutionId, Kind, Lane, Millis, Refusal, TagKey, TagValue, Time};
use ff_sdk::{ToPayload, millis};
use ff_store::schedules::NamedSchedule;

use crate::Error;
use crate::flowfabric::FlowFabric;

/// Describes a schedule, or names one. Made by [`FlowFabric::schedule`]; checked and written by
/// [`ScheduleBuilder::set`].
///
/// ```
/// use std::time::Duration;
/// use flowfabric::prelude::*;
/// use flowfabric::testing::Harness;
///
/// async fn report(day: String) -> Result<String, TaskError> {
///     Ok(day)
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Error> {
/// // In a test: #[tokio::test(start_paused = true)]
/// let harness = Harness::start();
/// harness.worker().on("report", report).start().await?;
/// harness.schedule("hourly").cron("0 * * * *").zone("Europe/Berlin").task("report", "today").set().await?;
/// harness.pass(Duration::from_secs(2 * 3_600)).await;
/// let schedule = harness.schedule("hourly").get().await?.schedule;
/// assert_eq!(schedule.tally.made, 2);
/// harness.close().await;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is written before `set()`"]
pub struct ScheduleBuilder {
    flowfabric: FlowFabric,
    name: String,
    spec: Result<Draft, Error>,
}

/// What was said so far.
#[derive(Default)]
struct Draft {
    cron: Option<Cron>,
    zone: Zone,
    every: Option<Millis>,
    at: Option<Time>,
    start: Option<Time>,
    end: Option<Time>,
    overlap: Option<Overlap>,
    catch_up: Option<u32>,
    jitter: Millis,
    work: ScheduledWork,
}

impl ScheduleBuilder {
    pub(crate) fn new(flowfabric: FlowFabric, name: &str) -> ScheduleBuilder {
        ScheduleBuilder { flowfabric, name: name.to_owned(), spec: Ok(Draft::default()) }
    }

    fn with(mut self, change: impl FnOnce(&mut Draft) -> Result<(), Error>) -> ScheduleBuilder {
        self.spec = self.spec.and_then(|mut draft| change(&mut draft).map(|()| draft));
        self
    }

    /// The moments that a cron expression names; seconds may come first.
    pub fn cron(self, expression: &str) -> ScheduleBuilder {
        self.with(|draft| {
            draft.cron = Some(expression.parse()?);
            Ok(())
        })
    }

    /// Whose clocks the expression is for: an IANA name; `UTC` by default.
    pub fn zone(self, zone: &str) -> ScheduleBuilder {
        self.with(|draft| {
            draft.zone = Zone::new(zone)?;
            Ok(())
        })
    }

    /// Once every so often, counted from the start, or else from the year 1970 on.
    pub fn every(self, span: Duration) -> ScheduleBuilder {
        self.with(|draft| {
            draft.every = Some(millis(span));
            Ok(())
        })
    }

    /// A single moment, in milliseconds since 1970.
    pub fn at(self, at: Time) -> ScheduleBuilder {
        self.with(|draft| {
            draft.at = Some(at);
            Ok(())
        })
    }

    /// No moment before `start`, and none after `end`.
    pub fn between(self, start: Option<Time>, end: Option<Time>) -> ScheduleBuilder {
        self.with(|draft| {
            (draft.start, draft.end) = (start, end);
            Ok(())
        })
    }

    /// What becomes of a moment while an earlier run has not ended; by default it is skipped.
    pub fn overlap(self, overlap: Overlap) -> ScheduleBuilder {
        self.with(|draft| {
            draft.overlap = Some(overlap);
            Ok(())
        })
    }

    /// How many of the moments that were missed while nothing ran are made up for; by default one.
    pub fn catch_up(self, most: u32) -> ScheduleBuilder {
        self.with(|draft| {
            draft.catch_up = Some(most);
            Ok(())
        })
    }

    /// Each run starts up to this much after its moment.
    pub fn jitter(self, most: Duration) -> ScheduleBuilder {
        self.with(|draft| {
            draft.jitter = millis(most);
            Ok(())
        })
    }

    /// The task of each run, and its input.
    pub fn task(self, kind: &str, input: &(impl ToPayload + ?Sized)) -> ScheduleBuilder {
        let payload = input.to_payload();
        self.with(|draft| {
            let payload = payload?;
            draft.work.kind = Kind::new(kind)?;
            (draft.work.content_type, draft.work.input) = (payload.content_type, payload.bytes);
            Ok(())
        })
    }

    /// The queue of each run; `default` by default.
    pub fn lane(self, lane: &str) -> ScheduleBuilder {
        self.with(|draft| {
            draft.work.lane = Lane::new(lane)?;
            Ok(())
        })
    }

    /// A label of each run. It may be called again for more.
    pub fn tag(self, key: &str, value: &str) -> ScheduleBuilder {
        self.with(|draft| {
            draft.work.tags.insert(TagKey::new(key)?, TagValue::new(value)?);
            Ok(())
        })
    }

    /// Creates the schedule, or changes what it does from now on.
    pub async fn set(self) -> Result<NamedSchedule, Error> {
        let draft = self.spec?;
        let cadence = match (draft.cron, draft.every, draft.at) {
            (Some(cron), None, None) => Cadence::Cron { cron, zone: draft.zone },
            (None, Some(every), None) => {
                Cadence::Every { every, from: draft.start.unwrap_or(Time::EPOCH) }
            }
            (None, None, Some(at)) => Cadence::At(at),
            _ => {
                let why = "is given with another, or none is; give one of cron, every and at";
                return Err(Refusal::invalid("cron", why).into());
            }
        };
        let spec = ScheduleSpec {
            plan: Plan { cadence, start: draft.start, end: draft.end },
            overlap: draft.overlap.unwrap_or(Overlap::Skip),
            catch_up: draft.catch_up.unwrap_or(1),
            jitter: draft.jitter,
            work: draft.work,
        };
        self.flowfabric.client().set_schedule(&self.name, spec).await
    }

    /// The schedule as it is: what became of its latest moments, and its next ten.
    pub async fn get(&self) -> Result<NamedSchedule, Error> {
        self.flowfabric.client().schedule(&self.name).await
    }

    /// Pauses it: nothing of it runs until it is resumed.
    pub async fn pause(&self, reason: &str) -> Result<(), Error> {
        self.flowfabric.client().pause_schedule(&self.name, Some(reason)).await.map(drop)
    }

    /// Lets it continue with the moments from now on.
    pub async fn resume(&self) -> Result<(), Error> {
        self.flowfabric.client().resume_schedule(&self.name).await.map(drop)
    }

    /// Submits a run now.
    pub async fn run(&self) -> Result<ExecutionId, Error> {
        Ok(self.flowfabric.client().run_schedule(&self.name).await?.execution)
    }

    /// Removes it. Its runs stay.
    pub async fn remove(&self) -> Result<(), Error> {
        self.flowfabric.client().delete_schedule(&self.name).await
    }
}
