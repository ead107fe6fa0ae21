//! Webhooks, for people.

use ff_api::{WebhookView, WebhooksView};
use ff_core::Time;

use super::amount::grouped;
use super::budgets::changed_by;
use super::style::Style;
use super::table::{Sheet, Table};
use super::{text, when};

/// One webhook a line.
pub(crate) fn table(view: &WebhooksView, now: Time, style: Style) -> String {
    if view.webhooks.is_empty() {
        return String::new();
    }
    let mut table =
        Table::new(["WEBHOOK", "STATE", "DELIVERED", "DEAD", "LAST", "URL"], 1).numbers(&[2, 3]);
    for webhook in &view.webhooks {
        table.row([
            webhook.webhook.to_string(),
            state(webhook).to_owned(),
            grouped(webhook.delivered),
            grouped(webhook.dead),
            webhook.last_delivered.map_or_else(|| "-".to_owned(), |at| when::age(at, now)),
            webhook.url.clone(),
        ]);
    }
    table.show(style)
}

fn state(view: &WebhookView) -> &'static str {
    match view.failing {
        Some(_) => "failing",
        None => "ok",
    }
}

/// One webhook, and what was given up.
pub(crate) fn sheet(view: &WebhookView, now: Time, style: Style) -> String {
    let mut sheet = Sheet::new();
    sheet.row("webhook", style.bold(view.webhook.as_str()));
    sheet.row("url", view.url.clone());
    let events: Vec<_> = view.events.iter().map(|event| event.as_str()).collect();
    sheet.row("events", if events.is_empty() { "all".to_owned() } else { events.join(", ") });
    sheet.maybe("lane", view.lane.as_ref().map(ToString::to_string));
    sheet.maybe("kind", view.kind.as_ref().map(ToString::to_string));
    sheet.row("delivered", grouped(view.delivered));
    sheet.maybe("last", view.last_delivered.map(|at| when::full(at, now)));
    sheet.row("dead", grouped(view.dead));
    let gaps = format!("{}, events were removed before they were sent", grouped(view.gaps));
    sheet.maybe("gaps", (view.gaps > 0).then_some(gaps));
    sheet.maybe(
        "failing",
        view.failing.as_ref().map(|failing| {
            let (since, reason) =
                (when::full(failing.since, now), text::one_line(&failing.reason, 120));
            format!("since {since}, {} tries: {reason}", failing.tries)
        }),
    );
    sheet.maybe("changed", view.changed.as_ref().map(|changed| changed_by(changed, now)));
    let mut shown = sheet.show(style);
    if !view.dead_letters.is_empty() {
        let mut table = Table::plain(["AT", "EVENT", "ID", "TRIES", "REASON"]).numbers(&[3]);
        for letter in &view.dead_letters {
            table.row([
                letter.at.to_string(),
                letter.event.to_string(),
                letter.id.clone(),
                letter.tries.to_string(),
                text::one_line(&letter.reason, 80),
            ]);
        }
        shown += &format!("\n{}", table.show(style));
    }
    shown
}
