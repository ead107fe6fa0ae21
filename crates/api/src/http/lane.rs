//! What operators say of lanes.

use ff_core::{Amend, Lane, Namespace, Refusal};
use ff_store::roles::LaneOrder;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{PolicyRequest, amend, schema};

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
    #[serde(default, with = "amend", skip_serializing_if = "Amend::is_keep")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 1_000_000)]
    pub max_active: Amend<u32>,
    /// What its submits ask of the engine where they say nothing, as a whole: what is absent in it has
    /// the documented default. Null removes it. Work that is there already keeps its policy.
    #[serde(default, serialize_with = "amend::serialize", deserialize_with = "amend::object")]
    #[serde(skip_serializing_if = "Amend::is_keep")]
    #[schema(value_type = Option<PolicyRequest>)]
    pub policy: Amend<PolicyRequest>,
    /// Why, for people; absent, there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Message>)]
    pub reason: Option<String>,
}

impl LaneRequest {
    /// The order meant.
    pub fn order(self, namespace: Namespace, lane: Lane) -> Result<LaneOrder, Refusal> {
        let LaneRequest { paused, draining, max_active, policy, reason } = self;
        let defaults = match policy {
            Amend::Keep => Amend::Keep,
            Amend::Clear => Amend::Clear,
            Amend::Put(policy) => Amend::Put(Box::new(policy.ask()?)),
        };
        let reason = reason.map(Into::into);
        Ok(LaneOrder { namespace, lane, paused, draining, max_active, defaults, reason })
    }
}

impl From<&LaneOrder> for LaneRequest {
    fn from(order: &LaneOrder) -> LaneRequest {
        LaneRequest {
            paused: order.paused,
            draining: order.draining,
            max_active: order.max_active,
            policy: order.defaults.as_ref().map(|defaults| (&**defaults).into()),
            reason: order.reason.as_deref().map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ff_core::Ask;

    fn read(text: &str) -> LaneOrder {
        let request: LaneRequest = serde_json::from_str(text).unwrap();
        request.order(Namespace::default(), Lane::default()).unwrap()
    }

    fn written(order: &LaneOrder) -> String {
        serde_json::to_string(&LaneRequest::from(order)).unwrap()
    }

    #[test]
    fn a_limit_is_set_removed_or_left_alone() {
        for (text, meant) in [
            ("{}", Amend::Keep),
            (r#"{"max_active":null}"#, Amend::Clear),
            (r#"{"max_active":3}"#, Amend::Put(3)),
        ] {
            let order = read(text);
            assert_eq!(order.max_active, meant);
            assert_eq!(written(&order), text);
        }
        assert!(serde_json::from_str::<LaneRequest>(r#"{"max_active":-1}"#).is_err());
    }

    #[test]
    fn defaults_are_set_removed_or_left_alone() {
        let five = Ask { max_attempts: Some(5), deadline: Amend::Clear, ..Ask::default() };
        for (text, meant) in [
            ("{}", Amend::Keep),
            (r#"{"policy":null}"#, Amend::Clear),
            (r#"{"policy":{}}"#, Amend::Put(Box::default())),
            (r#"{"policy":{"max_attempts":5,"deadline_ms":null}}"#, Amend::Put(Box::new(five))),
        ] {
            let order = read(text);
            assert_eq!(order.defaults, meant);
            assert_eq!(written(&order), text);
        }
        for bad in [r#"{"policy":[5]}"#, r#"{"policy":{"x":5}}"#, r#"{"policy":5}"#] {
            assert!(serde_json::from_str::<LaneRequest>(bad).is_err(), "{bad}");
        }
    }
}
