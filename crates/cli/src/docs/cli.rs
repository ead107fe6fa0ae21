//! The page of every command.

use clap::{Command, CommandFactory};

use super::heading;
use crate::args::Cli;

pub(crate) fn page() -> String {
    let mut root = Cli::command();
    root.build();
    let mut page = heading("The command line", "cli");
    page.push_str(&help(&mut root, "ff"));
    let commands = root.get_subcommands().filter(|command| !command.is_hide_set());
    for command in commands.cloned().collect::<Vec<_>>() {
        let title = format!("ff {}", command.get_name());
        page.push_str(&format!("\n## {title}\n\n"));
        page.push_str(&help(&mut command.clone(), &title));
    }
    page
}

fn help(command: &mut Command, title: &str) -> String {
    let rendered = command.clone().bin_name(title).render_help().to_string();
    let lines: Vec<_> = rendered.lines().map(str::trim_end).collect();
    format!("```text\n{}\n```\n", lines.join("\n").trim_end())
}
