//! How a record is written, with the payloads that are short enough to live in it.
//!
//! Times are milliseconds in six bytes, 0 where there is none. `lua/lib/record.lua` lists the same
//! fields in the same order.

use ff_core::digest::Digest;
use ff_core::limits::{Amounts, ExecutionLimits};
use ff_core::payload::PayloadShape;
use ff_core::placement::{Attention, Placement, Score};
use ff_core::policy::Policy;
use ff_core::record::{Description, Execution, Exit, Exited, PastRun, Run, Spec, Tags, Version};
use ff_core::state::{CancelRequest, DelayReason, Grant, Intent, Lease, Outcome, State, Worker};
use ff_core::{AdmissionId, Capabilities, ExecutionId, Kind, Millis};
use serde::{Deserialize, Serialize};

use super::bytes::{Packer, Short, Unpacker};
use super::inline::Inline;
use super::{
    Unreadable, attempt, lease, maybe_time, ms, number_of, pack_lease, pack_value, time, value,
    variant, word,
};
use crate::keys;

/// The format that is written.
pub(crate) const FORMAT: u64 = 1;

/// What stands for no place in a queue: no score is so low.
pub(crate) const NO_SCORE: i64 = -(1 << 53);

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

/// The stored numbers of what a queued execution waits to do.
pub(crate) fn whys() -> &'static [Intent] {
    &WHYS
}

/// The stored numbers of states.
pub(crate) struct StateCode;

impl StateCode {
    pub(crate) const QUEUED: u64 = 0;
    pub(crate) const DELAYED: u64 = 1;
    pub(crate) const GRANTED: u64 = 2;
    pub(crate) const ACTIVE: u64 = 3;
    pub(crate) const FINISHED: u64 = 4;
    pub(crate) const BLOCKED: u64 = 5;
    /// How a finished execution ended.
    pub(crate) const SUCCESS: u64 = 0;
    const FAILED: u64 = 1;
    const CANCELLED: u64 = 2;
    const EXPIRED: u64 = 3;
    /// The stored number of the answer to a completion.
    pub(crate) const COMPLETED: u64 = 0;
}

/// A record as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) record: Execution,
    pub(crate) input: Inline,
    /// The result of the current run.
    pub(crate) result: Inline,
}

/// What no function on the server looks at.
#[derive(Serialize, Deserialize)]
struct ColdFields {
    kind: Kind,
    input: PayloadShape,
    policy: Option<Policy>,
    tags: Tags,
    past_runs: Vec<PastRun>,
    limits: Option<ExecutionLimits>,
    used: Amounts,
    reports: Vec<(u64, u64)>,
}

/// Whether budgets and quotas have a say: 1 if it names some, which must admit it, and 2 more if it
/// is admitted.
fn limits(record: &Execution) -> u64 {
    u64::from(!record.spec.limits.is_empty()) + 2 * u64::from(record.admitted_under().is_some())
}

