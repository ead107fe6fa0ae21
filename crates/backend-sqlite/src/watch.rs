//! Sees that another process, or another store on the same file, has written.

use std::time::{Duration, Instant};

use rusqlite::Connection;

/// How often the writer looks.
pub(crate) const EVERY: Duration = Duration::from_millis(250);

/// What was seen at the last look.
pub(crate) struct Watch {
    seen: Option<i64>,
    looked: Instant,
}

impl Watch {
    pub(crate) fn start(connection: &Connection) -> Watch {
        Watch { seen: data_version(connection), looked: Instant::now() }
    }

    /// Whether others have written since the last look. Looks once in [`EVERY`].
    pub(crate) fn sees_others(&mut self, connection: &Connection) -> bool {
        if self.looked.elapsed() < EVERY {
            return false;
        }
        self.looked = Instant::now();
        let version = data_version(connection);
        let before = std::mem::replace(&mut self.seen, version);
        version.is_none() || version != before
    }
}

/// A number that changes with the commits of every connection but this one. Not being able to read
/// it is as good as a change: waiters look for themselves.
fn data_version(connection: &Connection) -> Option<i64> {
    let mut pragma = connection.prepare_cached("PRAGMA data_version").ok()?;
    pragma.query_row((), |row| row.get(0)).ok()
}
