//! One execution, for people.

use ff_api::{ExecutionView, LeaseView, PayloadShapeView, PolicyView, RunView, SuspensionView};
use ff_core::policy::Growth;
use ff_core::suspension::OnTimeout;
use ff_core::{Millis, Time};

use super::style::Style;
use super::table::Sheet;
use super::{amount, text, when};

/// All that is known about an execution, one fact a line; what does not apply is left out. `journal` has
/// the names in its journal.
pub(crate) fn sheet(
    view: &ExecutionView,
    journal: Option<String>,
    now: Time,
    style: Style,
) -> String {
    let at = |timestamp| when::full(timestamp, now);
    let mut sheet = Sheet::new();
    sheet.row("id", style.bold(&view.id.to_string()));
    sheet.row("state", style.state(view.state.as_str()));
    sheet.maybe("reason", view.reason.as_deref().map(|reason| text::lines(reason, "")));
    sheet.row("namespace", view.namespace.as_str());
    sheet.row("lane", view.lane.as_str());
    sheet.row("kind", view.kind.as_str());
    sheet.row("priority", view.priority.to_string());
    sheet.maybe("tags", tags(view));
    sheet.maybe("requires", joined(&view.requires));
    limits(&mut sheet, view);
    sheet.maybe("key", view.idempotency_key.as_ref().map(|key| key.to_string()));
    sheet.row("input", payload(&view.input));
    sheet.maybe("result", view.result.as_ref().map(payload));
    sheet.maybe("category", view.failure.as_ref().map(|failure| failure.category.to_string()));
    sheet.row("created", at(view.created));
    sheet.maybe("delayed", view.delayed_until.map(|until| format!("until {}", at(until))));
    if let Some(suspension) = &view.suspension {
        suspended(&mut sheet, suspension, now);
    }
    sheet.maybe("deadline", view.deadline.map(at));
    sheet.maybe("ended", view.ended.map(at));
    sheet.maybe("expires", view.expires.map(at));
    sheet.maybe("run", (view.run > 0).then(|| view.run.to_string()));
    for past in &view.past_runs {
        sheet.row("", past_run(past, now));
    }
    sheet.row("attempt", attempt(view));
    sheet.maybe("progress", progress(view));
    sheet.maybe("journal", journal);
    if let Some(lease) = &view.lease {
        holder(&mut sheet, lease, now);
    }
    sheet.maybe("cancel", view.cancel.as_ref().map(|cancel| format!("by {}", at(cancel.by))));
    for (row, act) in view.acts.iter().enumerate() {
        let name = if row == 0 { "acts" } else { "" };
        sheet.row(name, format!("{} by {}, {}", act.what, act.by, when::relative(act.at, now)));
    }
    sheet.row("policy", policy(&view.policy));
    sheet.show(style)
}

/// What it is parked for, what it asks, and what happens when nothing comes.
fn suspended(sheet: &mut Sheet, suspension: &SuspensionView, now: Time) {
    let at = |timestamp| when::full(timestamp, now);
    sheet.row("suspended", format!("for {}, since {}", suspension.reason, at(suspension.since)));
    sheet.maybe("asks", suspension.message.as_deref().map(|message| text::lines(message, "")));
    let then = match suspension.on_timeout {
        OnTimeout::Resume => "continues",
        OnTimeout::Fail => "fails",
        OnTimeout::Cancel => "is cancelled",
        OnTimeout::Expire => "expires",
    };
    sheet.maybe("", suspension.until.map(|until| format!("until {}; then it {then}", at(until))));
}

fn tags(view: &ExecutionView) -> Option<String> {
    let tags: Vec<_> = view.tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
    joined(&tags)
}

fn joined(words: &[String]) -> Option<String> {
    (!words.is_empty()).then(|| words.join(" "))
}

/// Its budgets and quotas, and what it has used.
fn limits(sheet: &mut Sheet, view: &ExecutionView) {
    let limits = &view.limits;
    for (name, limits) in [("budgets", &limits.budgets), ("quotas", &limits.quotas)] {
        let limits: Vec<_> = limits.iter().map(ToString::to_string).collect();
        sheet.maybe(name, joined(&limits));
    }
    for (name, amounts) in [("estimate", &limits.estimate), ("used", &view.used)] {
        sheet.maybe(name, (!amounts.is_empty()).then(|| amount::list(amounts)));
    }
}

fn payload(shape: &PayloadShapeView) -> String {
    match shape.length {
        0 => "none".to_owned(),
        1 => format!("1 byte, {}", shape.content_type),
        length => format!("{length} bytes, {}", shape.content_type),
    }
}

fn past_run(past: &RunView, now: Time) -> String {
    let reason = past.reason.as_deref().map(|reason| format!(": {}", text::one_line(reason, 60)));
    let ended = when::relative(past.ended, now);
    format!("run {} {} {ended}{}", past.run, past.state, reason.unwrap_or_default())
}

fn attempt(view: &ExecutionView) -> String {
    let Some(attempt) = view.attempt else { return "none yet".to_owned() };
    let mut text = format!("{attempt} ({} in all", view.attempts);
    for (count, what) in [(view.failures, "failed"), (view.reclaims, "lost")] {
        if count > 0 {
            text.push_str(&format!(", {count} {what} in this run"));
        }
    }
    text.push(')');
    text
}

fn progress(view: &ExecutionView) -> Option<String> {
    let progress = view.progress.as_ref()?;
    let percent = progress.percent.map(|percent| format!("{percent}%"));
    let message = progress.message.as_deref().map(|message| text::lines(message, ""));
    let parts: Vec<_> = percent.into_iter().chain(message).collect();
    joined(&parts)
}

fn holder(sheet: &mut Sheet, lease: &LeaseView, now: Time) {
    sheet.row("holder", format!("worker {}, instance {}", lease.worker, lease.worker_instance));
    sheet.row("lease", format!("{}, epoch {}", lease.id, lease.epoch));
    sheet.row("", format!("until {} unless renewed", when::full(lease.until, now)));
    let timeout = lease.timeout.map(|at| format!("attempt times out {}", when::full(at, now)));
    sheet.maybe("", timeout);
}

fn policy(policy: &PolicyView) -> String {
    let span = |ms| Millis::new(ms).to_string();
    let backoff = &policy.backoff;
    let wait = match backoff.growth {
        Growth::Fixed => format!("{} apart", span(backoff.base_ms.min(backoff.cap_ms))),
        Growth::Exponential => {
            format!("{} apart, doubling up to {}", span(backoff.base_ms), span(backoff.cap_ms))
        }
    };
    let jitter = match backoff.jitter_percent {
        0 => String::new(),
        percent => format!(", {percent}% random"),
    };
    let mut lines = vec![match policy.max_attempts {
        1 => "1 attempt".to_owned(),
        most => format!("up to {most} attempts, {wait}{jitter}"),
    }];
    if let Some(categories) = &policy.retry_on {
        let names: Vec<_> = categories.iter().map(|category| category.as_str()).collect();
        lines.push(format!("retried on {}", names.join(", ")));
    }
    let lease = span(policy.lease_ttl_ms);
    lines.push(format!("lease {lease}, may be lost {} times", policy.max_reclaims));
    for (name, ms) in
        [("attempt timeout", policy.attempt_timeout_ms), ("deadline", policy.deadline_ms)]
    {
        lines.extend(ms.map(|ms| format!("{name} {}", span(ms))));
    }
    lines.push(format!("kept {} after its end", span(policy.retention_ms)));
    lines.join("\n")
}
