//! Detects writes of another process, or of another store on the same file.

use std::time::{Duration, Instant};

use ff_store::steady::Mark;
use rusqlite::Connection;

use crate::clock;
use crate::engines::{self, Beats};

/// How often the writer checks.
pub(crate) const EVERY: Duration = Duration::from_millis(250);

/// What was seen at the last check.
pub(crate) struct Watch {
    checked: Instant,
    version: Option<i64>,
    details: Option<(Beats, Mark)>,
}

/// What others have done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Others {
    /// They may have run commands.
    pub(crate) wrote: bool,
    /// An engine has come or gone.
    pub(crate) engines: bool,
}

impl Watch {
    pub(crate) fn start(connection: &Connection) -> Watch {
        let (version, details) = (data_version(connection), details(connection));
        Watch { checked: Instant::now(), version, details }
    }

    /// What others have done since the last check. Checks once per [`EVERY`]. What cannot be read counts
    /// as a write: waiting claims scan for themselves.
    pub(crate) fn check(&mut self, connection: &Connection) -> Others {
        if self.checked.elapsed() < EVERY {
            return Others::default();
        }
        self.checked = Instant::now();
        let version = data_version(connection);
        let before = std::mem::replace(&mut self.version, version);
        if version.is_some() && version == before {
            return Others::default();
        }
        let details = details(connection);
        let before = std::mem::replace(&mut self.details, details);
        let (Some((beats, time)), Some((beats_before, time_before))) = (&self.details, before)
        else {
            return Others { wrote: true, engines: false };
        };
        // A command moves the time of the last write; a heartbeat does not, and wakes nobody.
        let only_heartbeats = *beats != beats_before && *time == time_before;
        Others { wrote: !only_heartbeats, engines: !beats.keys().eq(beats_before.keys()) }
    }
}

/// A number that changes with the commits of every connection but this one.
fn data_version(connection: &Connection) -> Option<i64> {
    let mut pragma = connection.prepare_cached("PRAGMA data_version").ok()?;
    pragma.query_row((), |row| row.get(0)).ok()
}

/// The engines, and the time of the last write.
fn details(connection: &Connection) -> Option<(Beats, Mark)> {
    Some((engines::read(connection).ok()?, clock::kept(connection).ok()?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ff_core::Time;
    use ff_store::EngineId;

    use super::*;
    use crate::connection;
    use crate::options::Options;

    /// What a check finds, without waiting for its turn.
    fn check(watch: &mut Watch, connection: &Connection) -> Others {
        watch.checked -= EVERY;
        watch.check(connection)
    }

    #[test]
    fn commands_engines_that_come_and_heartbeats_are_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let options = Options::file(directory.path().join("ff.db"));
        let (own, _) = connection::writer(&options).unwrap();
        let (other, _) = connection::writer(&options).unwrap();
        let mut watch = Watch::start(&own);
        assert_eq!(check(&mut watch, &own), Others::default());
        let engine = EngineId::new(1);
        engines::write(&other, engine, 0, &[]).unwrap();
        assert_eq!(check(&mut watch, &own), Others { wrote: false, engines: true });
        engines::write(&other, engine, 1, &[]).unwrap();
        assert_eq!(check(&mut watch, &own), Others::default());
        let at = |ms| Mark { now: Time::from_ms(ms), ..clock::kept(&own).unwrap() };
        clock::keep(&other, &at(7)).unwrap();
        assert_eq!(check(&mut watch, &own), Others { wrote: true, engines: false });
        engines::write(&other, engine, 2, &[]).unwrap();
        clock::keep(&other, &at(8)).unwrap();
        assert_eq!(check(&mut watch, &own), Others { wrote: true, engines: false });
        engines::remove(&other, engine).unwrap();
        assert_eq!(check(&mut watch, &own), Others { wrote: false, engines: true });
    }
}
