//! The page of every command.

use clap::{Command, CommandFactory};

use super::heading;
use crate::args::Cli;

pub(crate) fn page() -> String {
    let mut root = Cli::command();
    root.build();
    let mut page = heading("The command line", "cli");
    page.push_str(&help(&mut root, "ff"));
    below(&root, "ff", &mut page);
    page
}

/// What is said of the commands below `command`, which is called by `title`.
fn below(command: &Command, title: &str, page: &mut String) {
    for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        let title = format!("{title} {}", command.get_name());
        page.push_str(&format!("\n## {title}\n\n"));
        page.push_str(&help(&mut command.clone(), &title));
        below(command, &title, page);
    }
}

fn help(command: &mut Command, title: &str) -> String {
    let rendered = command.clone().bin_name(title).render_help().to_string();
    let lines: Vec<_> = rendered.lines().map(str::trim_end).collect();
    format!("```text\n{}\n```\n", lines.join("\n").trim_end())
}
