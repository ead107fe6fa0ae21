//! How a record is written, with the payloads that are short enough to be inlined.
//!
//! Its fields, their order and their width are those of `build/format.rs`; here each gets its value.
//! Times are milliseconds, 0 where there is none. Fields that no function on the server reads follow
//! as MessagePack.

use ff_core::act::Act;
use ff_core::digest::Digest;
use ff_core::flow::Flow;
use ff_core::journal::Journal;
use ff_core::limits::{Amounts, ExecutionLimits};
use ff_core::payload::PayloadShape;
use ff_core::placement::{Attention, Placement, Score};
use ff_core::policy::Policy;
use ff_core::record::{Description, Execution, PastRun, Run, Spec, Tags, Version};
use ff_core::suspension::Waits;
use ff_core::{Capabilities, ExecutionId, Kind, Millis, State};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::bytes::{Packer, Short, Unpacker};
use super::format::{self, attention, limits};
use super::inline::Inline;
use super::member::{self, Place};
use super::state::StateFields;
use super::{
    Unreadable, attempt, element, held, lease, lease_bytes, maybe_time, ms, pack_value, state,
    text, time, word,
};
use crate::keys;

/// The format that is written.
pub(crate) const FORMAT: u64 = 2;

/// The value for no place in a queue: no score is this low.
pub(crate) const NO_SCORE: i64 = -(1 << 53);

/// A record as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) record: Execution,
    pub(crate) input: Inline,
    /// The result of the current run.
    pub(crate) result: Inline,
}

/// The fields that no function on the server reads. Those that are added at the end have a default, so
/// that what was stored without them is read too.
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
    #[serde(default)]
    journal: Option<Journal>,
    #[serde(default)]
    waits: Option<Waits>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    acts: Vec<Act>,
}

/// What follows those fields of an execution that is in a flow or has members.
#[derive(Default, Serialize, Deserialize)]
struct FlowFields {
    flow: Option<Box<Flow>>,
    place: Option<Place>,
}

/// Whether the execution names budgets or quotas, whether they have admitted it, and whether it is a
/// member of a flow.
fn limit_flags(record: &Execution) -> u64 {
    let named = if record.spec.limits.is_empty() { 0 } else { limits::NAMED };
    let admitted = if record.admitted_under().is_some() { limits::ADMITTED } else { 0 };
    let member = if record.member.is_some() { limits::MEMBER } else { 0 };
    named | admitted | member
}

/// A record as bytes, with its short payloads.
pub(crate) fn encode(
    record: &Execution,
    input: &Inline,
    result: &Inline,
) -> Result<Vec<u8>, Unreadable> {
    let StateFields { state, why, until, timeout_at, cancel_by, holder, detail } =
        StateFields::of(record)?;
    let (policy, placed, newest) = (&record.spec.policy, &record.placed, record.attempt.as_ref());
    let span = |span: Option<Millis>| span.map_or(0, Millis::get);
    let class = keys::class(&record.spec.requires);
    let holder = holder.map(lease_bytes);
    let admission = record.admission.map(held::admission_name);
    let blocked = placed.blocked.as_ref();
    let blocked = blocked.map_or_else(String::new, |(on, class, _)| keys::blocked(on, *class));
    let (counter, salt) = (record.version.counter(), (record.version.get() as u32).to_be_bytes());
    let fields = format::Record {
        format: FORMAT,
        state,
        why,
        attention: placed.attention.map_or(attention::NONE, |reason| reason.number().into()),
        counter,
        salt,
        timer: ms(placed.timer),
        score: placed.score.map_or(NO_SCORE, Score::get),
        until_at: ms(until),
        timeout_at: ms(timeout_at),
        cancel_by: ms(cancel_by),
        deadline: ms(record.run.deadline),
        queued_at: record.queued_at.as_ms(),
        run: record.run.number.into(),
        lease_ttl: policy.lease_ttl.get(),
        attempt_timeout: span(policy.attempt_timeout),
        retention: policy.retention.get(),
        limits: limit_flags(record),
        result_place: result.place(),
        input_place: input.place(),
        input_len: record.spec.input.len.into(),
        epoch: record.epoch,
        attempts: newest.map_or(0, |attempt| attempt.number + 1).into(),
        holder: holder.as_ref().map_or(&[][..], |holder| &holder[..]),
        exit: &held::encode_exit(record.last_exit.as_ref()),
        attempt: &newest.map(attempt::encode).transpose()?.unwrap_or_default(),
        detail: &detail,
        result: result.bytes(),
        ns: record.spec.namespace.as_str().as_bytes(),
        blocked: blocked.as_bytes(),
        admission: admission.as_ref().map_or(&[][..], |name| &name[..]),
        counts: &element::pack_counts(&record.counts),
        member: &member::encode(record),
        priority: record.priority.into(),
        created: record.created.as_ms(),
        started: record.run.started.as_ms(),
        failures: record.run.failures.into(),
        reclaims: record.run.reclaims.into(),
        digest: record.digest.get().to_be_bytes(),
        lane: record.spec.lane.as_str().as_bytes(),
        class: class.as_bytes(),
        requires: record.spec.requires.as_str().as_bytes(),
        key: record.spec.key.as_ref().map_or(&[][..], |key| key.as_str().as_bytes()),
        input: input.bytes(),
    };
    let mut packer = Packer(Vec::with_capacity(384));
    fields.pack(&mut packer);
    let rest = ColdFields {
        kind: record.spec.kind.clone(),
        input: record.spec.input.clone(),
        policy: (*policy != Policy::default()).then(|| policy.clone()),
        tags: record.tags.clone(),
        past_runs: record.past_runs.clone(),
        limits: (!record.spec.limits.is_empty()).then(|| record.spec.limits.clone()),
        used: record.used.clone(),
        reports: record.reports.clone(),
        journal: (!record.journal.is_unused()).then(|| record.journal.clone()),
        waits: (!record.waits.is_empty()).then(|| record.waits.clone()),
        acts: record.acts.clone(),
    };
    packer.raw(&pack_value(Some(&rest))?);
    if record.flow.is_some() || record.member.is_some() {
        let place = record.member.as_deref().map(Place::of);
        packer.raw(&pack_value(Some(&FlowFields { flow: record.flow.clone(), place }))?);
    }
    Ok(packer.0)
}

