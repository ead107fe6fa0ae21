//! Errors for clients.

use ff_core::Refusal;
use ff_store::StoreError;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorView {
    /// The stable code; every code has its part of the reference page.
    pub code: String,
    /// What was attempted, why not, and what to do.
    pub message: String,
    /// The argument at fault, if one is.
    pub field: Option<String>,
    /// Whether the same call may succeed later.
    pub retryable: bool,
}

impl From<&StoreError> for ErrorView {
    fn from(error: &StoreError) -> Self {
        ErrorView {
            code: error.code().to_owned(),
            message: error.to_string(),
            field: error.field().map(str::to_owned),
            retryable: error.is_retryable(),
        }
    }
}

impl From<&Refusal> for ErrorView {
    fn from(refusal: &Refusal) -> Self {
        ErrorView::from(&StoreError::from(refusal.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_its_code_and_field() {
        let view = ErrorView::from(&Refusal::invalid("priority", "is 9001; give -9000 to 9000"));
        assert_eq!(
            serde_json::to_value(view).unwrap(),
            serde_json::json!({
                "code": "invalid_argument",
                "message": "priority is 9001; give -9000 to 9000",
                "field": "priority",
                "retryable": false,
            })
        );
    }

    #[test]
    fn a_busy_store_is_retryable() {
        let view = ErrorView::from(&StoreError::Busy("locked".to_owned()));
        assert_eq!((view.code.as_str(), view.field, view.retryable), ("store_busy", None, true));
    }
}