/// A record as bytes, with its short payloads.
pub(crate) fn encode(
    record: &Execution,
    input: &Inline,
    result: &Inline,
) -> Result<Vec<u8>, Unreadable> {
    let stand = StateFields::of(record)?;
    let policy = &record.spec.policy;
    let placed = &record.placed;
    let newest = record.attempt.as_ref();
    let mut packer = Packer(Vec::with_capacity(384));
    packer.number::<1>(FORMAT);
    packer.number::<1>(stand.state);
    packer.number::<1>(stand.why);
    packer.number::<1>(placed.attention.map_or(0, |Attention::Failed| 1));
    packer.number::<8>(record.version.get());
    packer.number::<6>(ms(placed.timer));
    packer.number::<8>(placed.score.map_or(NO_SCORE, Score::get) as u64);
    let times = [stand.until, stand.timeout_at, stand.cancel_by, record.run.deadline];
    times.iter().for_each(|time| packer.number::<6>(ms(*time)));
    packer.number::<6>(record.queued_at.as_ms());
    packer.number::<4>(record.run.number.into());
    let spans = [Some(policy.lease_ttl), policy.attempt_timeout, Some(policy.retention)];
    spans.iter().for_each(|span| packer.number::<6>(span.map_or(0, Millis::get)));
    packer.number::<1>(limits(record));
    packer.number::<1>(result.place());
    packer.number::<1>(input.place());
    packer.number::<4>(record.spec.input.len.into());
    packer.raw(&fence(record.epoch, newest.map_or(0, |attempt| attempt.number + 1), &stand.holder));
    packer.bytes::<1>(&exit(record.last_exit.as_ref()));
    packer.bytes::<2>(&newest.map(attempt::encode).transpose()?.unwrap_or_default());
    packer.bytes::<2>(&stand.detail);
    packer.bytes::<2>(result.bytes());
    packer.bytes::<1>(record.spec.namespace.as_str().as_bytes());
    let blocked = placed.blocked.as_ref();
    let blocked = blocked.map_or_else(String::new, |(on, class, _)| keys::blocked(on, *class));
    packer.bytes::<1>(blocked.as_bytes());
    packer.bytes::<1>(&record.admission.map(admission_name).unwrap_or_default());
    packer.number::<2>(u64::from(record.priority as u16));
    packer.number::<6>(record.created.as_ms());
    packer.number::<6>(record.run.started.as_ms());
    packer.number::<4>(record.run.failures.into());
    packer.number::<4>(record.run.reclaims.into());
    packer.number::<8>(record.digest.get());
    packer.bytes::<1>(record.spec.lane.as_str().as_bytes());
    packer.bytes::<1>(keys::class(&record.spec.requires).as_bytes());
    packer.bytes::<2>(record.spec.requires.as_str().as_bytes());
    packer.bytes::<2>(record.spec.key.as_ref().map_or(&[][..], |key| key.as_str().as_bytes()));
    packer.bytes::<2>(input.bytes());
    let rest = ColdFields {
        kind: record.spec.kind.clone(),
        input: record.spec.input.clone(),
        policy: (*policy != Policy::default()).then(|| policy.clone()),
        tags: record.tags.clone(),
        past_runs: record.past_runs.clone(),
        limits: (!record.spec.limits.is_empty()).then(|| record.spec.limits.clone()),
        used: record.used.clone(),
        reports: record.reports.clone(),
    };
    packer.raw(&pack_value(Some(&rest))?);
    Ok(packer.0)
}

/// Where a record stands, field by field.
#[derive(Default)]
struct StateFields {
    state: u64,
    why: u64,
    until: Option<ff_core::Time>,
    timeout_at: Option<ff_core::Time>,
    cancel_by: Option<ff_core::Time>,
    holder: Vec<u8>,
    detail: Vec<u8>,
}

impl StateFields {
    fn of(record: &Execution) -> Result<StateFields, Unreadable> {
        Ok(match &record.state {
            State::Queued { why } => StateFields {
                state: StateCode::QUEUED,
                why: number_of(&WHYS, why)?,
                ..StateFields::default()
            },
            State::Delayed { until, why } => StateFields {
                state: StateCode::DELAYED,
                why: number_of(&PAUSES, why)?,
                until: Some(*until),
                ..StateFields::default()
            },
            State::Blocked { why, detail, .. } => StateFields {
                state: StateCode::BLOCKED,
                why: number_of(&WHYS, why)?,
                detail: detail.as_bytes().to_vec(),
                ..StateFields::default()
            },
            State::Granted { grant, why } => StateFields {
                state: StateCode::GRANTED,
                why: number_of(&WHYS, why)?,
                until: Some(grant.until),
                holder: holder(ff_core::LeaseId { request: grant.request, index: 0 }),
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
                    state: StateCode::ACTIVE,
                    until: Some(lease.until),
                    timeout_at: lease.timeout_at,
                    cancel_by: cancel.as_ref().map(|request| request.by),
                    holder: holder(lease.id),
                    detail: pack_value(cancel.as_ref().and_then(|c| c.reason.as_ref()))?,
                    ..StateFields::default()
                }
            }
            State::Finished { outcome, at } => {
                let (why, detail) = match outcome {
                    Outcome::Success { result } => (StateCode::SUCCESS, outcome_detail(result)?),
                    Outcome::Failed { failure } => (StateCode::FAILED, pack_value(Some(failure))?),
                    Outcome::Cancelled { reason } => {
                        (StateCode::CANCELLED, pack_value(reason.as_ref())?)
                    }
                    Outcome::Expired => (StateCode::EXPIRED, Vec::new()),
                };
                StateFields {
                    state: StateCode::FINISHED,
                    why,
                    until: Some(*at),
                    detail,
                    ..StateFields::default()
                }
            }
        })
    }
}

/// What a completed record says of its result.
pub(crate) fn outcome_detail(result: &PayloadShape) -> Result<Vec<u8>, Unreadable> {
    pack_value(Some(result))
}

/// Where the fence of a record begins, after its format and its numbers.
pub(crate) const FENCE_AT: usize = 85;

/// Where its score lies.
pub(crate) const SCORE_AT: usize = 18;