/// The first value in bytes, and what is behind it.
fn first_value<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, &[u8]), Unreadable> {
    let mut behind = bytes;
    let read = rmp_serde::decode::from_read(&mut behind);
    read.map(|value| (value, behind)).map_err(|error| Unreadable::new(error.to_string()))
}

/// `read` applied to bytes, if there are any.
fn maybe<T>(
    bytes: &[u8],
    read: impl FnOnce(&[u8]) -> Result<T, Unreadable>,
) -> Result<Option<T>, Unreadable> {
    (!bytes.is_empty()).then(|| read(bytes)).transpose()
}

impl Stored {
    /// The record of `id` in `bytes`.
    pub(crate) fn decode(id: ExecutionId, bytes: &[u8]) -> Result<Stored, Unreadable> {
        match bytes.first().copied().map(u64::from) {
            Some(FORMAT) => {}
            Some(other) => {
                let why = format!("format {other} is unknown to this release");
                return Err(Unreadable::new(why));
            }
            None => return Err(Short.into()),
        }
        let mut from = Unpacker(bytes);
        let fields = format::Record::unpack(&mut from)?;
        let (rest, behind) = first_value::<ColdFields>(from.0)?;
        let in_flow: FlowFields = match behind {
            [] => FlowFields::default(),
            behind => first_value(behind)?.0,
        };
        let blocked = maybe(fields.blocked, |name| Ok(keys::parse_blocked(name).ok_or(Short)?))?;
        let newest = maybe(fields.attempt, attempt::decode)?;
        let holder = maybe(fields.holder, lease)?;
        let blocked_on = blocked.as_ref().map(|(on, _)| on);
        let state = state::decode(&fields, holder, blocked_on, newest.as_ref())?;
        let priority = i16::try_from(fields.priority).map_err(|_| Short)?;
        let queued_at = time(fields.queued_at);
        let placed = Placement {
            score: (fields.score != NO_SCORE).then(|| Score::from_stored(fields.score)),
            timer: maybe_time(fields.timer),
            request: holder.map(|held| held.request),
            attention: reason(fields.attention)?,
            blocked: blocked.map(|(on, class)| (on, class, Score::of(priority, queued_at))),
        };
        let description = Description {
            id,
            spec: Spec {
                namespace: word(fields.ns)?,
                lane: word(fields.lane)?,
                kind: rest.kind,
                requires: Capabilities::parse(text(fields.requires)?)?,
                input: rest.input,
                policy: rest.policy.unwrap_or_default(),
                key: maybe(fields.key, word)?,
                limits: rest.limits.unwrap_or_default(),
            },
            created: time(fields.created),
            priority,
            tags: rest.tags,
            queued_at,
            state,
            epoch: fields.epoch,
            run: Run {
                number: fields.run as u32,
                started: time(fields.started),
                deadline: maybe_time(fields.deadline),
                failures: fields.failures as u32,
                reclaims: fields.reclaims as u32,
            },
            past_runs: rest.past_runs,
            attempt: newest,
            used: rest.used,
            acts: rest.acts,
            flow: in_flow.flow,
            member: member::decode(fields.member, in_flow.place)?,
        };
        let record = Execution {
            version: version(&fields),
            digest: Digest::from_stored(u64::from_be_bytes(fields.digest)),
            last_exit: held::decode_exit(fields.exit)?,
            placed,
            admission: maybe(fields.admission, held::admission)?,
            reports: rest.reports,
            counts: element::counts(fields.counts)?,
            journal: rest.journal.unwrap_or_default(),
            waits: waits(rest.waits, &description.state),
            description,
        };
        let input = Inline::at(fields.input_place, fields.input)?;
        let result = Inline::at(fields.result_place, fields.result)?;
        Ok(Stored { record, input, result })
    }
}

/// The suspensions and waitpoints that were stored with this state. A function that completes an
/// execution leaves its open waitpoints in the record: the state says that they are closed.
fn waits(stored: Option<Waits>, state: &State) -> Waits {
    let mut waits = stored.unwrap_or_default();
    if matches!(state, State::Finished { .. }) {
        waits.close(|_| false);
    }
    waits
}

/// The reason for attention that was stored as this number.
fn reason(number: u64) -> Result<Option<Attention>, Unreadable> {
    if number == attention::NONE {
        return Ok(None);
    }
    let known = u8::try_from(number).ok().and_then(Attention::from_number);
    let unknown = || Unreadable::new(format!("attention {number} is unknown to this release"));
    known.map(Some).ok_or_else(unknown)
}

fn version(fields: &format::Record<'_>) -> Version {
    Version::from_stored((fields.counter << 32) | u64::from(u32::from_be_bytes(fields.salt)))
}
