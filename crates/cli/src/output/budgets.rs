//! Budgets, for people.

use ff_api::{BudgetPageView, BudgetView, ChangedView, DimensionView};
use ff_core::budget::{DimensionState, OnBreach};
use ff_core::{Millis, Time};

use super::amount::grouped;
use super::style::Style;
use super::table::{Sheet, Table};
use super::when;

/// One dimension per line; columns of the whole budget are in its first.
pub(crate) fn table(page: &BudgetPageView, now: Time, style: Style) -> String {
    if page.budgets.is_empty() {
        return String::new();
    }
    let heading = ["BUDGET", "DIMENSION", "STATE", "USED", "RESERVED", "HARD", "SOFT", "RESETS"];
    let mut table = Table::new(heading, 2).numbers(&[3, 4, 5, 6]);
    for view in &page.budgets {
        let resets = view.resets.map_or("never".to_owned(), |at| when::ahead(at, now));
        let whole = [(view.budget.to_string(), resets)].into_iter();
        let whole = whole.chain(std::iter::repeat_with(Default::default));
        for ((name, limits), (budget, resets)) in view.dimensions.iter().zip(whole) {
            let [state, used, reserved, hard, soft] = cells(limits);
            table.row([budget, name.to_string(), state, used, reserved, hard, soft, resets]);
        }
    }
    table.show(style)
}

/// One budget: what holds for all of it, and under it one dimension a line.
pub(crate) fn sheet(view: &BudgetView, now: Time, style: Style) -> String {
    let mut sheet = Sheet::new();
    sheet.row("budget", style.bold(view.budget.as_str()));
    let period = match (view.period_ms, view.resets) {
        (Some(ms), Some(resets)) => {
            let period = Millis::new(ms).to_string();
            format!("{period}, usage resets {}", when::full(resets, now))
        }
        _ => "none, usage never resets".to_owned(),
    };
    sheet.row("period", period);
    sheet.row("since", when::full(view.since, now));
    sheet.row(
        "on breach",
        match view.on_breach {
            OnBreach::Cancel => "cancel: running work is cancelled, nothing new is admitted",
            OnBreach::Block => "block: running work continues, nothing new is admitted",
        },
    );
    sheet.maybe("changed", view.changed.as_ref().map(|changed| changed_by(changed, now)));
    let mut table = Table::new(["DIMENSION", "STATE", "USED", "RESERVED", "HARD", "SOFT", ""], 1)
        .numbers(&[2, 3, 4, 5]);
    for (name, limits) in &view.dimensions {
        let [state, used, reserved, hard, soft] = cells(limits);
        table.row([name.to_string(), state, used, reserved, hard, soft, String::new()]);
    }
    format!("{}\n{}", sheet.show(style), table.show(style))
}

/// When something was changed, and by whom.
pub(crate) fn changed_by(changed: &ChangedView, now: Time) -> String {
    format!("{}, by {}", when::full(changed.at, now), changed.by)
}

/// Whether nothing is admitted for want of some dimension.
pub(crate) fn is_full(view: &BudgetView) -> bool {
    view.dimensions.values().any(|limits| limits.state == DimensionState::Full)
}

fn cells(limits: &DimensionView) -> [String; 5] {
    let limit = |limit: Option<u64>| {
        limit.filter(|limit| *limit > 0).map_or_else(|| "-".to_owned(), grouped)
    };
    [
        limits.state.to_string(),
        grouped(limits.used),
        grouped(limits.reserved),
        limit(limits.hard),
        limit(limits.soft),
    ]
}
