//! Events, for people.

use ff_api::EventView;

use super::style::Style;
use super::text;

const WORD: usize = 13;

/// One event in a line. Ids are whole, so that they can be copied.
pub(crate) fn line(view: &EventView, style: Style) -> String {
    let word = format!("{:WORD$}", view.event.as_str());
    let word = match view.event.as_str() {
        "completed" => style.bold(&word),
        "failed" | "expired" => style.red(&word),
        _ => word,
    };
    let mut line = format!(
        "{}  {word}  {}  {} {}",
        style.dim(&view.at.to_string()),
        view.execution,
        view.lane,
        view.kind,
    );
    if let Some(attempt) = view.attempt {
        line += &format!("  attempt {attempt}");
    }
    if let Some(at) = view.not_before {
        line += &format!("  not before {at}");
    }
    if let Some(reason) = view.reason {
        line += &format!("  {reason}");
    }
    if let Some(by) = &view.by {
        line += &format!("  by {}", text::one_line(by.as_str(), 60));
    }
    let tags: Vec<_> = view.tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if !tags.is_empty() {
        line += &format!("  {}", text::one_line(&tags.join(" "), 60));
    }
    line + "\n"
}
