//! Reference pages in Markdown. The same program prints the same bytes.

pub(crate) mod access;
pub(crate) mod cli;
pub(crate) mod errors;
pub(crate) mod keys;
pub(crate) mod limits;
pub(crate) mod metrics;
pub(crate) mod states;
pub(crate) mod typescript;

/// The first lines of a page.
fn heading(title: &str, topic: &str) -> String {
    format!(
        "# {title}\n\n<!-- Printed by `ff docs {topic}`; refresh with `cargo xtask codegen`. -->\n\n"
    )
}

/// A table.
fn table<const N: usize>(
    heading: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = line(&heading.map(str::to_owned));
    text.push_str(&line(&heading.map(|_| "---".to_owned())));
    for row in rows {
        text.push_str(&line(&row));
    }
    text
}

/// `word` as code.
fn code(word: impl std::fmt::Display) -> String {
    format!("`{word}`")
}
