//! The answer to a submit.

use ff_core::ExecutionId;
use ff_core::machine::Submitted;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The execution that a submit made or found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SubmittedView {
    /// Its id.
    #[schema(value_type = String)]
    pub id: ExecutionId,
    /// `false` when an earlier submit with the same id or key and the same body made it.
    pub new: bool,
    /// The public word for where it stands.
    pub state: String,
}

impl From<&Submitted> for SubmittedView {
    fn from(submitted: &Submitted) -> Self {
        SubmittedView {
            id: submitted.execution,
            new: submitted.created,
            state: submitted.state.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ff_core::PublicState;

    #[test]
    fn an_id_is_written_as_it_is_given_back() {
        let id = crate::sample::id();
        let submitted = Submitted { execution: id, created: true, state: PublicState::Waiting };
        let json = serde_json::to_value(SubmittedView::from(&submitted)).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"id": id.to_string(), "new": true, "state": "waiting"})
        );
    }
}
