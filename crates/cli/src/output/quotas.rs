//! Quotas, for people.

use ff_api::{QuotaPageView, QuotaView};
use ff_core::{Millis, Time};

use super::amount::grouped;
use super::budgets::changed_by;
use super::style::Style;
use super::table::{Sheet, Table};
use super::when;

/// One quota a line.
pub(crate) fn table(page: &QuotaPageView, now: Time, style: Style) -> String {
    if page.quotas.is_empty() {
        return String::new();
    }
    let mut table = Table::plain(["QUOTA", "ACTIVE", "ADMITTED", "NEXT"]);
    for view in &page.quotas {
        table.row([
            view.quota.to_string(),
            of(view.active.into(), view.max_active),
            admitted(view).unwrap_or_else(|| "-".to_owned()),
            next(view, when::ahead(view.next, now)),
        ]);
    }
    table.show(style)
}

/// One quota.
pub(crate) fn sheet(view: &QuotaView, now: Time, style: Style) -> String {
    let mut sheet = Sheet::new();
    sheet.row("quota", style.bold(view.quota.as_str()));
    sheet.row(
        "active",
        match view.max_active {
            Some(_) => of(view.active.into(), view.max_active),
            None => format!("{}, any number may run at once", grouped(view.active.into())),
        },
    );
    sheet.row("admitted", admitted(view).unwrap_or_else(|| "any number may start".to_owned()));
    let jitter = Millis::new(view.jitter_ms);
    sheet.maybe("jitter", (view.jitter_ms > 0).then(|| format!("up to {jitter}")));
    sheet.row("next", next(view, when::ahead(view.next, now)));
    sheet.maybe("changed", view.changed.as_ref().map(|changed| changed_by(changed, now)));
    sheet.show(style)
}

/// How many of how many, if there is a limit.
fn of(count: u64, most: Option<u32>) -> String {
    match most {
        Some(most) => format!("{} of {}", grouped(count), grouped(most.into())),
        None => grouped(count),
    }
}

/// How many of how many were admitted in the last window, if that is limited.
fn admitted(view: &QuotaView) -> Option<String> {
    view.max_requests?;
    let window = Millis::new(view.window_ms);
    Some(format!("{} in {window}", of(view.admitted, view.max_requests)))
}

/// When one more may start; `free` is when the window has capacity.
fn next(view: &QuotaView, free: String) -> String {
    match view.max_active.is_some_and(|most| view.active >= most) {
        true => "when one ends".to_owned(),
        false => free,
    }
}
