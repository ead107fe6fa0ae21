//! Changes of operators to lanes.

use ff_core::{Lane, Namespace, Patch};
use ff_store::roles::LaneUpdate;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{PolicyRequest, patch, schema};

/// Changes to a lane's settings; absent fields stay as they are.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LaneRequest {
    /// None of it is claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// New submits are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draining: Option<bool>,
    /// How many of it may run at once; null is any number.
    #[serde(default, with = "patch", skip_serializing_if = "Patch::is_unset")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 1_000_000)]
    pub max_active: Patch<u32>,
    /// The policy of its submits where they set none, as a whole: a field that is absent has
    /// the documented default. Null removes it. Work that was already submitted keeps its policy.
    #[serde(default, serialize_with = "patch::serialize", deserialize_with = "patch::object")]
    #[serde(skip_serializing_if = "Patch::is_unset")]
    #[schema(value_type = Option<PolicyRequest>)]
    pub policy: Patch<PolicyRequest>,
    /// Why, for people; absent, there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Message>)]
    pub reason: Option<String>,
}

impl LaneRequest {
    /// The update.
    pub fn order(self, namespace: Namespace, lane: Lane) -> LaneUpdate {
        let LaneRequest { paused, draining, max_active, policy, reason } = self;
        let defaults = policy.map(|policy| Box::new(policy.ask()));
        let reason = reason.map(Into::into);
        LaneUpdate { namespace, lane, paused, draining, max_active, defaults, reason }
    }
}

impl From<&LaneUpdate> for LaneRequest {
    fn from(order: &LaneUpdate) -> LaneRequest {
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
    use ff_core::PolicyOverrides;

    fn read(text: &str) -> LaneUpdate {
        let request: LaneRequest = serde_json::from_str(text).unwrap();
        request.order(Namespace::default(), Lane::default())
    }

    fn written(order: &LaneUpdate) -> String {
        serde_json::to_string(&LaneRequest::from(order)).unwrap()
    }

    #[test]
    fn a_limit_is_set_removed_or_left_alone() {
        for (text, meant) in [
            ("{}", Patch::Unset),
            (r#"{"max_active":null}"#, Patch::Clear),
            (r#"{"max_active":3}"#, Patch::Set(3)),
        ] {
            let order = read(text);
            assert_eq!(order.max_active, meant);
            assert_eq!(written(&order), text);
        }
        assert!(serde_json::from_str::<LaneRequest>(r#"{"max_active":-1}"#).is_err());
    }

    #[test]
    fn defaults_are_set_removed_or_left_alone() {
        let five = PolicyOverrides {
            max_attempts: Some(5),
            deadline: Patch::Clear,
            ..PolicyOverrides::default()
        };
        for (text, meant) in [
            ("{}", Patch::Unset),
            (r#"{"policy":null}"#, Patch::Clear),
            (r#"{"policy":{}}"#, Patch::Set(Box::default())),
            (r#"{"policy":{"max_attempts":5,"deadline_ms":null}}"#, Patch::Set(Box::new(five))),
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
