//! What happened to an execution, one value per transition.
//!
//! Folding the events of an execution gives its public state. Renewals, progress and tag or
//! priority changes are not events. A namespace logs its events while its [feed](crate::feed) is on.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::ExecutionId;
use crate::name::{Kind, Lane, Namespace, Source};
use crate::record::{Execution, Tags, Version};
use crate::refusal::Refusal;
use crate::suspension::SuspendReason;
use crate::time::Time;
use crate::view::PublicState;
use crate::words;

/// Something that happened. What a subscriber may select by is in every event, so that nothing else
/// must be read, and the event says all of it when the execution is long gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its name: the same however often it is read.
    pub id: EventId,
    /// The tenant.
    pub namespace: Namespace,
    /// When, by the store's clock.
    pub at: Time,
    /// What.
    pub what: EventKind,
    /// The run it happened in.
    pub run: u32,
    /// The newest attempt then, if there was one.
    pub attempt: Option<u32>,
    /// The queue of the execution.
    pub lane: Lane,
    /// The kind of its work.
    pub kind: Kind,
    /// Its labels then.
    pub tags: Tags,
    /// Who did it, where it is the act or the signal of somebody: who cancelled, replayed, resumed, revoked
    /// or deleted it, or sent the signal.
    #[serde(default)]
    pub by: Option<Source>,
}

/// The name of an event: the execution, and the version of its record that the event came with. No
/// two writes of one record have the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventId {
    /// To which execution it happened.
    pub execution: ExecutionId,
    /// The version that was written.
    pub version: Version,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:016x}", self.execution, self.version.get())
    }
}

impl FromStr for EventId {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<EventId, Refusal> {
        let wrong = || Refusal::invalid("event", "is no id of an event");
        let (execution, version) = text.rsplit_once('-').ok_or_else(wrong)?;
        let number = u64::from_str_radix(version, 16).map_err(|_| wrong())?;
        let id = EventId { execution: execution.parse()?, version: Version::from_stored(number) };
        // One text for each id.
        if id.to_string() == text { Ok(id) } else { Err(wrong()) }
    }
}

impl Event {
    /// What happened to `record`, as it is when it has happened.
    pub fn of(record: &Execution, version: Version, what: EventKind, at: Time) -> Event {
        Event {
            id: EventId { execution: record.id, version },
            namespace: record.spec.namespace.clone(),
            at,
            what,
            run: record.run.number,
            attempt: record.attempt.as_ref().map(|attempt| attempt.number),
            lane: record.spec.lane.clone(),
            kind: record.spec.kind.clone(),
            tags: record.tags.clone(),
            by: None,
        }
    }

    /// The same, done by somebody.
    pub(crate) fn done_by(self, by: Option<Source>) -> Event {
        Event { by, ..self }
    }

    /// To which execution it happened.
    pub fn execution(&self) -> ExecutionId {
        self.id.execution
    }
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "(u8, u64)", try_from = "(u8, u64)")]
pub enum EventKind {
    /// It was accepted, and may start then.
    Submitted {
        /// Not before.
        from: Option<Time>,
    },
    /// Its delay is over.
    Woken {
        /// It continues an attempt.
        resumes: bool,
    },
    /// It was reserved for a worker.
    Granted,
    /// A reservation was not used.
    GrantExpired,
    /// A worker holds it.
    Claimed {
        /// The attempt it runs.
        attempt: u32,
    },
    /// Its holder completed it.
    Completed,
    /// An attempt failed or timed out, and another follows.
    Retrying {
        /// Not before.
        from: Option<Time>,
    },
    /// It failed.
    Failed,
    /// Its holder put it off.
    Delayed {
        /// Not before.
        until: Option<Time>,
    },
    /// Its holder suspended it.
    Suspended {
        /// What kind of answer it waits for.
        reason: SuspendReason,
    },
    /// A signal came that did not end its suspension.
    Signalled,
    /// Its suspension has ended, and it continues.
    Resumed {
        /// Its time was over.
        timed_out: bool,
    },
    /// It waits until others have ended.
    Awaiting,
    /// What it waited for has come.
    Released {
        /// It may start then.
        from: Option<Time>,
        /// It continues an attempt.
        resumes: bool,
    },
    /// It never runs, because of how others have ended.
    Skipped,
    /// Its holder is asked to stop.
    Cancelling,
    /// It was cancelled.
    Cancelled,
    /// Its holder handed it back.
    HandedBack,
    /// An operator revoked its lease.
    Revoked,
    /// Its lease ran out, and another attempt follows.
    Reclaimed,
    /// A budget or a quota has no room for it.
    Blocked,
    /// It is back in its queue, or may be claimed under an admission.
    Unblocked {
        /// It continues an attempt.
        resumes: bool,
    },
    /// Its deadline passed.
    Expired,
    /// A new run started.
    Replayed,
    /// It was removed.
    Retired,
}

