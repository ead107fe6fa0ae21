//! Detects writes of another process, or of another store on the same file.

use std::time::{Duration, Instant};

use rusqlite::Connection;

/// How often the writer checks.
pub(crate) const EVERY: Duration = Duration::from_millis(250);

/// What was seen at the last check.
pub(crate) struct Watch {
    seen: Option<i64>,
    checked: Instant,
}

impl Watch {
    pub(crate) fn start(connection: &Connection) -> Watch {
        Watch { seen: data_version(connection), checked: Instant::now() }
    }

    /// Whether others have written since the last check. Checks once per [`EVERY`].
    pub(crate) fn sees_others(&mut self, connection: &Connection) -> bool {
        if self.checked.elapsed() < EVERY {
            return false;
        }
        self.checked = Instant::now();
        let version = data_version(connection);
        let before = std::mem::replace(&mut self.seen, version);
        version.is_none() || version != before
    }
}

/// A number that changes with the commits of every connection but this one. A failed read
/// counts as a change: waiting claims scan for themselves.
fn data_version(connection: &Connection) -> Option<i64> {
    let mut pragma = connection.prepare_cached("PRAGMA data_version").ok()?;
    pragma.query_row((), |row| row.get(0)).ok()
}
