//! `ff completions`: a script that completes commands and flags in a shell.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Verdict;
use crate::args::Cli;
use crate::error::Error;
use crate::session::Session;

const INSTALL: &str = "\
To install it, write it where the shell looks for completions:

  ff completions bash > ~/.local/share/bash-completion/completions/ff
  ff completions zsh  > ~/.zfunc/_ff          # with ~/.zfunc in fpath
  ff completions fish > ~/.config/fish/completions/ff.fish";

/// `ff completions`.
#[derive(Debug, Args)]
#[command(after_help = INSTALL)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "ff", &mut script);
        session.output.bytes(&script)?;
        Ok(Verdict::Good)
    }
}