words!(
    /// The word for what happened.
    EventName {
        /// It was accepted.
        Submitted = "submitted",
        /// Its delay is over.
        Woken = "woken",
        /// It was reserved for a worker.
        Granted = "granted",
        /// A reservation was not used.
        GrantExpired = "grant_expired",
        /// A worker holds it.
        Claimed = "claimed",
        /// Its holder completed it.
        Completed = "completed",
        /// An attempt failed or timed out, and another follows.
        Retrying = "retrying",
        /// It failed.
        Failed = "failed",
        /// Its holder put it off.
        Delayed = "delayed",
        /// Its holder suspended it.
        Suspended = "suspended",
        /// A signal came that did not end its suspension.
        Signalled = "signalled",
        /// Its suspension has ended, and it continues.
        Resumed = "resumed",
        /// Its holder is asked to stop.
        Cancelling = "cancelling",
        /// It was cancelled.
        Cancelled = "cancelled",
        /// Its holder handed it back.
        HandedBack = "handed_back",
        /// An operator revoked its lease.
        Revoked = "revoked",
        /// Its lease ran out, and another attempt follows.
        Reclaimed = "reclaimed",
        /// A budget or a quota has no room for it.
        Blocked = "blocked",
        /// It is back in its queue, or may be claimed under an admission.
        Unblocked = "unblocked",
        /// Its deadline passed.
        Expired = "expired",
        /// A new run started.
        Replayed = "replayed",
        /// It was removed.
        Retired = "retired",
        /// It waits until others have ended.
        Awaiting = "awaiting",
        /// What it waited for has come.
        Released = "released",
        /// It never runs, because of how others have ended.
        Skipped = "skipped",
    }
);

impl EventName {
    /// Those that say that an execution has ended.
    pub const ENDS: [EventName; 5] = [
        EventName::Completed,
        EventName::Failed,
        EventName::Cancelled,
        EventName::Expired,
        EventName::Skipped,
    ];

    /// The number that stores keep. It never changes.
    pub const fn number(self) -> u8 {
        match self {
            EventName::Submitted => 0,
            EventName::Woken => 1,
            EventName::Granted => 2,
            EventName::GrantExpired => 3,
            EventName::Claimed => 4,
            EventName::Completed => 5,
            EventName::Retrying => 6,
            EventName::Failed => 7,
            EventName::Delayed => 8,
            EventName::Suspended => 9,
            EventName::Signalled => 10,
            EventName::Resumed => 11,
            EventName::Cancelling => 12,
            EventName::Cancelled => 13,
            EventName::HandedBack => 14,
            EventName::Revoked => 15,
            EventName::Reclaimed => 16,
            EventName::Blocked => 17,
            EventName::Unblocked => 18,
            EventName::Expired => 19,
            EventName::Replayed => 20,
            EventName::Retired => 21,
            EventName::Awaiting => 22,
            EventName::Released => 23,
            EventName::Skipped => 24,
        }
    }
}

