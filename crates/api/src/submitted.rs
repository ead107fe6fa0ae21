//! The answer to a submit.

use ff_core::machine::Submitted;
use ff_core::warning::WarningCode;
use ff_core::{Dimension, ExecutionId, PublicState, Refusal, ResourceName, Warning};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::schema;

/// The execution that a submit created or found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SubmittedView {
    /// Its id.
    #[schema(value_type = crate::http::schema::Id)]
    pub id: ExecutionId,
    /// `false` when an earlier submit with the same id or key and the same body created it.
    pub new: bool,
    /// Its state.
    #[schema(value_type = schema::PublicState)]
    pub state: PublicState,
    /// Budgets, quotas and dimensions it names that do not exist; absent without warnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<WarningView>,
}

/// A warning about work that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WarningView {
    /// The kind of warning.
    #[schema(value_type = schema::WarningCode)]
    pub code: WarningCode,
    /// The budget, quota or dimension.
    pub name: String,
    /// What follows from it, for people.
    pub message: String,
}

impl From<&Submitted> for SubmittedView {
    fn from(submitted: &Submitted) -> Self {
        SubmittedView {
            id: submitted.execution,
            new: submitted.created,
            state: submitted.state,
            warnings: submitted.warnings.iter().map(WarningView::from).collect(),
        }
    }
}

impl From<&Warning> for WarningView {
    fn from(warning: &Warning) -> Self {
        WarningView {
            code: warning.code(),
            name: warning.name().to_owned(),
            message: warning.to_string(),
        }
    }
}

impl WarningView {
    /// What is.
    pub fn warning(&self) -> Result<Warning, Refusal> {
        let name = || ResourceName::new(&*self.name);
        Ok(match self.code {
            WarningCode::NoBudget => Warning::NoBudget { name: name()? },
            WarningCode::NoQuota => Warning::NoQuota { name: name()? },
            WarningCode::NotCounted => {
                Warning::NotCounted { dimension: Dimension::new(&*self.name)? }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn submitted(warnings: Vec<Warning>) -> Submitted {
        let execution = crate::sample::id();
        Submitted { execution, created: true, state: PublicState::Waiting, warnings }
    }

    #[test]
    fn an_id_is_written_as_it_is_given_back() {
        let id = crate::sample::id();
        let json = serde_json::to_value(SubmittedView::from(&submitted(Vec::new()))).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"id": id.to_string(), "new": true, "state": "waiting"})
        );
    }

    #[test]
    fn a_warning_reads_back_as_it_was_written() {
        let name = || ResourceName::new("taem").unwrap();
        let dimension = Dimension::new("tokns").unwrap();
        let warnings = vec![
            Warning::NoBudget { name: name() },
            Warning::NoQuota { name: name() },
            Warning::NotCounted { dimension },
        ];
        let view = SubmittedView::from(&submitted(warnings.clone()));
        let read: Result<Vec<_>, _> = view.warnings.iter().map(WarningView::warning).collect();
        assert_eq!(read, Ok(warnings));
        assert!(view.warnings[0].message.contains("there is no budget taem"));
    }
}
