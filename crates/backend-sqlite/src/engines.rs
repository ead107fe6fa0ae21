//! The engine processes of one file: which of them are alive.
//!
//! Each has a row with the number of its heartbeats. A process that sees no other row leaves its own as it
//! is, so that a file with one process is not written to while nothing happens; one that sees others
//! counts its row up with every heartbeat. A row that was there before the process came counts as alive
//! only once it has changed: what a killed process has left keeps no timer from its successor. Both may
//! act for a heartbeat or two, and the record decides what is due.

use std::collections::BTreeMap;

use ff_core::{Millis, Time};
use ff_store::EngineId;
use ff_store::partition_set::ENGINE_TTL;
use rusqlite::Connection;

use crate::error::Fault;

/// How often each engine has sent a heartbeat.
pub(crate) type Beats = BTreeMap<EngineId, i64>;

/// All rows.
pub(crate) fn read(connection: &Connection) -> Result<Beats, Fault> {
    let mut select = connection.prepare_cached("SELECT id, beats FROM engine")?;
    let engine = |row: &rusqlite::Row<'_>| {
        let id: [u8; 16] = row.get(0)?;
        Ok::<_, Fault>((EngineId::new(u128::from_be_bytes(id)), row.get(1)?))
    };
    select.query_and_then((), engine)?.collect()
}

/// Writes the row of an engine, and removes those of dead ones.
pub(crate) fn write(
    connection: &Connection,
    engine: EngineId,
    beats: i64,
    dead: &[EngineId],
) -> Result<(), Fault> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO engine (id, beats) VALUES (?1, ?2)")?
        .execute((engine.to_bytes(), beats))?;
    dead.iter().try_for_each(|dead| remove(connection, *dead))
}

/// Removes the row of an engine.
pub(crate) fn remove(connection: &Connection, engine: EngineId) -> Result<(), Fault> {
    connection.prepare_cached("DELETE FROM engine WHERE id = ?1")?.execute([engine.to_bytes()])?;
    Ok(())
}

/// The engines that a store has seen.
#[derive(Debug, Default)]
pub(crate) struct Engines {
    seen: BTreeMap<EngineId, Seen>,
    /// Rows have been read before: one that was not among them is new.
    has_read: bool,
}

#[derive(Debug)]
struct Seen {
    beats: i64,
    changed_at: Time,
    is_alive: bool,
}

/// What follows from a reading.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Heartbeat {
    /// The engine itself, and the others that are alive.
    pub(crate) alive: Vec<EngineId>,
    /// Silent for too long.
    pub(crate) dead: Vec<EngineId>,
    /// How the row of the engine is to be written; `None` if it stays.
    pub(crate) beats: Option<i64>,
}

impl Engines {
    /// Judges the rows as `engine` finds them at `now`.
    pub(crate) fn judge(&mut self, engine: EngineId, rows: &Beats, now: Time) -> Heartbeat {
        let ttl = Millis::new(ENGINE_TTL.as_millis() as u64);
        self.seen.retain(|seen, _| rows.contains_key(seen));
        let (mut alive, mut dead) = (vec![engine], Vec::new());
        for (&other, &beats) in rows.iter().filter(|(other, _)| **other != engine) {
            let is_alive = self.has_read;
            let seen = self.seen.entry(other).or_insert(Seen { beats, changed_at: now, is_alive });
            if seen.beats != beats {
                *seen = Seen { beats, changed_at: now, is_alive: true };
            }
            match now.since(seen.changed_at) > ttl {
                true => dead.push(other),
                false if seen.is_alive => alive.push(other),
                false => {}
            }
        }
        self.has_read = true;
        let own = rows.get(&engine).copied();
        let is_alone = rows.keys().all(|other| *other == engine);
        let beats = match own {
            Some(_) if is_alone => None,
            own => Some(own.map_or(0, |beats| beats.wrapping_add(1))),
        };
        Heartbeat { alive, dead, beats }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: EngineId = EngineId::new(1);
    const OTHER: EngineId = EngineId::new(2);

    fn at(seconds: u64) -> Time {
        Time::from_ms(1_000_000 + seconds * 1_000)
    }

    fn rows(rows: &[(EngineId, i64)]) -> Beats {
        rows.iter().copied().collect()
    }

    #[test]
    fn one_that_is_alone_writes_its_row_once() {
        let mut engines = Engines::default();
        assert_eq!(engines.judge(ME, &rows(&[]), at(0)).beats, Some(0));
        for seconds in 1..60 {
            let judged = engines.judge(ME, &rows(&[(ME, 0)]), at(seconds));
            assert_eq!(judged, Heartbeat { alive: vec![ME], dead: vec![], beats: None });
        }
    }

    #[test]
    fn what_a_killed_one_has_left_delays_nothing_and_is_removed() {
        let mut engines = Engines::default();
        for seconds in [0, 2, 4, 6] {
            let judged = engines.judge(ME, &rows(&[(ME, 7), (OTHER, 3)]), at(seconds));
            assert_eq!((judged.alive, judged.dead), (vec![ME], vec![]), "after {seconds} s");
        }
        let judged = engines.judge(ME, &rows(&[(ME, 7), (OTHER, 3)]), at(8));
        assert_eq!((judged.alive, judged.dead), (vec![ME], vec![OTHER]));
    }

    #[test]
    fn one_that_was_there_is_alive_once_it_counts_and_until_it_is_silent() {
        let mut engines = Engines::default();
        let mut judge = |other, seconds| {
            let judged = engines.judge(ME, &rows(&[(ME, 0), (OTHER, other)]), at(seconds));
            assert_eq!(judged.beats, Some(1), "another one has to see it count");
            (judged.alive.len(), judged.dead.len())
        };
        assert_eq!(judge(3, 0), (1, 0));
        assert_eq!(judge(4, 2), (2, 0));
        assert_eq!(judge(4, 8), (2, 0));
        assert_eq!(judge(4, 9), (1, 1));
        assert_eq!(judge(5, 10), (2, 0), "it was only frozen");
    }

    #[test]
    fn one_that_comes_later_is_alive_at_once() {
        let mut engines = Engines::default();
        engines.judge(ME, &rows(&[(ME, 0)]), at(0));
        let judged = engines.judge(ME, &rows(&[(ME, 0), (OTHER, 0)]), at(2));
        assert_eq!(judged.alive, [ME, OTHER]);
    }
}