/// Where it says where its input is, and how long that is.
pub(crate) const INPUT_AT: usize = 80;

/// Where it says whether budgets and quotas have a say.
pub(crate) const LIMITS_AT: usize = 78;

/// How long the fence of a held record is.
pub(crate) const FENCE: usize = 6 + 4 + 1 + 18;

/// What a holder must show, as it lies in the record: epoch, number of attempts, lease.
fn fence(epoch: u64, attempts: u32, holder: &[u8]) -> Vec<u8> {
    let mut packer = Packer::default();
    packer.number::<6>(epoch);
    packer.number::<4>(attempts.into());
    packer.bytes::<1>(holder);
    packer.0
}

/// The fence of a caller's, as it must lie in the record.
pub(crate) fn held_by(caller: &ff_core::Fence) -> Vec<u8> {
    fence(caller.epoch, caller.attempt.saturating_add(1), &holder(caller.lease))
}

/// What a record remembers of a completion.
pub(crate) fn completed(lease: ff_core::LeaseId, digest: Digest) -> Vec<u8> {
    exit(Some(&Exit { lease, digest, answer: Exited::Completed }))
}

/// The name of an admission, as it lies in the record.
pub(crate) fn admission_name(admission: AdmissionId) -> Vec<u8> {
    holder(ff_core::LeaseId { request: admission.batch, index: admission.index })
}

/// The name of a lease, as it lies in the record.
fn holder(lease: ff_core::LeaseId) -> Vec<u8> {
    let mut packer = Packer::default();
    pack_lease(&mut packer, lease);
    packer.0
}

/// How the last lease was ended: lease, fingerprint, answer, time.
fn exit(exit: Option<&Exit>) -> Vec<u8> {
    let Some(exit) = exit else { return Vec::new() };
    let (answer, at) = match exit.answer {
        Exited::Completed => (StateCode::COMPLETED, None),
        Exited::Retrying { from } => (1, Some(from)),
        Exited::Failed => (2, None),
        Exited::Delayed { until } => (3, Some(until)),
        Exited::Cancelled => (4, None),
        Exited::HandedBack => (5, None),
        Exited::Revoked => (6, None),
    };
    let mut packer = Packer::default();
    pack_lease(&mut packer, exit.lease);
    packer.number::<8>(exit.digest.get());
    packer.number::<1>(answer);
    packer.number::<6>(ms(at));
    packer.0
}

fn read_exit(bytes: &[u8]) -> Result<Option<Exit>, Unreadable> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut from = Unpacker(bytes);
    let lease = lease(from.raw(18)?)?;
    let digest = Digest::from_stored(from.number::<8>()?);
    let answer = from.number::<1>()?;
    let at = time(from.number::<6>()?);
    let answer = match answer {
        StateCode::COMPLETED => Exited::Completed,
        1 => Exited::Retrying { from: at },
        2 => Exited::Failed,
        3 => Exited::Delayed { until: at },
        4 => Exited::Cancelled,
        5 => Exited::HandedBack,
        6 => Exited::Revoked,
        other => return Err(Unreadable::new(format!("an exit has the number {other}"))),
    };
    Ok(Some(Exit { lease, digest, answer }))
}

