//! Lanes, for people.

use ff_api::{LanePageView, LaneView};
use ff_core::Time;

use super::style::Style;
use super::table::{Sheet, Table};
use super::{text, when};

const REASON_WIDTH: usize = 80;

/// One lane a line.
pub(crate) fn table(page: &LanePageView, now: Time, style: Style) -> String {
    if page.lanes.is_empty() {
        return String::new();
    }
    let mut table = Table::new(["LANE", "STATE", "LIMIT", "SINCE", "REASON"], 1);
    for view in &page.lanes {
        let since = view.since.map(|since| when::relative(since, now));
        table.row([
            view.lane.to_string(),
            word(view).to_owned(),
            view.max_active.map(|most| most.to_string()).unwrap_or_default(),
            since.unwrap_or_default(),
            text::one_line(view.reason.as_deref().unwrap_or_default(), REASON_WIDTH),
        ]);
    }
    table.show(style)
}

/// One lane.
pub(crate) fn sheet(view: &LaneView, now: Time, style: Style) -> String {
    let mut sheet = Sheet::new();
    sheet.row("lane", style.bold(view.lane.as_str()));
    sheet.row("state", style.state(word(view)));
    sheet.maybe("limit", view.max_active.map(|most| format!("{most} at once")));
    sheet.maybe("reason", view.reason.as_deref().map(|reason| text::lines(reason, "")));
    sheet.maybe("since", view.since.map(|since| when::full(since, now)));
    sheet.show(style)
}

/// The state of a lane in words.
fn word(view: &LaneView) -> &'static str {
    match (view.paused, view.draining) {
        (false, false) => "open",
        (true, false) => "paused",
        (false, true) => "draining",
        (true, true) => "paused, draining",
    }
}
