//! The runs of schedules: their ids, their tags, and what became of a moment.

use serde::{Deserialize, Serialize};

use super::zone::{from_utc, in_utc};
use crate::digest::{Digest, Fields};
use crate::id::{ExecutionId, RequestId};
use crate::name::{Namespace, ResourceName, TagKey, TagValue};
use crate::record::{Description, Tags};
use crate::resource::ResourceKey;
use crate::time::Time;
use crate::words;

/// The tag that names the schedule of a run.
pub const SCHEDULE_TAG: &str = "schedule";

/// The tag that says for which moment a run is.
pub const MOMENT_TAG: &str = "scheduled_for";

pub(super) const TAG_KEYS: [&str; 2] = [SCHEDULE_TAG, MOMENT_TAG];

/// What became of a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduledRun {
    /// The moment; of a run that somebody asked for, when that was.
    pub moment: Time,
    /// When it was decided.
    pub at: Time,
    /// What became of it.
    pub effect: RunEffect,
}

/// What became of a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunEffect {
    /// It has a run.
    Started {
        /// Which execution.
        execution: ExecutionId,
        /// It is known to have ended.
        ended: bool,
    },
    /// An earlier run had not ended.
    Skipped,
    /// It passed while nothing ran, and maybe others after it.
    Missed,
    /// Its run could not be submitted.
    Refused(RunRefused),
}

words!(
    /// What became of a moment, in a word.
    RunWord {
        /// It has a run.
        Started = "started",
        /// An earlier run had not ended.
        Skipped = "skipped",
        /// It passed while nothing ran.
        Missed = "missed",
        /// Its run could not be submitted.
        Refused = "refused",
    }
);

words!(
    /// Why the run of a moment could not be submitted; the code of the refusal.
    RunRefused {
        /// The lane is draining.
        LaneDraining = "lane_draining",
        /// The lane queues too many distinct capability sets.
        CapabilitySets = "limit_reached",
    }
);

impl RunEffect {
    /// The word for it.
    pub const fn word(self) -> RunWord {
        match self {
            RunEffect::Started { .. } => RunWord::Started,
            RunEffect::Skipped => RunWord::Skipped,
            RunEffect::Missed => RunWord::Missed,
            RunEffect::Refused(_) => RunWord::Refused,
        }
    }
}

/// A few bits that all runs of a schedule have in their ids.
fn bits_of(namespace: &Namespace, name: &ResourceName) -> u32 {
    let digest = Digest::of(|fields| {
        fields.text(namespace.as_str());
        fields.text(name.as_str());
    });
    digest.get() as u32
}

/// The id of the run of `moment`. This is a stored format.
pub fn run_id(key: &ResourceKey, moment: Time) -> ExecutionId {
    mint(key, moment, |fields| fields.number(moment.as_ms()))
}

/// The id of the run that `request` asks for, of a schedule that was made at `created`.
pub(crate) fn asked_id(key: &ResourceKey, created: Time, request: RequestId) -> ExecutionId {
    mint(key, created, |fields| fields.bytes(request.as_bytes()))
}

fn mint(key: &ResourceKey, clock: Time, what: impl FnOnce(&mut Fields)) -> ExecutionId {
    let bits = Digest::of(|fields| {
        fields.text(key.namespace.as_str());
        fields.text(key.name.as_str());
        what(fields);
    });
    ExecutionId::mint(clock, key.partition, bits_of(&key.namespace, &key.name), bits.get())
}

/// The tags of a run.
pub(crate) fn tags(name: &ResourceName, moment: Time) -> Tags {
    let value = |text: &str| TagValue::new(text).ok();
    let pairs = [(SCHEDULE_TAG, value(name.as_str())), (MOMENT_TAG, value(&in_utc(moment)))];
    let known = |(key, value): (&str, Option<TagValue>)| Some((TagKey::new(key).ok()?, value?));
    pairs.into_iter().filter_map(known).collect()
}

/// The schedule of which an execution is a run, and for which moment: by its tags, if its id agrees.
pub fn run_of(record: &Description) -> Option<(ResourceName, Time)> {
    let name = ResourceName::new(record.tags.get(SCHEDULE_TAG)?.as_str()).ok()?;
    let moment = from_utc(record.tags.get(MOMENT_TAG)?.as_str())?;
    let is_run = record.id.has_number(bits_of(&record.spec.namespace, &name));
    is_run.then_some((name, moment))
}
