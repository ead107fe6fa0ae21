//! What a schedule is to do, and what is asked of it.

use std::collections::BTreeMap;

use ff_core::schedule::{Cadence, Cron, Overlap, Plan, ScheduleSpec, ScheduledWork, Zone};
use ff_core::{Capabilities, Kind, Lane, Millis, Refusal, RequestId, TagKey, TagValue, Time};
use ff_store::schedules::BackfillRange;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::content::{Content, INPUT};
use super::{LimitsRequest, PolicyRequest, schema, strict};
use crate::Timestamp;

/// What a schedule is to do: exactly one of `cron`, `every_ms` and `at`, and the work.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleRequest {
    /// A cron expression: minute, hour, day of the month, month, day of the week; seconds may come first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 256)]
    pub cron: Option<String>,
    /// Whose clocks the expression is for: an IANA name; `UTC` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 64)]
    pub zone: Option<String>,
    /// Once every so often, counted from `start`, or else from the year 1970 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1000, maximum = 315360000000u64)]
    pub every_ms: Option<u64>,
    /// A single moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// No moment before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Timestamp>,
    /// No moment after this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Timestamp>,
    /// What becomes of a moment while an earlier run has not ended; `skip` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Overlap>)]
    pub overlap: Option<Overlap>,
    /// How many of the moments that were missed while nothing ran are made up for, the latest ones; 1 when
    /// absent, 0 is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 1000)]
    pub catch_up: Option<u32>,
    /// Each run starts up to this much after its moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 86400000u64)]
    pub jitter_ms: Option<u64>,
    /// What each run is submitted with.
    #[serde(default, deserialize_with = "strict::object")]
    pub work: ScheduledWorkBody,
}

/// What each run of a schedule is submitted with. What is absent has the default of a submit.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduledWorkBody {
    /// The queue; `default` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Name>)]
    pub lane: Option<Lane>,
    /// The kind of work; `task` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Name>)]
    pub kind: Option<Kind>,
    /// Any JSON value nested at most 128 deep, kept as the bytes it came in.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "strict::json")]
    #[schema(value_type = serde_json::Value)]
    pub input: Option<Box<RawValue>>,
    /// Any bytes, in base64 with padding, instead of `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Base64>)]
    pub input_base64: Option<String>,
    /// The media type of the input; `application/json` when absent with `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::MediaType>)]
    pub content_type: Option<String>,
    /// Labels. Each run also has `schedule` and `scheduled_for`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "strict::map")]
    #[schema(value_type = BTreeMap<schema::Name, schema::TagText>)]
    pub tags: BTreeMap<TagKey, TagValue>,
    /// Higher goes first: -9000 to 9000; 0 when absent.
    #[serde(default)]
    #[schema(minimum = -9000, maximum = 9000)]
    pub priority: i16,
    /// What a worker must offer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::Capability>)]
    pub requires: Vec<String>,
    /// The budgets and quotas of it.
    #[serde(default, deserialize_with = "strict::object")]
    pub limits: LimitsRequest,
    /// The policy of the work.
    #[serde(default, deserialize_with = "strict::object")]
    pub policy: PolicyRequest,
}

/// Why a schedule is paused.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseScheduleRequest {
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Message>)]
    pub reason: Option<String>,
}

/// A schedule continues.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeScheduleRequest {}

/// A run of a schedule, now.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunScheduleRequest {
    /// The name of this call: a random UUID. Repeat it when a reply is lost; without it, a repeated call
    /// makes a second run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Call>)]
    pub request: Option<RequestId>,
}

/// Runs of the moments of a range of the past.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BackfillRequest {
    /// The first moment.
    pub from: Timestamp,
    /// The last one; it must have passed.
    pub until: Timestamp,
    /// How long it is from one run to the next; a second when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 10, maximum = 86400000u64)]
    pub pace_ms: Option<u64>,
}

impl ScheduleRequest {
    /// What the schedule is to do.
    pub fn spec(self) -> Result<ScheduleSpec, Refusal> {
        let start = self.start.map(|at| at.0);
        let zone = self.zone.map(Zone::new).transpose()?;
        if zone.is_some() && self.cron.is_none() {
            return Err(Refusal::invalid("zone", "goes with a cron expression; leave it out"));
        }
        let cadence = match (self.cron, self.every_ms, self.at) {
            (Some(cron), None, None) => {
                Cadence::Cron { cron: Cron::new(cron)?, zone: zone.unwrap_or_default() }
            }
            (None, Some(every), None) => {
                Cadence::Every { every: Millis::new(every), from: start.unwrap_or(Time::EPOCH) }
            }
            (None, None, Some(at)) => Cadence::At(at.0),
            _ => {
                let why = "is given with another, or none is; give one of cron, every_ms and at";
                return Err(Refusal::invalid("cron", why));
            }
        };
        Ok(ScheduleSpec {
            plan: Plan { cadence, start, end: self.end.map(|at| at.0) },
            overlap: self.overlap.unwrap_or(Overlap::Skip),
            catch_up: self.catch_up.unwrap_or(1),
            jitter: Millis::new(self.jitter_ms.unwrap_or(0)),
            work: self.work.work()?,
        })
    }
}

