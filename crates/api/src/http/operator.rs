//! Requests of operators.

use std::collections::BTreeMap;

use ff_core::{TagKey, TagValue};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{schema, strict};

/// A cancel from outside.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelRequest {
    /// How long a holder may still work; absent ends its lease at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86400000)]
    pub grace_ms: Option<u64>,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Message>)]
    pub reason: Option<String>,
}

/// A replay. It names the run it follows, so that a repeated call does not start two.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayRequest {
    /// The run that has ended.
    pub run: u32,
}

/// A change of priority.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PriorityRequest {
    /// Higher goes first: -9000 to 9000.
    #[schema(minimum = -9000, maximum = 9000)]
    pub priority: i16,
}

/// A change of tags; the rest stay.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TagsRequest {
    /// Tags to set.
    #[serde(default, deserialize_with = "strict::map")]
    #[schema(value_type = BTreeMap<schema::Name, schema::TagText>)]
    pub set: BTreeMap<TagKey, TagValue>,
    /// Tags to remove.
    #[serde(default)]
    #[schema(value_type = Vec<schema::Name>, max_items = 32)]
    pub remove: Vec<TagKey>,
}

/// A revocation. It names the lease, so that a repeated call never ends a later one.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeRequest {
    /// The lease to end.
    #[schema(value_type = schema::LeaseName)]
    pub lease: String,
}
