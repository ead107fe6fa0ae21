//! What a bulk operation did.

use ff_core::ExecutionId;
use ff_store::roles::BulkSlice;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::ErrorView;

/// What a bulk operation did, or one slice of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BulkView {
    /// How many executions were found.
    pub matched: u64,
    /// How many it was applied to; 0 when they were only counted.
    pub done: u64,
    /// How many refused it.
    pub refused: u64,
    /// The first ten refusals.
    pub refusals: Vec<BulkRefusalView>,
    /// How many cannot be read, whatever the filter; `ff check` says what is wrong
    /// with them.
    pub unreadable: u64,
    /// The cursor to continue with; null when there is nothing more.
    pub next: Option<String>,
}

/// One execution that refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BulkRefusalView {
    /// The execution.
    #[schema(value_type = crate::http::schema::Id)]
    pub id: ExecutionId,
    /// Why.
    pub error: ErrorView,
}

impl From<&BulkSlice> for BulkView {
    fn from(slice: &BulkSlice) -> BulkView {
        let refusals = slice.refusals.iter();
        let refusals = refusals.map(|(id, error)| BulkRefusalView { id: *id, error: error.into() });
        BulkView {
            matched: slice.matched,
            done: slice.done,
            refused: slice.refused,
            refusals: refusals.collect(),
            unreadable: slice.unreadable,
            next: slice.next.map(|cursor| cursor.to_string()),
        }
    }
}
