//! The page of every command.

use clap::{Command, CommandFactory};

use super::heading;
use crate::args::Cli;

/// How long the lines of the page are, whatever the terminal.
const WIDTH: usize = 100;

pub(crate) fn page() -> String {
    let mut root = Cli::command();
    root.build();
    let mut page = heading("The command line", "cli");
    page.push_str(&help(&mut root, "ff"));
    below(&root, "ff", &mut page);
    page
}

/// The help of the commands below `command`, which is called by `title`.
fn below(command: &Command, title: &str, page: &mut String) {
    let is_shown = |command: &&Command| !command.is_hide_set() && command.get_name() != "help";
    for command in command.get_subcommands().filter(is_shown) {
        let title = format!("{title} {}", command.get_name());
        page.push_str(&format!("\n## {title}\n\n"));
        page.push_str(&help(&mut command.clone(), &title));
        below(command, &title, page);
    }
}

fn help(command: &mut Command, title: &str) -> String {
    let rendered = command.clone().bin_name(title).term_width(WIDTH).render_help().to_string();
    let lines: Vec<_> = rendered.lines().map(str::trim_end).collect();
    format!("```text\n{}\n```\n", lines.join("\n").trim_end())
}