impl EventKind {
    /// Its word.
    pub const fn name(self) -> EventName {
        match self {
            EventKind::Submitted { .. } => EventName::Submitted,
            EventKind::Woken { .. } => EventName::Woken,
            EventKind::Granted => EventName::Granted,
            EventKind::GrantExpired => EventName::GrantExpired,
            EventKind::Claimed { .. } => EventName::Claimed,
            EventKind::Completed => EventName::Completed,
            EventKind::Retrying { .. } => EventName::Retrying,
            EventKind::Failed => EventName::Failed,
            EventKind::Delayed { .. } => EventName::Delayed,
            EventKind::Suspended { .. } => EventName::Suspended,
            EventKind::Signalled => EventName::Signalled,
            EventKind::Resumed { .. } => EventName::Resumed,
            EventKind::Cancelling => EventName::Cancelling,
            EventKind::Cancelled => EventName::Cancelled,
            EventKind::HandedBack => EventName::HandedBack,
            EventKind::Revoked => EventName::Revoked,
            EventKind::Reclaimed => EventName::Reclaimed,
            EventKind::Blocked => EventName::Blocked,
            EventKind::Unblocked { .. } => EventName::Unblocked,
            EventKind::Expired => EventName::Expired,
            EventKind::Replayed => EventName::Replayed,
            EventKind::Retired => EventName::Retired,
            EventKind::Awaiting => EventName::Awaiting,
            EventKind::Released { .. } => EventName::Released,
            EventKind::Skipped => EventName::Skipped,
        }
    }

    /// What it says besides its word, as stores keep it: a moment, 0 for none; a number; 1 for yes.
    pub fn value(self) -> u64 {
        match self {
            EventKind::Submitted { from: at }
            | EventKind::Retrying { from: at }
            | EventKind::Delayed { until: at } => at.map_or(0, Time::as_ms),
            EventKind::Woken { resumes } | EventKind::Unblocked { resumes } => resumes.into(),
            EventKind::Resumed { timed_out } => timed_out.into(),
            // What starts later continues nothing.
            EventKind::Released { from, resumes } => from.map_or(resumes.into(), Time::as_ms),
            EventKind::Claimed { attempt } => attempt.into(),
            EventKind::Suspended { reason } => match reason {
                SuspendReason::Signal => 0,
                SuspendReason::Approval => 1,
                SuspendReason::Callback => 2,
                SuspendReason::ToolResult => 3,
            },
            _ => 0,
        }
    }

    /// What was stored as this number and value; `None` is of another release.
    pub fn from_stored(number: u8, value: u64) -> Option<EventKind> {
        let name = EventName::ALL.iter().find(|name| name.number() == number)?;
        let (at, is_so) = ((value != 0).then(|| Time::from_ms(value)), value == 1);
        let what = match name {
            EventName::Submitted => EventKind::Submitted { from: at },
            EventName::Woken => EventKind::Woken { resumes: is_so },
            EventName::Granted => EventKind::Granted,
            EventName::GrantExpired => EventKind::GrantExpired,
            EventName::Claimed => EventKind::Claimed { attempt: u32::try_from(value).ok()? },
            EventName::Completed => EventKind::Completed,
            EventName::Retrying => EventKind::Retrying { from: at },
            EventName::Failed => EventKind::Failed,
            EventName::Delayed => EventKind::Delayed { until: at },
            EventName::Suspended => EventKind::Suspended {
                reason: match value {
                    0 => SuspendReason::Signal,
                    1 => SuspendReason::Approval,
                    2 => SuspendReason::Callback,
                    3 => SuspendReason::ToolResult,
                    _ => return None,
                },
            },
            EventName::Signalled => EventKind::Signalled,
            EventName::Resumed => EventKind::Resumed { timed_out: is_so },
            EventName::Cancelling => EventKind::Cancelling,
            EventName::Cancelled => EventKind::Cancelled,
            EventName::HandedBack => EventKind::HandedBack,
            EventName::Revoked => EventKind::Revoked,
            EventName::Reclaimed => EventKind::Reclaimed,
            EventName::Blocked => EventKind::Blocked,
            EventName::Unblocked => EventKind::Unblocked { resumes: is_so },
            EventName::Expired => EventKind::Expired,
            EventName::Replayed => EventKind::Replayed,
            EventName::Retired => EventKind::Retired,
            EventName::Awaiting => EventKind::Awaiting,
            EventName::Released => {
                EventKind::Released { from: at.filter(|_| !is_so), resumes: is_so }
            }
            EventName::Skipped => EventKind::Skipped,
        };
        (what.value() == value).then_some(what)
    }
}

