//! Actions of operators on many executions.

use std::collections::BTreeMap;

use ff_core::{Kind, Lane, Millis, Namespace, Refusal, TagKey, TagValue};
use ff_store::listing::{Filter, StateFilter};
use ff_store::roles::{Bulk, BulkAction, BulkVerb};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{schema, strict};
use crate::Timestamp;

/// One slice of a bulk operation.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BulkRequest {
    /// `cancel`, `replay` or `delete`.
    #[schema(value_type = schema::BulkVerb)]
    pub action: String,
    /// Which executions; it must name something.
    pub filter: BulkFilter,
    /// Only count them.
    #[serde(default)]
    pub dry_run: bool,
    /// How long a holder may still work, for a cancel; absent ends its lease at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86400000)]
    pub grace_ms: Option<u64>,
    /// Why, for people, for a cancel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Message>)]
    pub reason: Option<String>,
    /// Where an earlier slice ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// How many executions at most.
    #[serde(default = "slice")]
    #[schema(minimum = 1, maximum = 1000, default = 100)]
    pub limit: usize,
}

/// The default size of a slice.
const fn slice() -> usize {
    100
}

/// Which executions; every part that is given must hold.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BulkFilter {
    /// In this lane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Name>)]
    pub lane: Option<Lane>,
    /// Of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Name>)]
    pub kind: Option<Kind>,
    /// In one of these states. When absent: for a cancel those that are not finished, for a replay
    /// `failed`, `cancelled` and `expired`, for a delete those that are finished.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::StateFilter>)]
    pub state: Vec<String>,
    /// With all of these tags.
    #[serde(default, deserialize_with = "strict::map", skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<schema::Name, schema::TagText>)]
    pub tags: BTreeMap<TagKey, TagValue>,
    /// Created at this moment or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// Created before this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
}

impl BulkRequest {
    /// The slice.
    pub fn bulk(self, namespace: Namespace) -> Result<Bulk, Refusal> {
        let unknown = || Refusal::invalid("action", "is unknown; give cancel, replay or delete");
        let verb = BulkVerb::parse(&self.action).ok_or_else(unknown)?;
        if verb != BulkVerb::Cancel && (self.grace_ms.is_some() || self.reason.is_some()) {
            let why = format!("goes with a cancel, not with a {verb}");
            let field = if self.grace_ms.is_some() { "grace_ms" } else { "reason" };
            return Err(Refusal::invalid(field, why));
        }
        let action = match verb {
            BulkVerb::Cancel => BulkAction::Cancel {
                grace: self.grace_ms.map(Millis::new),
                reason: self.reason.map(Into::into),
            },
            BulkVerb::Replay => BulkAction::Replay,
            BulkVerb::Delete => BulkAction::Delete,
        };
        Ok(Bulk {
            namespace,
            filter: self.filter.filter()?,
            action,
            dry_run: self.dry_run,
            after: self.cursor.as_deref().map(str::parse).transpose()?,
            limit: self.limit,
        })
    }
}

impl BulkFilter {
    fn filter(self) -> Result<Filter, Refusal> {
        let states = self.state.iter().map(|state| state.parse::<StateFilter>());
        let filter = Filter {
            lane: self.lane,
            kind: self.kind,
            tags: self.tags.into_iter().collect(),
            from: self.from.map(|at| at.0),
            to: self.to.map(|at| at.0),
            ..Filter::default()
        };
        Ok(filter.in_states(states.collect::<Result<Vec<_>, _>>()?))
    }
}

impl From<&Bulk> for BulkRequest {
    fn from(bulk: &Bulk) -> BulkRequest {
        let (grace, reason) = match &bulk.action {
            BulkAction::Cancel { grace, reason } => (*grace, reason.as_deref()),
            BulkAction::Replay | BulkAction::Delete => (None, None),
        };
        let filter = &bulk.filter;
        BulkRequest {
            action: bulk.action.verb().to_string(),
            filter: BulkFilter {
                lane: filter.lane.clone(),
                kind: filter.kind.clone(),
                state: filter.state_filters().iter().map(ToString::to_string).collect(),
                tags: filter.tags.iter().cloned().collect(),
                from: filter.from.map(Timestamp),
                to: filter.to.map(Timestamp),
            },
            dry_run: bulk.dry_run,
            grace_ms: grace.map(Millis::get),
            reason: reason.map(str::to_owned),
            cursor: bulk.after.map(|cursor| cursor.to_string()),
            limit: bulk.limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Bulk, String> {
        let request: BulkRequest = serde_json::from_str(text).map_err(|error| error.to_string())?;
        request.bulk(Namespace::default()).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn a_request_reads_back_as_it_was_written() {
        let full = r#"{"action":"cancel","filter":{"lane":"l","kind":"k","state":["waiting","active"],
            "tags":{"a":"1","b":"2"},"from":"2026-01-01T00:00:00Z","to":"2026-02-01T00:00:00Z"},
            "dry_run":true,"grace_ms":5,"reason":"why","limit":7,
            "cursor":"1018bcfe56800018bcfe5680070008000000000000002"}"#;
        for text in [full, r#"{"action":"delete","filter":{"lane":"l"}}"#] {
            let bulk = read(text).unwrap();
            let written = serde_json::to_string(&BulkRequest::from(&bulk)).unwrap();
            assert_eq!(read(&written).unwrap(), bulk);
        }
    }

    #[test]
    fn what_goes_with_a_cancel_goes_with_nothing_else() {
        for (field, value) in [("grace_ms", "5"), ("reason", "\"why\"")] {
            let text = format!(r#"{{"action":"replay","filter":{{}},"{field}":{value}}}"#);
            let refused = read(&text).unwrap_err();
            assert_eq!(refused, format!("{field} goes with a cancel, not with a replay"));
        }
        assert!(read(r#"{"action":"forget","filter":{}}"#).unwrap_err().contains("cancel, replay"));
    }
}
