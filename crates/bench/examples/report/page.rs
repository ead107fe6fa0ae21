//! The page of results. The text outside its two marks is written by hand.

use std::fs;
use std::path::Path;

use crate::Result;
use crate::cases::Store;
use crate::figures::Row;

const BEGIN: &str = "<!-- measured: `cargo xtask bench` writes from here -->\n";
const END: &str = "<!-- measured: to here -->\n";

/// The part between the marks.
pub(crate) fn measured(machine: &str, rows: &[Row], runs: usize) -> String {
    let mut text = format!("{machine}\n");
    text += &match runs {
        1 => "Each figure is from one short run: a rough check, not a measurement.\n".to_owned(),
        _ => format!("Each figure is the median of {runs} runs [lowest to highest].\n"),
    };
    for store in [Store::Sqlite, Store::Valkey, Store::ValkeyAof] {
        text += &format!("\n## {}\n\n", store.name());
        text += "| `ff bench` | figure | goal | reached |\n|---|---|---|---|\n";
        let mut before = "";
        for row in rows.iter().filter(|row| row.case.store == store) {
            let words = if row.case.words == before { "" } else { row.case.words };
            before = row.case.words;
            let words = if words.is_empty() { String::new() } else { format!("`{words}`") };
            let [figure, goal, reached] = row.cells();
            text += &format!("| {words} | {figure} | {goal} | {reached} |\n");
        }
    }
    text
}

/// Puts `measured` between the marks of the page.
pub(crate) fn write(page: &Path, measured: &str) -> Result {
    let context = |error: std::io::Error| format!("{}: {error}", page.display());
    let text = fs::read_to_string(page).map_err(context)?;
    let marks = text
        .split_once(BEGIN)
        .and_then(|(head, rest)| rest.split_once(END).map(|(_, tail)| (head, tail)));
    let (head, tail) =
        marks.ok_or_else(|| format!("{} lacks the marks {BEGIN}{END}", page.display()))?;
    fs::write(page, format!("{head}{BEGIN}\n{measured}\n{END}{tail}")).map_err(context)
}
