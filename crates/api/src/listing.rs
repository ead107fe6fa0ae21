//! Listings.

use ff_core::ExecutionId;
use ff_core::explain::without_worker;
use ff_store::listing::ListPage;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::execution::ExecutionView;

/// One page of a listing, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ListPageView {
    /// The executions.
    pub executions: Vec<ExecutionView>,
    /// The ids of executions that cannot be read, whatever the filter; `ff check`
    /// says what is wrong with them.
    #[schema(value_type = Vec<crate::http::schema::Id>)]
    pub unreadable: Vec<ExecutionId>,
    /// The cursor to continue with; null when there is nothing more.
    pub next: Option<String>,
}

impl From<&ListPage> for ListPageView {
    fn from(page: &ListPage) -> Self {
        let view = |record: &ff_core::Description| match page.lacks_worker.contains(&record.id) {
            true => ExecutionView::new(record, Some(&without_worker(record))),
            false => ExecutionView::from(record),
        };
        ListPageView {
            executions: page.executions.iter().map(view).collect(),
            unreadable: page.unreadable.clone(),
            next: page.next.map(|cursor| cursor.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_page_still_has_all_fields() {
        let page = ListPage::default();
        let json = serde_json::to_value(ListPageView::from(&page)).unwrap();
        assert_eq!(json, serde_json::json!({"executions": [], "unreadable": [], "next": null}));
    }

    #[test]
    fn a_cursor_is_given_as_it_is_taken_back() {
        let next = "1018bcfe56800018bcfe5680070008000000000000002".parse().unwrap();
        let executions = vec![crate::sample::queued()];
        let page = ListPage { executions, next: Some(next), ..ListPage::default() };
        let view = ListPageView::from(&page);
        assert_eq!(view.executions.len(), 1);
        assert_eq!(view.next.unwrap().parse(), Ok(next));
    }
}
