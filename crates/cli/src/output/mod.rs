//! Everything that is printed. stdout is data, stderr is messages; nothing here panics when a stream
//! is closed.

pub(crate) mod amount;
pub(crate) mod attempts;
pub(crate) mod budgets;
pub(crate) mod events;
pub(crate) mod execution;
pub(crate) mod explanation;
pub(crate) mod flow;
pub(crate) mod graph;
pub(crate) mod keys;
pub(crate) mod lanes;
pub(crate) mod listing;
pub(crate) mod quotas;
pub(crate) mod schedules;
pub(crate) mod steps;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod terminal;
pub(crate) mod text;
pub(crate) mod tokens;
pub(crate) mod waitpoints;
pub(crate) mod webhooks;
pub(crate) mod when;
pub(crate) mod workers;

use std::fmt::Display;
use std::io::{self, Write};

use ff_api::ErrorView;
use serde::Serialize;

use crate::error::Error;
use style::Style;

/// Where a command prints.
#[derive(Debug)]
pub(crate) struct Output {
    json: bool,
    style: Style,
}

impl Output {
    pub(crate) fn new(json: bool) -> Output {
        Output { json, style: Style::of_stdout() }
    }

    /// Whether the output is JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// How data for people is coloured.
    pub(crate) fn style(&self) -> Style {
        self.style
    }

    /// Prints the answer: `view` as JSON, or what `human` makes of it.
    pub(crate) fn answer<T: Serialize>(
        &self,
        view: &T,
        human: impl FnOnce(&T) -> String,
    ) -> Result<(), Error> {
        if !self.json {
            return self.bytes(human(view).as_bytes());
        }
        let mut line = serde_json::to_vec(view).map_err(|error| Error::Output(error.into()))?;
        line.push(b'\n');
        self.bytes(&line)
    }

    /// Prints bytes as they are.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<(), Error> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(Error::Output)
    }

    /// Prints a message for people; nothing with `--json`.
    pub(crate) fn talk(&self, line: impl Display) {
        if !self.json {
            talk(line);
        }
    }

    /// Names the next useful command.
    pub(crate) fn hint(&self, line: impl Display) {
        self.talk(Style::of_stderr().dim(&line.to_string()));
    }

    /// Prints an error.
    pub(crate) fn error(&self, view: &ErrorView) {
        let json = self.json.then(|| serde_json::to_string(view).ok()).flatten();
        match json {
            Some(json) => talk(json),
            None => {
                let word = Style::of_stderr().red("error:");
                talk(format_args!("{word} {} ({})", text::lines(&view.message, ""), view.code));
            }
        }
    }
}

/// One line on stderr. It is lost if stderr is closed.
pub(crate) fn talk(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
