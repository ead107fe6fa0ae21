//! What operators say of lanes.

use ff_core::machine::Amend;
use ff_core::{Lane, Namespace};
use ff_store::roles::LaneOrder;
use serde::{Deserialize, Deserializer, Serialize};
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
    /// How many of it may run at once; null is any number.
    #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 1_000_000)]
    pub max_active: Option<Option<u32>>,
    /// Why, for people; absent, there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Message>)]
    pub reason: Option<String>,
}

impl LaneRequest {
    /// The order meant.
    pub fn order(self, namespace: Namespace, lane: Lane) -> LaneOrder {
        let LaneRequest { paused, draining, max_active, reason } = self;
        let max_active = match max_active {
            None => Amend::Keep,
            Some(None) => Amend::Clear,
            Some(Some(most)) => Amend::Put(most),
        };
        let reason = reason.map(Into::into);
        LaneOrder { namespace, lane, paused, draining, max_active, reason }
    }
}

impl From<&LaneOrder> for LaneRequest {
    fn from(order: &LaneOrder) -> LaneRequest {
        LaneRequest {
            paused: order.paused,
            draining: order.draining,
            max_active: match order.max_active {
                Amend::Keep => None,
                Amend::Clear => Some(None),
                Amend::Put(most) => Some(Some(most)),
            },
            reason: order.reason.as_deref().map(str::to_owned),
        }
    }
}

/// What is there, be it null: what is absent is told from that.
fn there<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(from).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_set_removed_or_left_alone() {
        let read = |text: &str| {
            let request: LaneRequest = serde_json::from_str(text).unwrap();
            request.order(Namespace::default(), Lane::default())
        };
        for (text, meant) in [
            ("{}", Amend::Keep),
            (r#"{"max_active":null}"#, Amend::Clear),
            (r#"{"max_active":3}"#, Amend::Put(3)),
        ] {
            let order = read(text);
            assert_eq!(order.max_active, meant);
            assert_eq!(serde_json::to_string(&LaneRequest::from(&order)).unwrap(), text);
        }
        assert!(serde_json::from_str::<LaneRequest>(r#"{"max_active":-1}"#).is_err());
    }
}
