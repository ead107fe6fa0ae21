//! Lanes, for people.

use ff_api::http::BackoffRequest;
use ff_api::{LanePageView, LaneView};
use ff_core::{Amend, Millis, Time};

use super::style::Style;
use super::table::{Sheet, Table};
use super::{text, when};
use crate::duration;

const DEFAULTS_WIDTH: usize = 80;
const REASON_WIDTH: usize = 80;

/// One lane a line.
pub(crate) fn table(page: &LanePageView, now: Time, style: Style) -> String {
    if page.lanes.is_empty() {
        return String::new();
    }
    let mut table = Table::new(["LANE", "STATE", "LIMIT", "SINCE", "DEFAULTS", "REASON"], 1);
    for view in &page.lanes {
        let since = view.since.map(|since| when::relative(since, now));
        table.row([
            view.lane.to_string(),
            word(view).to_owned(),
            view.max_active.map(|most| most.to_string()).unwrap_or_default(),
            since.unwrap_or_default(),
            text::one_line(&defaults(view).join("; "), DEFAULTS_WIDTH),
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
    sheet.maybe("defaults", view.policy.is_some().then(|| defaults(view).join("\n")));
    sheet.maybe("reason", view.reason.as_deref().map(|reason| text::lines(reason, "")));
    sheet.maybe("since", view.since.map(|since| when::full(since, now)));
    sheet.show(style)
}

/// What is said for submits that say nothing, a phrase for each thing said.
fn defaults(view: &LaneView) -> Vec<String> {
    let Some(policy) = &view.policy else { return Vec::new() };
    let span = |ms| duration::show(Millis::new(ms));
    let or_none = |name: &str, said: Amend<u64>| match said {
        Amend::Keep => None,
        Amend::Clear => Some(format!("no {name}")),
        Amend::Put(ms) => Some(format!("{name} {}", span(ms))),
    };
    let phrases = [
        policy.max_attempts.map(|most| match most {
            1 => "1 attempt".to_owned(),
            _ => format!("up to {most} attempts"),
        }),
        backoff(&policy.backoff),
        match &policy.retry_on {
            Amend::Keep => None,
            Amend::Clear => Some("retried on any failure".to_owned()),
            Amend::Put(categories) if categories.is_empty() => Some("never retried".to_owned()),
            Amend::Put(categories) => {
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
    let span = |ms| duration::show(Millis::new(ms));
    let growth = backoff.growth.as_deref().map(|growth| match growth {
        "fixed" => "fixed",
        _ => "doubling",
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
