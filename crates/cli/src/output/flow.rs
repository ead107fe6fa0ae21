//! Flows, for people.

use ff_api::flow::PhaseWord;
use ff_api::{ExecutionView, FlowCancelledView};
use ff_core::flow::FlowCounts;
use ff_core::{Description, Time};

use super::amount::grouped;
use super::style::Style;
use super::table::Sheet;
use super::{text, when};

/// The facts of a flow.
pub(crate) fn sheet(flow: &Description, counts: &FlowCounts, now: Time, style: Style) -> String {
    let view = ExecutionView::from(flow);
    let mut sheet = Sheet::new();
    sheet.row("flow", style.bold(&view.id.to_string()));
    sheet.row("state", style.state(word(&view)));
    let reason = view.reason.as_deref().filter(|_| view.ended.is_some());
    sheet.maybe("reason", reason.map(|reason| text::lines(reason, "")));
    sheet.row("nodes", counted(flow, counts));
    sheet.row("created", when::full(view.created, now));
    if let Some(ended) = view.ended {
        let took = ended.0.since(view.created.0);
        sheet.row("ended", format!("{}, after {took}", when::full(ended, now)));
    }
    sheet.show(style)
}

/// The same in a line or two of at most `columns`, for one that is watched.
pub(crate) fn line(
    flow: &Description,
    counts: &FlowCounts,
    now: Time,
    style: Style,
    columns: usize,
) -> String {
    let age = now.since(flow.created).rounded();
    let facts = text::beginning(&format!("for {age}, {}", counted(flow, counts)), columns);
    let id = text::beginning(&flow.id.to_string(), columns);
    let word = word(&ExecutionView::from(flow));
    format!("{} {}\n{facts}\n\n", style.bold(&id), style.state(word))
}

/// Where a flow is in its life, in a word or two.
pub(crate) fn word(view: &ExecutionView) -> &'static str {
    match view.flow.as_ref().map(|flow| flow.phase) {
        Some(PhaseWord::Open) => "being built",
        Some(PhaseWord::Running) => "running",
        Some(PhaseWord::Ending) => "ending",
        Some(PhaseWord::Settled | PhaseWord::Retiring) | None => view.state.as_str(),
    }
}

/// How many of its nodes have come to what.
fn counted(flow: &Description, of: &FlowCounts) -> String {
    let all = [
        (of.completed, "completed"),
        (of.failed, "failed"),
        (of.expired, "expired"),
        (of.cancelled, "cancelled"),
        (of.skipped, "skipped"),
    ];
    let ended: u64 = all.iter().map(|(count, _)| count).sum();
    let members = flow.flow.as_deref().map_or(0, |flow| u64::from(flow.members));
    let left = [(members.saturating_sub(ended), "not ended")];
    let parts = all.iter().chain(&left).filter(|(count, _)| *count > 0);
    let parts: Vec<_> = parts.map(|(count, what)| format!("{} {what}", grouped(*count))).collect();
    format!("{}: {}", grouped(members), parts.join(", "))
}

/// What a cancel has come to.
pub(crate) fn cancelled(view: &FlowCancelledView) -> String {
    if view.left == 0 {
        return format!("{}: all nodes have ended\n", view.status);
    }
    let mut said = format!("{}: {} nodes have not ended\n", view.status, grouped(view.left));
    for member in &view.pending {
        said.push_str(&format!("  {} is {}\n", member.name, member.state));
    }
    let more = view.left.saturating_sub(view.pending.len() as u64);
    if more > 0 {
        said.push_str(&format!("  and {} more\n", grouped(more)));
    }
    said
}
