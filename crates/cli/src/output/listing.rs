//! A page of executions, for people.

use ff_api::{ExecutionView, ListPageView};
use ff_core::Time;

use super::style::Style;
use super::table::Table;
use super::{text, when};
use crate::id;

/// One execution a line, cut to the width: ids are as long as they must be to
/// be unique, and reasons are cut.
pub(crate) fn fitted(page: &ListPageView, now: Time, style: Style, columns: usize) -> String {
    if page.executions.is_empty() {
        return String::new();
    }
    let heading = ["ID", "STATE", "LANE", "KIND", "AGE", "REASON"];
    let mut table = Table::new(heading, 1).numbers(&[4]).fit(&[2, 3, 5], Some(columns));
    let ids: Vec<_> = page.executions.iter().map(|view| view.id).collect();
    for (view, id) in page.executions.iter().zip(id::short(&ids)) {
        table.row([
            id,
            view.state.to_string(),
            view.lane.to_string(),
            view.kind.to_string(),
            when::age(view.created, now),
            reason(view, now),
        ]);
    }
    table.show(style)
}

/// One execution a line, with all that is known in a word; nothing is cut.
pub(crate) fn wide(page: &ListPageView, now: Time, style: Style) -> String {
    if page.executions.is_empty() {
        return String::new();
    }
    let heading = ["ID", "STATE", "LANE", "KIND", "PRIORITY", "ATTEMPTS", "CREATED", "REASON"];
    let mut table = Table::new(heading, 1);
    for view in &page.executions {
        table.row([
            view.id.to_string(),
            view.state.to_string(),
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

/// One flow a line; nothing is cut.
pub(crate) fn flows(
    page: &ListPageView,
    now: Time,
    style: Style,
    columns: Option<usize>,
) -> String {
    if page.executions.is_empty() {
        return String::new();
    }
    let heading = ["FLOW", "STATE", "NODES", "CREATED", "REASON"];
    let mut table = Table::new(heading, 1).numbers(&[2]).fit(&[4], columns);
    for view in &page.executions {
        table.row([
            view.id.to_string(),
            super::flow::word(view).to_owned(),
            view.flow.as_ref().map_or(0, |flow| flow.members).to_string(),
            when::relative(view.created, now),
            view.ended.map(|_| reason(view, now)).unwrap_or_default(),
        ]);
    }
    table.show(style)
}

fn reason(view: &ExecutionView, now: Time) -> String {
    let until = view.delayed_until.map(|until| format!("{}: ", when::relative(until, now)));
    let reason = view.reason.as_deref().unwrap_or_default();
    text::one_line(&format!("{}{reason}", until.unwrap_or_default()), usize::MAX)
}
