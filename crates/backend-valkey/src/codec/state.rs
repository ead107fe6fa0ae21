//! The state of a record, as its fields express it.

use ff_core::limits::Blocker;
use ff_core::payload::PayloadShape;
use ff_core::record::{Attempt, Execution};
use ff_core::state::{CancelRequest, DelayReason, Grant, Intent, Lease, Outcome, State, Worker};
use ff_core::{LeaseId, Time};

use super::bytes::Short;
use super::format::{Record, outcome, state};
use super::{Unreadable, maybe_time, number_of, pack_value, text, time, value, variant, word};

const WHYS: [Intent; 7] = [
    Intent::Fresh,
    Intent::Retry,
    Intent::Reclaim,
    Intent::Replay,
    Intent::Resume,
    Intent::HandBack,
    Intent::Revoke,
];

const PAUSES: [DelayReason; 3] = [DelayReason::Start, DelayReason::Backoff, DelayReason::Hold];

/// What a queued execution waits to do, in the order of the stored numbers.
pub(crate) fn whys() -> &'static [Intent] {
    &WHYS
}

/// The state of a record, field by field.
#[derive(Default)]
pub(super) struct StateFields {
    pub(super) state: u64,
    pub(super) why: u64,
    pub(super) until: Option<Time>,
    pub(super) timeout_at: Option<Time>,
    pub(super) cancel_by: Option<Time>,
    /// The lease, or the request of a grant.
    pub(super) holder: Option<LeaseId>,
    pub(super) detail: Vec<u8>,
}

impl StateFields {
    pub(super) fn of(record: &Execution) -> Result<StateFields, Unreadable> {
        Ok(match &record.state {
            State::Queued { why } => StateFields {
                state: state::QUEUED,
                why: number_of(&WHYS, why)?,
                ..StateFields::default()
            },
            State::Delayed { until, why, step } => StateFields {
                state: state::DELAYED,
                why: number_of(&PAUSES, why)?,
                until: Some(*until),
                detail: step.as_ref().map_or_else(Vec::new, |step| step.as_str().into()),
                ..StateFields::default()
            },
            State::Blocked { why, detail, .. } => StateFields {
                state: state::BLOCKED,
                why: number_of(&WHYS, why)?,
                detail: detail.as_bytes().to_vec(),
                ..StateFields::default()
            },
            State::Suspended { suspension } => StateFields {
                state: state::SUSPENDED,
                until: suspension.until,
                detail: pack_value(Some(suspension))?,
                ..StateFields::default()
            },
            State::Awaiting { why } => StateFields {
                state: state::AWAITING,
                why: number_of(&WHYS, why)?,
                ..StateFields::default()
            },
            State::Granted { grant, why } => StateFields {
                state: state::GRANTED,
                why: number_of(&WHYS, why)?,
                until: Some(grant.until),
                holder: Some(LeaseId { request: grant.request, index: 0 }),
                detail: pack_value(Some(&grant.to))?,
                ..StateFields::default()
            },
            State::Active { lease, cancel } => {
                let attempt = record.attempt.as_ref();
                let same = attempt.is_some_and(|a| a.lease == lease.id && a.worker == lease.worker);
                if !same || lease.epoch != record.epoch {
                    return Err(Unreadable::new("its lease is not that of its newest attempt"));
                }
                StateFields {
                    state: state::ACTIVE,
                    until: Some(lease.until),
                    timeout_at: lease.timeout_at,
                    cancel_by: cancel.as_ref().map(|request| request.by),
                    holder: Some(lease.id),
                    detail: pack_value(cancel.as_ref().and_then(|c| c.reason.as_ref()))?,
                    ..StateFields::default()
                }
            }
            State::Finished { outcome: ended, at } => {
                let (why, detail) = match ended {
                    Outcome::Success { result } => (outcome::SUCCESS, outcome_detail(result)?),
                    Outcome::Failed { failure } => (outcome::FAILED, pack_value(Some(failure))?),
                    Outcome::Cancelled { reason } => {
                        (outcome::CANCELLED, pack_value(reason.as_ref())?)
                    }
                    Outcome::Expired => (outcome::EXPIRED, Vec::new()),
                    Outcome::Skipped { because } => {
                        (outcome::SKIPPED, because.as_str().as_bytes().to_vec())
                    }
                };
                StateFields {
                    state: state::FINISHED,
                    why,
                    until: Some(*at),
                    detail,
                    ..StateFields::default()
                }
            }
        })
    }
}

/// The detail of a completed record: its result.
pub(crate) fn outcome_detail(result: &PayloadShape) -> Result<Vec<u8>, Unreadable> {
    pack_value(Some(result))
}

/// The state that the fields of a record express, with values from other fields.
pub(super) fn decode(
    fields: &Record<'_>,
    held: Option<LeaseId>,
    blocked_on: Option<&Blocker>,
    newest: Option<&Attempt>,
) -> Result<State, Unreadable> {
    let why = || variant(&WHYS, fields.why);
    let until = time(fields.until_at);
    Ok(match (fields.state, held) {
        (state::QUEUED, None) => State::Queued { why: why()? },
        (state::DELAYED, None) => {
            let step = (!fields.detail.is_empty()).then(|| word(fields.detail)).transpose()?;
            State::Delayed { until, why: variant(&PAUSES, fields.why)?, step }
        }
        (state::BLOCKED, None) => State::Blocked {
            on: blocked_on.cloned().ok_or(Short)?,
            why: why()?,
            detail: text(fields.detail)?.into(),
        },
        (state::SUSPENDED, None) => State::Suspended { suspension: needed(fields.detail)? },
        (state::AWAITING, None) => State::Awaiting { why: why()? },
        (state::GRANTED, Some(held)) => State::Granted {
            grant: Grant { request: held.request, to: needed::<Worker>(fields.detail)?, until },
            why: why()?,
        },
        (state::ACTIVE, Some(id)) => {
            let worker = newest.map(|attempt| attempt.worker.clone()).ok_or(Short)?;
            let cancel = match maybe_time(fields.cancel_by) {
                Some(by) => Some(CancelRequest { by, reason: value(fields.detail)? }),
                None => None,
            };
            let timeout_at = maybe_time(fields.timeout_at);
            let lease = Lease { id, epoch: fields.epoch, worker, until, timeout_at };
            State::Active { lease, cancel }
        }
        (state::FINISHED, None) => {
            State::Finished { outcome: ended(fields.why, fields.detail)?, at: until }
        }
        (other, _) => return Err(Unreadable::new(format!("a state has the number {other}"))),
    })
}

fn ended(why: u64, detail: &[u8]) -> Result<Outcome, Unreadable> {
    Ok(match why {
        outcome::SUCCESS => Outcome::Success { result: needed(detail)? },
        outcome::FAILED => Outcome::Failed { failure: needed(detail)? },
        outcome::CANCELLED => Outcome::Cancelled { reason: value(detail)? },
        outcome::EXPIRED => Outcome::Expired,
        outcome::SKIPPED => Outcome::Skipped { because: word(detail)? },
        other => return Err(Unreadable::new(format!("an outcome has the number {other}"))),
    })
}

fn needed<T: serde::de::DeserializeOwned>(detail: &[u8]) -> Result<T, Unreadable> {
    value(detail)?.ok_or_else(|| Unreadable::new("a detail is missing"))
}
