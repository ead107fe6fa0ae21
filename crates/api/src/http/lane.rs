//! What operators say of lanes.

use ff_core::{Lane, Namespace};
use ff_store::roles::LaneOrder;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::schema;

/// What is said of a lane; what is absent stays as it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LaneRequest {
    /// Nothing of it is claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Nothing new is submitted to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draining: Option<bool>,
    /// Why, for people; absent, there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Message>)]
    pub reason: Option<String>,
}

impl LaneRequest {
    /// The order meant.
    pub fn order(self, namespace: Namespace, lane: Lane) -> LaneOrder {
        let LaneRequest { paused, draining, reason } = self;
        LaneOrder { namespace, lane, paused, draining, reason: reason.map(Into::into) }
    }
}

impl From<&LaneOrder> for LaneRequest {
    fn from(order: &LaneOrder) -> LaneRequest {
        LaneRequest {
            paused: order.paused,
            draining: order.draining,
            reason: order.reason.as_deref().map(str::to_owned),
        }
    }
}
