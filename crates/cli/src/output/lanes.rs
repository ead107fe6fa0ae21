//! Lanes, for people.

use ff_api::http::BackoffRequest;
use ff_api::{LanePageView, LaneView};
use ff_core::policy::Growth;
use ff_core::{Actor, Millis, Patch, Time};

use super::style::Style;
use super::table::{Sheet, Table};
use super::{amount, text, when};

/// One lane a line, cut to `width` if given.
pub(crate) fn table(
    page: &LanePageView,
    now: Time,
    style: Style,
    columns: Option<usize>,
) -> String {
    if page.lanes.is_empty() {
        return String::new();
    }
    let heading =
        ["LANE", "STATE", "WAITING", "ACTIVE", "BLOCKED", "OLDEST", "LIMIT", "SINCE", "NOTE"];
    let table = Table::new(heading, 1).numbers(&[2, 3, 4, 5, 6]);
    let mut table = table.fit(&[0, 8], columns);
    for view in &page.lanes {
        let since = view.since.map(|since| when::relative(since, now));
        let work = view.work.clone().unwrap_or_default();
        let oldest = work.oldest.map(|oldest| when::age(oldest, now));
        let dash = || "-".to_owned();
        table.row([
            view.lane.to_string(),
            word(view).to_owned(),
            amount::grouped(work.waiting),
            amount::grouped(work.active),
            amount::grouped(work.blocked),
            oldest.unwrap_or_else(dash),
            view.max_active.map_or_else(dash, |most| amount::grouped(most.into())),
            since.unwrap_or_else(dash),
            note(view, work.unroutable),
        ]);
    }
    table.show(style)
}

/// A note about a lane: why it is closed, who changed it from elsewhere, how much no worker can run, its
/// defaults.
fn note(view: &LaneView, unroutable: u64) -> String {
    let no_worker = match unroutable {
        0 => None,
        count => Some(format!("no worker can run {}", amount::grouped(count))),
    };
    let reason = view.reason.as_deref().map(|reason| text::one_line(reason, usize::MAX));
    let by = view.by.as_ref().filter(|by| **by != Actor::local()).map(|by| format!("by {by}"));
    let parts = reason.into_iter().chain(by).chain(no_worker).chain(defaults(view));
    let parts: Vec<_> = parts.collect();
    parts.join("; ")
}

/// One lane.
pub(crate) fn sheet(view: &LaneView, now: Time, style: Style) -> String {
    let mut sheet = Sheet::new();
    sheet.row("lane", style.bold(view.lane.as_str()));
    sheet.row("state", style.state(word(view)));
    sheet.maybe("limit", view.max_active.map(|most| format!("{most} at once")));
    sheet.maybe("defaults", view.policy.is_some().then(|| defaults(view).join("\n")));
    sheet.maybe("reason", view.reason.as_deref().map(|reason| text::lines(reason, "")));
    sheet.maybe("since", view.since.map(|since| when::full(since, now)));
    sheet.maybe("by", view.by.as_ref().map(Actor::to_string));
    sheet.show(style)
}

/// The defaults of a lane, one phrase each.
fn defaults(view: &LaneView) -> Vec<String> {
    let Some(policy) = &view.policy else { return Vec::new() };
    let span = |ms| Millis::new(ms).to_string();
    let or_none = |name: &str, said: Patch<u64>| match said {
        Patch::Unset => None,
        Patch::Clear => Some(format!("no {name}")),
        Patch::Set(ms) => Some(format!("{name} {}", span(ms))),
    };
    let phrases = [
        policy.max_attempts.map(|most| match most {
            1 => "1 attempt".to_owned(),
            _ => format!("up to {most} attempts"),
        }),
        backoff(&policy.backoff),
        match &policy.retry_on {
            Patch::Unset => None,
            Patch::Clear => Some("retried on any failure".to_owned()),
            Patch::Set(categories) if categories.is_empty() => Some("never retried".to_owned()),
            Patch::Set(categories) => {
                let names: Vec<_> = categories.iter().map(|category| category.as_str()).collect();
                Some(format!("retried on {}", names.join(", ")))
            }
        },
        or_none("attempt timeout", policy.attempt_timeout_ms),
        or_none("deadline", policy.deadline_ms),
        policy.lease_ttl_ms.map(|ms| format!("lease {}", span(ms))),
        policy.max_reclaims.map(|most| match most {
            1 => "may be lost once".to_owned(),
            _ => format!("may be lost {most} times"),
        }),
        policy.retention_ms.map(|ms| format!("kept {} after its end", span(ms))),
    ];
    phrases.into_iter().flatten().collect()
}

fn backoff(backoff: &BackoffRequest) -> Option<String> {
    let span = |ms| Millis::new(ms).to_string();
    let growth = backoff.growth.map(|growth| match growth {
        Growth::Fixed => "fixed",
        Growth::Exponential => "doubling",
    });
    let parts = [
        backoff.base_ms.map(span),
        growth.map(str::to_owned),
        backoff.cap_ms.map(|ms| format!("up to {}", span(ms))),
        backoff.jitter_percent.map(|percent| format!("{percent}% random")),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("backoff {}", parts.join(", ")))
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
