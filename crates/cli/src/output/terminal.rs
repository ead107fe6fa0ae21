//! The size of the terminal.

use std::io::{self, IsTerminal};

/// The default for a terminal that does not report its size.
const USUAL: Size = Size { columns: 80, rows: 24 };

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

/// The terminal that stdout goes to; nothing when it goes anywhere else.
pub(crate) fn of_stdout() -> Option<Size> {
    let stdout = io::stdout();
    stdout.is_terminal().then(|| size(reported(&stdout)))
}

/// The terminal that stderr goes to; nothing when it goes anywhere else.
pub(crate) fn of_stderr() -> Option<Size> {
    let stderr = io::stderr();
    stderr.is_terminal().then(|| size(reported(&stderr)))
}

/// What the terminal reports.
#[cfg(unix)]
fn reported(terminal: &impl std::os::fd::AsFd) -> Size {
    let size = rustix::termios::tcgetwinsize(terminal).ok();
    size.map_or(USUAL, |size| Size {
        columns: Some(size.ws_col.into()).filter(|columns| *columns > 0).unwrap_or(USUAL.columns),
        rows: Some(size.ws_row.into()).filter(|rows| *rows > 0).unwrap_or(USUAL.rows),
    })
}

/// A terminal of another system is not asked.
#[cfg(not(unix))]
fn reported<T>(_terminal: &T) -> Size {
    USUAL
}

/// COLUMNS and LINES, else `reported`.
fn size(reported: Size) -> Size {
    let given = |name| {
        let text = std::env::var(name).ok()?;
        text.parse().ok().filter(|size: &usize| *size > 0)
    };
    Size {
        columns: given("COLUMNS").unwrap_or(reported.columns),
        rows: given("LINES").unwrap_or(reported.rows),
    }
}
