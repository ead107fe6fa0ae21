//! Open waitpoints, for people.

use ff_api::WaitpointsView;
use ff_core::Time;

use super::style::Style;
use super::table::Table;
use super::when;

/// One waitpoint a line. Keys are whole, so that they can be copied.
pub(crate) fn table(view: &WaitpointsView, now: Time, style: Style) -> String {
    if view.waitpoints.is_empty() {
        return String::new();
    }
    let mut table = Table::plain(["WAITPOINT", "SIGNALS", "AWAITED", "CLOSES"]).numbers(&[1]);
    for waitpoint in &view.waitpoints {
        table.row([
            waitpoint.key.to_string(),
            waitpoint.signals.to_string(),
            if waitpoint.suspension.is_some() { "yes" } else { "not yet" }.to_owned(),
            waitpoint.until.map_or_else(|| "-".to_owned(), |at| when::relative(at, now)),
        ]);
    }
    table.show(style)
}
