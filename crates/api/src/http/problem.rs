//! The answer to a refused request: RFC 9457 problem details with our stable code.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A refusal or failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// A page about the code.
    pub r#type: String,
    /// The code in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What was attempted, why not, and what to do.
    pub detail: String,
    /// The stable code.
    pub code: String,
    /// The argument at fault, if one is.
    pub field: Option<String>,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// The id of this request in the server's log.
    pub request_id: String,
}