impl From<&ScheduleSpec> for ScheduleRequest {
    fn from(spec: &ScheduleSpec) -> ScheduleRequest {
        let mut request = ScheduleRequest {
            start: spec.plan.start.map(Into::into),
            end: spec.plan.end.map(Into::into),
            overlap: Some(spec.overlap),
            catch_up: Some(spec.catch_up),
            jitter_ms: Some(spec.jitter.get()),
            work: (&spec.work).into(),
            ..ScheduleRequest::default()
        };
        match &spec.plan.cadence {
            Cadence::Cron { cron, zone } => {
                request.cron = Some(cron.to_string());
                request.zone = Some(zone.to_string());
            }
            Cadence::Every { every, .. } => request.every_ms = Some(every.get()),
            Cadence::At(at) => request.at = Some((*at).into()),
        }
        request
    }
}

impl ScheduledWorkBody {
    fn work(self) -> Result<ScheduledWork, Refusal> {
        let Self { input: json, input_base64: base64, content_type, .. } = self;
        let input = Content { json, base64, content_type }.payload(INPUT)?;
        Ok(ScheduledWork {
            lane: self.lane.unwrap_or_default(),
            kind: self.kind.unwrap_or_default(),
            content_type: input.content_type,
            input: input.bytes,
            tags: self.tags,
            priority: self.priority,
            requires: Capabilities::new(&self.requires)?,
            limits: self.limits.limits()?,
            policy: self.policy.ask(),
        })
    }
}

impl From<&ScheduledWork> for ScheduledWorkBody {
    fn from(work: &ScheduledWork) -> ScheduledWorkBody {
        let content = Content::from(&work.payload());
        ScheduledWorkBody {
            lane: Some(work.lane.clone()),
            kind: Some(work.kind.clone()),
            input: content.json,
            input_base64: content.base64,
            content_type: content.content_type,
            tags: work.tags.clone(),
            priority: work.priority,
            requires: work.requires.tokens().map(str::to_owned).collect(),
            limits: (&work.limits).into(),
            policy: (&work.policy).into(),
        }
    }
}

impl BackfillRequest {
    /// The range.
    pub fn range(self) -> BackfillRange {
        let pace = Millis::new(self.pace_ms.unwrap_or(1_000));
        BackfillRange { from: self.from.0, until: self.until.0, pace }
    }
}

impl From<&BackfillRange> for BackfillRequest {
    fn from(range: &BackfillRange) -> BackfillRequest {
        let BackfillRange { from, until, pace } = *range;
        BackfillRequest { from: from.into(), until: until.into(), pace_ms: Some(pace.get()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_reads_back_as_it_was_written() {
        for text in [
            r#"{"cron":"0 2 * * *","zone":"Europe/Berlin","overlap":"queue","catch_up":5,
                "work":{"kind":"report","input":{"n":1},"tags":{"team":"a"},"requires":["gpu"]}}"#,
            r#"{"every_ms":60000,"start":"2026-01-01T00:00:30Z","jitter_ms":500}"#,
            r#"{"at":"2026-01-01T00:00:30Z","end":"2027-01-01T00:00:00Z"}"#,
        ] {
            let spec = serde_json::from_str::<ScheduleRequest>(text).unwrap().spec().unwrap();
            let again = serde_json::to_string(&ScheduleRequest::from(&spec)).unwrap();
            let again: ScheduleRequest = serde_json::from_str(&again).unwrap();
            assert_eq!(again.spec().unwrap(), spec, "{text}");
        }
    }

    #[test]
    fn what_is_no_schedule_is_refused_by_name() {
        for (text, field) in [
            (r#"{}"#, "cron"),
            (r#"{"cron":"* * * * *","every_ms":1000}"#, "cron"),
            (r#"{"cron":"0 0 31 2 *"}"#, "cron"),
            (r#"{"cron":"* * * * *","zone":"Mars/Olympus"}"#, "zone"),
            (r#"{"every_ms":1000,"zone":"UTC"}"#, "zone"),
            (r#"{"every_ms":1000,"work":{"input":1,"input_base64":""}}"#, "input"),
        ] {
            let request: ScheduleRequest = serde_json::from_str(text).unwrap();
            assert_eq!(request.spec().unwrap_err().field(), Some(field), "{text}");
        }
    }
}
