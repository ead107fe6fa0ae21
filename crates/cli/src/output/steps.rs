//! The journal of an execution, for people.

use ff_api::{StepView, StepsView};
use ff_core::Time;
use ff_core::journal::EntryKind;

use super::style::Style;
use super::table::Table;
use super::{text, when};

const RESULT_WIDTH: usize = 60;

/// Names of the journal that `ff show` prints; `ff steps` prints all.
const NAMES: usize = 8;

/// One entry a line.
pub(crate) fn table(view: &StepsView, now: Time, style: Style) -> String {
    if view.steps.is_empty() {
        return String::new();
    }
    let heading = ["NUMBER", "STEP", "KIND", "VISIBLE", "RUN", "ATTEMPT", "WRITTEN", "RESULT"];
    let mut table = Table::new(heading, 2);
    for step in &view.steps {
        table.row([
            step.number.to_string(),
            step.step.to_string(),
            step.kind.to_string(),
            if step.visible { "yes" } else { "no" }.to_owned(),
            step.run.to_string(),
            step.attempt.to_string(),
            when::relative(step.at, now),
            result(step),
        ]);
    }
    table.show(style)
}

fn result(step: &StepView) -> String {
    match (step.kind, &step.result, &step.result_base64) {
        (EntryKind::Step, Some(json), _) => text::one_line(json.get(), RESULT_WIDTH),
        (EntryKind::Step, None, None) => "null".to_owned(),
        (EntryKind::Step, None, Some(base64)) => {
            let padding = base64.bytes().rev().take_while(|byte| *byte == b'=').count();
            let media = step.content_type.as_deref().unwrap_or_default();
            format!("{} bytes, {media}", base64.len() / 4 * 3 - padding)
        }
        (EntryKind::Wait, ..) if step.timed_out == Some(true) => "timed out".to_owned(),
        (EntryKind::Wait, ..) => match step.signals.as_deref().unwrap_or_default() {
            [one] => format!("signal {one}"),
            all => {
                let numbers: Vec<_> = all.iter().map(ToString::to_string).collect();
                text::one_line(&format!("signals {}", numbers.join(" ")), RESULT_WIDTH)
            }
        },
        (EntryKind::Sleep, ..) => String::new(),
    }
}

/// The first names of a journal in one line; `None` if it is empty. `more` says that there are others.
pub(crate) fn names<'a>(steps: impl Iterator<Item = &'a str>, more: bool) -> Option<String> {
    let all: Vec<_> = steps.collect();
    let first: Vec<_> = all.iter().take(NAMES).map(|name| text::one_line(name, 40)).collect();
    let rest = match more || all.len() > NAMES {
        true => ", ...",
        false => "",
    };
    (!all.is_empty()).then(|| format!("{}{rest}", first.join(", ")))
}
