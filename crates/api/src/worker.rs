//! What a worker did.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How the executions that a worker claimed ended for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkerReportView {
    /// How many it claimed.
    pub claimed: u64,
    /// How many it completed.
    pub completed: u64,
    /// How many attempts it failed that are tried again.
    pub retrying: u64,
    /// How many it failed for good.
    pub failed: u64,
    /// How many were cancelled while it held them.
    pub cancelled: u64,
    /// How many it lost: the lease ended before the work did.
    pub lost: u64,
    /// How many it handed back.
    pub handed_back: u64,
}
