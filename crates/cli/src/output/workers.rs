//! Registered workers, for people.

use ff_api::WorkerPageView;
use ff_core::Time;

use super::style::Style;
use super::table::Table;
use super::{text, when};

const LIST_WIDTH: usize = 40;

/// One worker a line. Instance ids are whole, so that they can be copied.
pub(crate) fn table(page: &WorkerPageView, now: Time, style: Style) -> String {
    if page.workers.is_empty() {
        return String::new();
    }
    let heading = ["INSTANCE", "WORKER", "LANES", "CAPABILITIES", "SEEN", "EXPIRES"];
    let mut table = Table::plain(heading);
    for view in &page.workers {
        let lanes: Vec<_> = view.lanes.iter().map(|lane| lane.as_str()).collect();
        table.row([
            view.instance.to_string(),
            view.worker.to_string(),
            text::one_line(&lanes.join(" "), LIST_WIDTH),
            listed(&view.capabilities),
            when::relative(view.last_seen, now),
            when::relative(view.until, now),
        ]);
    }
    table.show(style)
}

fn listed(capabilities: &[String]) -> String {
    match capabilities {
        [] => "-".to_owned(),
        some => text::one_line(&some.join(" "), LIST_WIDTH),
    }
}
