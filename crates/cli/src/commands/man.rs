//! `ff man`: manual pages, generated from the same definition as the help.

use clap::{Args, Command, CommandFactory};

use super::Verdict;
use crate::args::Cli;
use crate::error::Error;
use crate::session::Session;

const READ: &str = "\
To read a page, give it to man; to install the first one, write it to a man directory:

  ff man lane limit | man -l -
  ff man > ~/.local/share/man/man1/ff.1";

/// `ff man`.
#[derive(Debug, Args)]
#[command(after_help = READ)]
pub(crate) struct Man {
    /// The command, as in `lane limit`; ff itself when absent.
    command: Vec<String>,
}

impl Man {
    pub(crate) fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let mut root = Cli::command();
        root.build();
        let page = clap_mangen::Man::new(self.find(&root)?.clone());
        let mut text = Vec::new();
        page.render(&mut text).map_err(Error::Output)?;
        session.output.bytes(&text)?;
        Ok(Verdict::Good)
    }

    fn find<'a>(&self, root: &'a Command) -> Result<&'a Command, Error> {
        self.command.iter().try_fold(root, |command, name| {
            command.find_subcommand(name).ok_or_else(|| {
                let known = command.get_display_name().unwrap_or("ff").replace('-', " ");
                let message =
                    format!("{known} has no command {name}; `ff help` lists the commands");
                Error::usage("COMMAND", message)
            })
        })
    }
}
