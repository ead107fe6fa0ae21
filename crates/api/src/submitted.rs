//! The answer to a submit.

use ff_core::machine::Submitted;
use ff_core::{Dimension, ExecutionId, ResourceName, Warning};
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
    /// What it names that is not there; absent when nothing is to be said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<WarningView>,
}

/// What is worth a word about work that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WarningView {
    /// `no_such_budget`, `no_such_quota` or `estimate_not_counted`.
    pub code: String,
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
            state: submitted.state.to_string(),
            warnings: submitted.warnings.iter().map(WarningView::from).collect(),
        }
    }
}

impl From<&Warning> for WarningView {
    fn from(warning: &Warning) -> Self {
        WarningView {
            code: warning.as_str().to_owned(),
            name: warning.name().to_owned(),
            message: warning.to_string(),
        }
    }
}

impl WarningView {
    /// What is meant; `None` for a warning of another release.
    pub fn warning(&self) -> Option<Warning> {
        let name = || ResourceName::new(&*self.name).ok();
        let known = [
            name().map(|name| Warning::NoBudget { name }),
            name().map(|name| Warning::NoQuota { name }),
            Dimension::new(&*self.name).ok().map(|dimension| Warning::NotCounted { dimension }),
        ];
        known.into_iter().flatten().find(|warning| warning.as_str() == self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ff_core::PublicState;

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
        let read: Vec<_> = view.warnings.iter().filter_map(WarningView::warning).collect();
        assert_eq!(read, warnings);
        assert!(view.warnings[0].message.contains("there is no budget taem"));
        let other = WarningView { code: "moon".into(), ..view.warnings[0].clone() };
        assert_eq!(other.warning(), None);
    }
}
