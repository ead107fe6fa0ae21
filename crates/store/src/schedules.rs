//! Schedules as those who ask for them see them.

use ff_core::schedule::Schedule;
use ff_core::{Millis, ResourceName, Time};

/// A schedule, its name and its next moments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSchedule {
    /// Its name.
    pub name: ResourceName,
    /// What it is.
    pub schedule: Schedule,
    /// Its next moments, whether or not it is paused.
    pub next: Vec<Time>,
}

/// A range of the past whose moments are to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackfillRange {
    /// The first moment.
    pub from: Time,
    /// The last one.
    pub until: Time,
    /// How long it is from one run to the next.
    pub pace: Millis,
}