impl From<EventKind> for (u8, u64) {
    fn from(what: EventKind) -> (u8, u64) {
        (what.name().number(), what.value())
    }
}

impl TryFrom<(u8, u64)> for EventKind {
    type Error = Refusal;

    fn try_from((number, value): (u8, u64)) -> Result<EventKind, Refusal> {
        let unknown = || Refusal::invalid("event", format!("{number} with {value} is unknown"));
        EventKind::from_stored(number, value).ok_or_else(unknown)
    }
}

/// The public state after `what`, seen from the state before it; `None` means it is gone.
pub fn fold(before: Option<PublicState>, what: EventKind) -> Option<PublicState> {
    use PublicState as P;
    match what {
        EventKind::Submitted { from: Some(_) }
        | EventKind::Retrying { from: Some(_) }
        | EventKind::Delayed { until: Some(_) } => Some(P::Delayed),
        EventKind::Blocked => Some(P::RateLimited),
        EventKind::Unblocked { resumes: false }
        | EventKind::Submitted { from: None }
        | EventKind::Retrying { from: None }
        | EventKind::Woken { resumes: false }
        | EventKind::Reclaimed
        | EventKind::Replayed => Some(P::Waiting),
        EventKind::Released { from: Some(_), .. } => Some(P::Delayed),
        EventKind::Released { from: None, resumes: false } => Some(P::Waiting),
        EventKind::Released { from: None, resumes: true } => Some(P::Resumable),
        EventKind::Awaiting => Some(P::WaitingChildren),
        EventKind::Skipped => Some(P::Skipped),
        EventKind::Suspended { .. } => Some(P::Suspended),
        EventKind::Delayed { until: None }
        | EventKind::Resumed { .. }
        | EventKind::Unblocked { resumes: true }
        | EventKind::Woken { resumes: true }
        | EventKind::HandedBack
        | EventKind::Revoked => Some(P::Resumable),
        EventKind::Claimed { .. } | EventKind::Cancelling => Some(P::Active),
        EventKind::Completed => Some(P::Completed),
        EventKind::Failed => Some(P::Failed),
        EventKind::Cancelled => Some(P::Cancelled),
        EventKind::Expired => Some(P::Expired),
        EventKind::Granted | EventKind::GrantExpired | EventKind::Signalled => before,
        EventKind::Retired => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn every_word_has_a_number_of_its_own_that_reads_back() {
        for (place, name) in EventName::ALL.iter().enumerate() {
            assert_eq!(usize::from(name.number()), place, "numbers are a stored format");
            let what = EventKind::from_stored(name.number(), 0).unwrap();
            assert_eq!((what.name(), what.value()), (*name, 0));
        }
    }

    #[test]
    fn values_that_no_release_wrote_are_unknown() {
        assert_eq!(EventKind::from_stored(EventName::Completed.number(), 1), None);
        assert_eq!(EventKind::from_stored(EventName::Woken.number(), 2), None);
        assert_eq!(EventKind::from_stored(EventName::Suspended.number(), 4), None);
        assert_eq!(EventKind::from_stored(EventName::ALL.len() as u8, 0), None);
    }

    #[test]
    fn an_id_reads_back_and_has_one_text() {
        let text = "01890a5d-ac96-7000-8000-000000000001-0000000200000007";
        let id: EventId = text.parse().unwrap();
        assert_eq!((id.version.counter(), id.to_string().as_str()), (2, text));
        for wrong in [
            "",
            "x",
            "01890a5d-ac96-7000-8000-000000000001",
            "01890a5d-ac96-7000-8000-000000000001-",
            "01890a5d-ac96-7000-8000-000000000001-200000007",
            "01890A5D-AC96-7000-8000-000000000001-0000000200000007",
        ] {
            wrong.parse::<EventId>().unwrap_err();
        }
    }
}
