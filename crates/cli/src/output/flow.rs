//! Flows, for people.

use std::collections::{HashMap, HashSet};

use ff_api::{ExecutionView, FlowCancelledView};
use ff_core::critical::critical_path;
use ff_core::flow::Phase;
use ff_core::machine::{FlowMember, FlowPage};
use ff_core::{Description, Millis, Time};

use super::amount::grouped;
use super::style::Style;
use super::table::{Sheet, Table};
use super::{text, when};

/// How deep a node is indented at most.
const DEEPEST: usize = 12;

/// How many of the nodes that a node depends on are named.
const NAMED: usize = 4;

/// A flow with its nodes, each under those that it depends on.
pub(crate) fn sheet(page: &FlowPage, now: Time, style: Style) -> String {
    let view = ExecutionView::from(&page.flow);
    let mut sheet = Sheet::new();
    sheet.row("flow", style.bold(&view.id.to_string()));
    let phase = page.flow.flow.as_deref().map(|flow| match flow.phase {
        Phase::Open => "being built",
        Phase::Running => "running",
        Phase::Ending(_) => "ending",
        Phase::Settled | Phase::Retiring => view.state.as_str(),
    });
    sheet.row("state", style.state(phase.unwrap_or(view.state.as_str())));
    let reason = view.reason.as_deref().filter(|_| view.ended.is_some());
    sheet.maybe("reason", reason.map(|reason| text::lines(reason, "")));
    sheet.row("nodes", counts(page));
    sheet.row("created", when::full(view.created, now));
    if let Some(ended) = view.ended {
        let took = ended.0.since(view.created.0);
        sheet.row("ended", format!("{}, after {took}", when::full(ended, now)));
    }
    if page.members.is_empty() {
        return sheet.show(style);
    }
    format!("{}\n{}", sheet.show(style), graph(page, now, style))
}

fn counts(page: &FlowPage) -> String {
    let of = page.counts;
    let all = [
        (of.completed, "completed"),
        (of.failed, "failed"),
        (of.expired, "expired"),
        (of.cancelled, "cancelled"),
        (of.skipped, "skipped"),
    ];
    let ended: u64 = all.iter().map(|(count, _)| count).sum();
    let members = page.flow.flow.as_deref().map_or(0, |flow| u64::from(flow.members));
    let left = [(members.saturating_sub(ended), "not ended")];
    let parts = all.iter().chain(&left).filter(|(count, _)| *count > 0);
    let parts: Vec<_> = parts.map(|(count, what)| format!("{} {what}", grouped(*count))).collect();
    format!("{}: {}", grouped(members), parts.join(", "))
}

/// One node a line, in an order in which each comes after those that it depends on.
fn graph(page: &FlowPage, now: Time, style: Style) -> String {
    let critical: HashSet<_> = critical_path(&page.members, now).into_iter().collect();
    let names: HashMap<_, _> =
        page.members.iter().map(|member| (member.node, member.name.as_str())).collect();
    let depths = depths(&page.members);
    let mut order: Vec<_> = page.members.iter().collect();
    order.sort_by_key(|member| (depths.get(&member.node).copied().unwrap_or(0), member.node));
    let mut table = Table::new(["NODE", "STATE", "WAITED", "RAN", "AFTER"], 1).numbers(&[2, 3]);
    for member in order {
        let depth = depths.get(&member.node).copied().unwrap_or(0).min(DEEPEST);
        let mark = if critical.contains(&member.node) { "*" } else { " " };
        let execution = member.execution.as_ref();
        let state = execution.map_or("unreadable", |it| it.public_state().as_str());
        let (waited, ran) = execution.map_or((None, None), |it| spans(it, now));
        let span = |span: Option<Millis>| span.map_or_else(|| "-".to_owned(), |it| it.to_string());
        table.row([
            format!("{mark} {}{}", "  ".repeat(depth), member.name),
            state.to_owned(),
            span(waited),
            span(ran),
            after(member, &names),
        ]);
    }
    table.show(style)
}

/// How long a node waited once it could run, and how long its newest attempt ran.
fn spans(execution: &Description, now: Time) -> (Option<Millis>, Option<Millis>) {
    let ended = execution.outcome().map(|(_, at)| at);
    let started = execution.attempt.as_ref().map(|attempt| attempt.started);
    let is_released = started.is_some() || (ended.is_none() && !execution.is_awaiting());
    let waited = is_released.then(|| started.unwrap_or(now).since(execution.queued_at));
    (waited, started.map(|started| ended.unwrap_or(now).since(started)))
}

fn after(member: &FlowMember, names: &HashMap<u32, &str>) -> String {
    let named = member.after.iter().take(NAMED).filter_map(|node| names.get(node).copied());
    let named: Vec<_> = named.collect();
    match member.after.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {} more", named.join(", "), grouped(more as u64)),
    }
}

/// How many nodes are before each on the longest way to it.
fn depths(members: &[FlowMember]) -> HashMap<u32, usize> {
    let mut waits: HashMap<u32, usize> = HashMap::with_capacity(members.len());
    let mut next: HashMap<u32, Vec<u32>> = HashMap::new();
    for member in members {
        waits.insert(member.node, member.after.len());
        for upstream in &member.after {
            next.entry(*upstream).or_default().push(member.node);
        }
    }
    let mut depths: HashMap<u32, usize> = HashMap::with_capacity(members.len());
    let roots = members.iter().filter(|member| member.after.is_empty());
    let mut free: Vec<_> = roots.map(|member| member.node).collect();
    while let Some(node) = free.pop() {
        let depth = *depths.entry(node).or_default() + 1;
        for following in next.get(&node).map_or(&[][..], |next| next) {
            let known = depths.entry(*following).or_default();
            *known = depth.max(*known);
            if let Some(waits) = waits.get_mut(following) {
                *waits -= 1;
                if *waits == 0 {
                    free.push(*following);
                }
            }
        }
    }
    depths
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
