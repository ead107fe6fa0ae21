//! Why an execution is in its state, for people.

use ff_api::{ExplanationView, ReasonView, Timestamp};
use ff_core::{ResourceName, Time};

use super::style::Style;
use super::table::Sheet;
use super::{text, when};

/// The sentence, wrapped to `columns` if given, and under it one reason a line.
pub(crate) fn list(
    view: &ExplanationView,
    now: Time,
    style: Style,
    columns: Option<usize>,
) -> String {
    let mut sheet = Sheet::new();
    for reason in &view.reasons {
        let (word, details) = details(reason, now);
        sheet.row(word, details);
    }
    if let Some(run) = &view.schedule {
        let moment = when::full(run.scheduled_for, now);
        sheet.row("schedule", format!("{}, for {moment}", run.schedule));
    }
    let sentence = text::wrapped(&text::lines(&view.explanation, ""), columns);
    format!("{}\n\n{}", style.bold(&sentence), sheet.show(style))
}

/// The word for a reason, and its details.
fn details(reason: &ReasonView, now: Time) -> (&'static str, String) {
    match reason {
        ReasonView::LanePaused { lane, said, since } => {
            let said = said.as_deref().map(|said| format!(": {}", text::lines(said, "")));
            let since = when::full(*since, now);
            ("lane_paused", format!("lane {lane} since {since}{}", said.unwrap_or_default()))
        }
        ReasonView::NoWorkerOnLane { lane } => ("no_worker_on_lane", format!("lane {lane}")),
        ReasonView::NoCapableWorker { requires, nearest } => {
            let nearest = nearest.as_ref().map(|near| {
                let lacks = near.lacks.join(" ");
                format!("\nnearest is {} of worker {}: lacks {lacks}", near.instance, near.worker)
            });
            let requires = requires.join(" ");
            ("no_capable_worker", format!("requires {requires}{}", nearest.unwrap_or_default()))
        }
        ReasonView::InQueue { ahead, workers } => {
            let plural = if *workers == 1 { "" } else { "s" };
            ("in_queue", format!("{ahead} before it, {workers} able worker{plural}"))
        }
        ReasonView::NotBefore { until, intent } => {
            ("not_before", format!("{}, to {intent}", when::full(*until, now)))
        }
        ReasonView::Budget { name, detail, until } => ("budget", short(name, detail, *until, now)),
        ReasonView::Quota { name, detail, until } => ("quota", short(name, detail, *until, now)),
        ReasonView::LaneLimit { lane, active, max_active } => {
            let most = max_active.map_or_else(|| "any number".to_owned(), |most| most.to_string());
            ("lane_limit", format!("lane {lane} runs {active} of {most} at once"))
        }
        ReasonView::Suspended { waits_for, message, until, on_timeout } => {
            let asked = message.as_deref().map(|asked| format!(": {}", text::lines(asked, "")));
            let ends = until.map(|at| format!("\n{on_timeout} {}", when::full(at, now)));
            let (asked, ends) = (asked.unwrap_or_default(), ends.unwrap_or_default());
            ("suspended", format!("waits for {waits_for}{asked}{ends}"))
        }
        ReasonView::Awaiting { needs, upstreams } => {
            let upstreams = upstreams.iter().map(|one| format!("\n{} is {}", one.name, one.state));
            ("awaiting", format!("needs {needs} more{}", upstreams.collect::<String>()))
        }
        ReasonView::Reserved { worker, instance, until } => {
            let until = when::full(*until, now);
            ("reserved", format!("for {instance} of worker {worker} until {until}"))
        }
        ReasonView::Held { worker, instance, until, cancel_by } => {
            let cancel = cancel_by.map(|by| format!("\nto stop by {}", when::full(by, now)));
            let until = when::full(*until, now);
            let cancel = cancel.unwrap_or_default();
            ("held", format!("by {instance} of worker {worker} until {until}{cancel}"))
        }
        ReasonView::Finished { at } => ("finished", when::full(*at, now)),
    }
}

/// What a budget or a quota lacks.
fn short(name: &ResourceName, detail: &str, until: Option<Timestamp>, now: Time) -> String {
    let until = until.map(|at| format!("\nmay clear {}", when::full(at, now)));
    format!("{name}: {detail}{}", until.unwrap_or_default())
}
