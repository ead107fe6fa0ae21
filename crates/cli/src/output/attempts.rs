//! Attempts, for people.

use ff_api::{AttemptView, AttemptsView};
use ff_core::Time;

use super::style::Style;
use super::table::Table;
use super::{text, when};

const MESSAGE_WIDTH: usize = 80;

/// One attempt a line.
pub(crate) fn table(view: &AttemptsView, now: Time, style: Style) -> String {
    if view.attempts.is_empty() {
        return String::new();
    }
    let heading = ["ATTEMPT", "RUN", "STATUS", "WORKER", "STARTED", "TOOK", "MESSAGE"];
    let mut table = Table::new(heading, 2);
    for attempt in &view.attempts {
        table.row([
            attempt.attempt.to_string(),
            attempt.run.to_string(),
            attempt.status.to_string(),
            attempt.worker.to_string(),
            when::relative(attempt.started, now),
            took(attempt),
            message(attempt),
        ]);
    }
    table.show(style)
}

fn took(attempt: &AttemptView) -> String {
    let Some(ended) = attempt.ended else { return "-".to_owned() };
    ended.0.since(attempt.started.0).rounded().to_string()
}

fn message(attempt: &AttemptView) -> String {
    let failure = attempt.failure.as_ref().map(|failure| failure.message.as_str());
    let progress = attempt.progress.as_ref().and_then(|progress| progress.message.as_deref());
    text::one_line(failure.or(progress).unwrap_or_default(), MESSAGE_WIDTH)
}
