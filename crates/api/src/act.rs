//! Who did what.

use ff_core::Actor;
use ff_core::act::{Act, Changed, Deed};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::schema;
use crate::timestamp::Timestamp;

/// Something that somebody did to an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActView {
    /// What.
    #[schema(value_type = schema::Deed)]
    pub what: Deed,
    /// Who: the name of a token, `root`, `local` or `engine`.
    #[schema(value_type = String)]
    pub by: Actor,
    /// When.
    pub at: Timestamp,
}

impl From<&Act> for ActView {
    fn from(act: &Act) -> Self {
        ActView { what: act.what, by: act.by.clone(), at: act.at.into() }
    }
}

impl From<ActView> for Act {
    fn from(view: ActView) -> Self {
        Act { what: view.what, by: view.by, at: view.at.0 }
    }
}

/// The last change of a budget or a quota.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangedView {
    /// When.
    pub at: Timestamp,
    /// Who made it: the name of a token, `root` or `local`.
    #[schema(value_type = String)]
    pub by: Actor,
}

impl From<&Changed> for ChangedView {
    fn from(changed: &Changed) -> Self {
        ChangedView { at: changed.at.into(), by: changed.by.clone() }
    }
}

impl From<&ChangedView> for Changed {
    fn from(view: &ChangedView) -> Self {
        Changed { at: view.at.0, by: view.by.clone() }
    }
}
