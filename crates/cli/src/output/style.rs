//! Colour, for people on a terminal only.

use std::io::{self, IsTerminal};

/// Whether text is coloured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    coloured: bool,
}

impl Style {
    /// No colour.
    #[cfg(test)]
    pub(crate) const PLAIN: Style = Style { coloured: false };

    pub(crate) fn of_stdout() -> Style {
        Style { coloured: io::stdout().is_terminal() && wanted() }
    }

    pub(crate) fn of_stderr() -> Style {
        Style { coloured: stderr_is_coloured() }
    }

    /// Whether text is coloured.
    pub(crate) fn is_coloured(self) -> bool {
        self.coloured
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// A state or status, in the colour of what it means for a person.
    pub(crate) fn state(self, word: &str) -> String {
        let colour = match word.trim_end() {
            "completed" => "32",
            "failed" | "expired" | "timed_out" | "lease_lost" | "full" => "31",
            "active" | "open" | "running" => "36",
            "delayed" | "rate_limited" | "cancelled" | "cancelling" | "resumable" | "paused"
            | "draining" | "ending" | "paused, draining" | "warned" | "skipped" => "33",
            _ => "0",
        };
        self.paint(colour, word)
    }

    fn paint(self, colour: &str, text: &str) -> String {
        match self.coloured && colour != "0" {
            true => format!("\x1b[{colour}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }
}

/// Whether talk is coloured.
pub(crate) fn stderr_is_coloured() -> bool {
    io::stderr().is_terminal() && wanted()
}

/// See <https://no-color.org>.
fn wanted() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
