//! A page of executions, for people.

use ff_api::{ExecutionView, ListPageView};
use ff_core::Time;

use super::style::Style;
use super::table::Table;
use super::{text, when};

const REASON_WIDTH: usize = 60;

/// One execution a line. Ids are whole: they are there to be copied.
pub(crate) fn table(page: &ListPageView, now: Time, style: Style) -> String {
    if page.executions.is_empty() {
        return String::new();
    }
    let heading = ["ID", "STATE", "LANE", "KIND", "PRIORITY", "ATTEMPTS", "CREATED", "REASON"];
    let mut table = Table::new(heading, 1);
    for view in &page.executions {
        table.row([
            view.id.to_string(),
            view.state.clone(),
            view.lane.to_string(),
            view.kind.to_string(),
            view.priority.to_string(),
            view.attempts.to_string(),
            when::relative(view.created, now),
            reason(view, now),
        ]);
    }
    table.show(style)
}

fn reason(view: &ExecutionView, now: Time) -> String {
    let until = view.delayed_until.map(|until| format!("{}: ", when::relative(until, now)));
    let reason = view.reason.as_deref().unwrap_or_default();
    text::one_line(&format!("{}{reason}", until.unwrap_or_default()), REASON_WIDTH)
}
