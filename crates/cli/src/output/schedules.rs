//! Schedules, for people.

use ff_api::http::ScheduleRequest;
use ff_api::{SchedulePageView, ScheduleView, ScheduledRunView};
use ff_core::{Millis, Time};

use super::amount::grouped;
use super::budgets::changed_by;
use super::style::Style;
use super::table::{Sheet, Table};
use super::{text, when};

/// One schedule a line.
pub(crate) fn table(view: &SchedulePageView, now: Time, style: Style) -> String {
    if view.schedules.is_empty() {
        return String::new();
    }
    let mut table =
        Table::new(["SCHEDULE", "STATE", "NEXT", "RUNS", "LAST", "WHEN"], 1).numbers(&[3]);
    for schedule in &view.schedules {
        let next = schedule.next.first().filter(|_| schedule.paused.is_none());
        table.row([
            schedule.schedule.to_string(),
            state(schedule).to_owned(),
            next.map_or_else(|| "-".to_owned(), |at| when::ahead(*at, now)),
            grouped(schedule.made),
            schedule.runs.last().map_or_else(|| "-".to_owned(), |run| run.effect.to_string()),
            cadence(&schedule.spec),
        ]);
    }
    table.show(style)
}

fn state(view: &ScheduleView) -> &'static str {
    match (&view.paused, view.next.is_empty()) {
        (Some(_), _) => "paused",
        (None, true) => "over",
        (None, false) => "on",
    }
}

/// Which moments it has.
fn cadence(spec: &ScheduleRequest) -> String {
    match (&spec.cron, spec.every_ms, spec.at) {
        (Some(cron), ..) => format!("{cron} {}", spec.zone.as_deref().unwrap_or("UTC")),
        (None, Some(every), _) => format!("every {}", Millis::new(every)),
        (None, None, Some(at)) => format!("at {at}"),
        (None, None, None) => "-".to_owned(),
    }
}

/// One schedule, what became of its latest moments, and its next ones.
pub(crate) fn sheet(view: &ScheduleView, now: Time, style: Style) -> String {
    let (spec, mut sheet) = (&view.spec, Sheet::new());
    sheet.row("schedule", style.bold(view.schedule.as_str()));
    sheet.row("when", cadence(spec));
    sheet.maybe("start", spec.start.map(|at| when::full(at, now)));
    sheet.maybe("end", spec.end.map(|at| when::full(at, now)));
    sheet.maybe("overlap", spec.overlap.map(|overlap| overlap.to_string()));
    sheet.maybe("catch up", spec.catch_up.map(|most| most.to_string()));
    let jitter = spec.jitter_ms.filter(|jitter| *jitter > 0);
    sheet.maybe("jitter", jitter.map(|jitter| Millis::new(jitter).to_string()));
    sheet.maybe("lane", spec.work.lane.as_ref().map(ToString::to_string));
    sheet.maybe("kind", spec.work.kind.as_ref().map(ToString::to_string));
    let paused = view.paused.as_ref().map(|paused| {
        let reason = paused.reason.as_deref().map(|why| format!(": {}", text::one_line(why, 120)));
        format!("since {}{}", when::full(paused.since, now), reason.unwrap_or_default())
    });
    sheet.maybe("paused", paused);
    sheet.row("runs", grouped(view.made));
    for (name, count) in
        [("skipped", view.skipped), ("missed", view.missed), ("refused", view.refused)]
    {
        sheet.maybe(name, (count > 0).then(|| grouped(count)));
    }
    let waiting = (!view.waiting.is_empty()).then(|| grouped(view.waiting.len() as u64));
    sheet.maybe("waiting", waiting);
    sheet.maybe(
        "backfill",
        view.backfill.as_ref().map(|backfill| {
            let (made, pace) = (grouped(backfill.made), Millis::new(backfill.pace_ms));
            format!("{made} runs so far, one every {pace}, until {}", backfill.until)
        }),
    );
    sheet.maybe("changed", view.changed.as_ref().map(|changed| changed_by(changed, now)));
    sheet.row("next", view.next.first().map_or("never".to_owned(), |at| when::full(*at, now)));
    let mut shown = sheet.show(style);
    if !view.runs.is_empty() {
        let mut table = Table::plain(["FOR", "EFFECT", "EXECUTION"]);
        for run in view.runs.iter().rev() {
            table.row([run.scheduled_for.to_string(), effect(run), execution(run)]);
        }
        shown += &format!("\n{}", table.show(style));
    }
    shown
}

fn effect(run: &ScheduledRunView) -> String {
    match &run.code {
        Some(code) => format!("{} ({code})", run.effect),
        None => run.effect.to_string(),
    }
}

fn execution(run: &ScheduledRunView) -> String {
    run.execution.map_or_else(|| "-".to_owned(), |id| id.to_string())
}
