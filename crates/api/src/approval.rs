//! The decision of a person, as its signal carries it.

use ff_core::Payload;
use serde::{Deserialize, Serialize};

/// What was decided, and what its author said to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalView {
    /// Whether the answer is yes.
    pub approved: bool,
    /// What its author said to it.
    pub comment: Option<String>,
}

impl ApprovalView {
    /// The payload of the signal.
    pub fn payload(&self) -> Payload {
        // A flag and a text always are JSON.
        Payload::json(serde_json::to_vec(self).unwrap_or_default())
    }
}
