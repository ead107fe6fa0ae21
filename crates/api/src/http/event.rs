//! Changes of operators to feeds.

use ff_core::{Millis, Namespace, words};
use ff_store::events::FeedUpdate;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

words!(
    /// Where to begin to read events.
    EventsFrom {
        /// With what happens from now on.
        Now = "now",
        /// With the oldest event that is kept.
        Oldest = "oldest",
        /// With the latest events, at most as many as are asked for.
        Latest = "latest",
    }
);

/// Changes to a feed; absent fields stay as they are.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FeedRequest {
    /// Whether it is on, whoever reads; off, the next reader switches it on again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<bool>,
    /// How long an event is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1000, maximum = 7_776_000_000u64)]
    pub retention_ms: Option<u64>,
    /// How many are kept at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100_000_000)]
    pub most: Option<u64>,
}

impl FeedRequest {
    /// The update.
    pub fn update(self, namespace: Namespace) -> FeedUpdate {
        let FeedRequest { on, retention_ms, most } = self;
        FeedUpdate { namespace, on, retention: retention_ms.map(Millis::new), most }
    }
}

impl From<&FeedUpdate> for FeedRequest {
    fn from(update: &FeedUpdate) -> FeedRequest {
        let FeedUpdate { on, retention, most, .. } = update;
        FeedRequest { on: *on, retention_ms: retention.map(Millis::get), most: *most }
    }
}