impl Stored {
    /// The record of `id` in `bytes`.
    pub(crate) fn decode(id: ExecutionId, bytes: &[u8]) -> Result<Stored, Unreadable> {
        let mut from = Unpacker(bytes);
        let format = from.number::<1>()?;
        if format != FORMAT {
            let why = format!("format {format} is unknown to this release");
            return Err(Unreadable::new(why));
        }
        let state = from.number::<1>()?;
        let why = from.number::<1>()?;
        let attention = match from.number::<1>()? {
            0 => None,
            _ => Some(Attention::Failed),
        };
        let version = Version::from_stored(from.number::<8>()?);
        let timer = maybe_time(from.number::<6>()?);
        let score = from.number::<8>()? as i64;
        let score = (score != NO_SCORE).then(|| Score::from_stored(score));
        let until = time(from.number::<6>()?);
        let timeout_at = maybe_time(from.number::<6>()?);
        let cancel_by = maybe_time(from.number::<6>()?);
        let deadline = maybe_time(from.number::<6>()?);
        let queued_at = time(from.number::<6>()?);
        let number = from.number::<4>()? as u32;
        // What follows repeats the policy, which is at the end.
        from.raw(3 * 6)?;
        from.raw(1)?;
        let result_at = from.number::<1>()?;
        let input_at = from.number::<1>()?;
        from.raw(4)?;
        let epoch = from.number::<6>()?;
        from.raw(4)?;
        let holder = from.bytes::<1>()?;
        let last_exit = read_exit(from.bytes::<1>()?)?;
        let newest = match from.bytes::<2>()? {
            [] => None,
            bytes => Some(attempt::decode(bytes)?),
        };
        let detail = from.bytes::<2>()?;
        let result = Inline::at(result_at, from.bytes::<2>()?)?;
        let namespace = word(from.bytes::<1>()?)?;
        let blocked = match from.bytes::<1>()? {
            [] => None,
            blocked => Some(keys::parse_blocked(blocked).ok_or(Short)?),
        };
        let admission = match from.bytes::<1>()? {
            [] => None,
            name => {
                let ff_core::LeaseId { request: batch, index } = lease(name)?;
                Some(AdmissionId { batch, index })
            }
        };
        let priority = from.number::<2>()? as u16 as i16;
        let created = time(from.number::<6>()?);
        let started = time(from.number::<6>()?);
        let failures = from.number::<4>()? as u32;
        let reclaims = from.number::<4>()? as u32;
        let digest = Digest::from_stored(from.number::<8>()?);
        let lane = word(from.bytes::<1>()?)?;
        from.bytes::<1>()?;
        let requires = Capabilities::parse(super::text(from.bytes::<2>()?)?)?;
        let key = match from.bytes::<2>()? {
            [] => None,
            key => Some(word(key)?),
        };
        let input = Inline::at(input_at, from.bytes::<2>()?)?;
        let rest: ColdFields = value(from.0)?.ok_or(Short)?;
        let held = match holder {
            [] => None,
            holder => Some(lease(holder)?),
        };
        let state = match (state, held) {
            (StateCode::QUEUED, None) => State::Queued { why: variant(&WHYS, why)? },
            (StateCode::DELAYED, None) => State::Delayed { until, why: variant(&PAUSES, why)? },
            (StateCode::BLOCKED, None) => State::Blocked {
                on: blocked.as_ref().map(|(on, _)| on.clone()).ok_or(Short)?,
                why: variant(&WHYS, why)?,
                detail: super::text(detail)?.into(),
            },
            (StateCode::GRANTED, Some(held)) => State::Granted {
                grant: Grant { request: held.request, to: needed::<Worker>(detail)?, until },
                why: variant(&WHYS, why)?,
            },
            (StateCode::ACTIVE, Some(id)) => {
                let worker = newest.as_ref().map(|attempt| attempt.worker.clone()).ok_or(Short)?;
                let cancel = match cancel_by {
                    Some(by) => Some(CancelRequest { by, reason: value(detail)? }),
                    None => None,
                };
                State::Active { lease: Lease { id, epoch, worker, until, timeout_at }, cancel }
            }
            (StateCode::FINISHED, None) => {
                State::Finished { outcome: outcome(why, detail)?, at: until }
            }
            _ => return Err(Unreadable::new(format!("a state has the number {state}"))),
        };
        let spec = Spec {
            namespace,
            lane,
            kind: rest.kind,
            requires,
            input: rest.input,
            policy: rest.policy.unwrap_or_default(),
            key,
            limits: rest.limits.unwrap_or_default(),
        };
        let run = Run { number, started, deadline, failures, reclaims };
        let blocked = blocked.map(|(on, class)| (on, class, Score::of(priority, queued_at)));
        let request = held.map(|held| held.request);
        let placed = Placement { score, timer, request, attention, blocked };
        let description = Description {
            id,
            spec,
            created,
            priority,
            tags: rest.tags,
            queued_at,
            state,
            epoch,
            run,
            past_runs: rest.past_runs,
            attempt: newest,
            used: rest.used,
        };
        let reports = rest.reports;
        let record =
            Execution { version, digest, last_exit, placed, admission, reports, description };
        Ok(Stored { record, input, result })
    }
}

fn outcome(why: u64, detail: &[u8]) -> Result<Outcome, Unreadable> {
    Ok(match why {
        StateCode::SUCCESS => Outcome::Success { result: needed(detail)? },
        StateCode::FAILED => Outcome::Failed { failure: needed(detail)? },
        StateCode::CANCELLED => Outcome::Cancelled { reason: value(detail)? },
        StateCode::EXPIRED => Outcome::Expired,
        other => return Err(Unreadable::new(format!("an outcome has the number {other}"))),
    })
}

fn needed<T: serde::de::DeserializeOwned>(detail: &[u8]) -> Result<T, Unreadable> {
    value(detail)?.ok_or_else(|| Unreadable::new("a detail is missing"))
}
