//! Writing what a command decided: the record, what is stored beside it, and its index entries.

use ff_core::continuation::Armed;
use ff_core::machine::{Change, WriteSet};
use ff_core::placement::{Entry, QueueEntry};
use ff_core::record::Version;
use ff_core::{Execution, ExecutionId, Time};
use ff_store::codec;
use rusqlite::{Connection, Params};

use crate::continuation;
use crate::element;
use crate::error::Fault;
use crate::query::{class_number, part_number};
use crate::resource;
use crate::stream;

/// Writes in the open transaction of `connection`, and answers the continuations that latches have
/// added. `buffer` is scratch space.
pub(crate) fn write(
    connection: &Connection,
    write: &WriteSet,
    buffer: &mut Vec<u8>,
) -> Result<Vec<Armed>, Fault> {
    let mut writing = Writing { connection, buffer };
    write.changes.iter().try_for_each(|change| writing.change(change))?;
    for append in &write.appends {
        for element in &append.elements {
            element::write(connection, append.owner, append.collection, element, buffer)?;
        }
        if let Some(trim) = append.trim {
            stream::trim(connection, append.owner, trim)?;
        }
    }
    write.resources.iter().try_for_each(|change| resource::write(connection, change, buffer))?;
    write.continuations.iter().try_for_each(|change| continuation::write(connection, change))?;
    let added = write.tallies.iter().map(|change| continuation::count(connection, change));
    added.filter_map(Result::transpose).collect()
}

struct Writing<'a> {
    connection: &'a Connection,
    buffer: &'a mut Vec<u8>,
}

impl Writing<'_> {
    fn change(&mut self, change: &Change) -> Result<(), Fault> {
        let id = change.id;
        match (change.before, &change.after) {
            (None, Some(record)) => self.insert(record)?,
            (Some(before), Some(record)) => self.update(before, record)?,
            (Some(before), None) => self.delete(before, id)?,
            (None, None) => {}
        }
        for entry in &change.entries.remove {
            self.remove(entry, id, change.after.is_none())?;
        }
        let finished = change.after.as_ref().is_some_and(|record| record.outcome().is_some());
        for entry in &change.entries.add {
            self.add(entry, id, finished)?;
        }
        self.move_timer(change, finished)?;
        if let Some((part, bytes)) = &change.blob {
            self.run(
                "INSERT OR REPLACE INTO blob (id, part, bytes) VALUES (?1, ?2, ?3)",
                (id.as_bytes(), part_number(*part), &bytes[..]),
            )?;
        }
        for (collection, element) in &change.elements {
            element::write(self.connection, id, *collection, element, self.buffer)?;
        }
        Ok(())
    }

    fn insert(&mut self, record: &Execution) -> Result<(), Fault> {
        codec::encode(record, self.buffer)?;
        self.run(
            "INSERT INTO execution (id, version, record) VALUES (?1, ?2, ?3)",
            (record.id.as_bytes(), number(record.version), &self.buffer[..]),
        )?;
        Ok(())
    }

    fn update(&mut self, before: Version, record: &Execution) -> Result<(), Fault> {
        codec::encode(record, self.buffer)?;
        let changed = self.run(
            "UPDATE execution SET version = ?3, record = ?4 WHERE id = ?1 AND version = ?2",
            (record.id.as_bytes(), number(before), number(record.version), &self.buffer[..]),
        )?;
        decided_on(record.id, changed)
    }

    fn delete(&mut self, before: Version, id: ExecutionId) -> Result<(), Fault> {
        let deleted = self.run(
            "DELETE FROM execution WHERE id = ?1 AND version = ?2",
            (id.as_bytes(), number(before)),
        )?;
        decided_on(id, deleted)?;
        self.run("DELETE FROM blob WHERE id = ?1", [id.as_bytes()])?;
        element::delete(self.connection, id)?;
        continuation::delete_tally(self.connection, id)
    }

    fn add(&mut self, entry: &Entry, id: ExecutionId, finished: bool) -> Result<(), Fault> {
        let id = id.as_bytes();
        match entry {
            Entry::Queue(place) => return self.join_queue(place, id),
            Entry::Timer(due) => return self.arm(*due, id, finished),
            Entry::Request(request) => self.run(
                "INSERT INTO request (request, id) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                (request.as_bytes(), id),
            )?,
            Entry::List(namespace, created) => self.run(
                "INSERT INTO list (namespace, created, id) VALUES (?1, ?2, ?3) \
                 ON CONFLICT DO NOTHING",
                (namespace.as_str(), created.as_ms() as i64, id),
            )?,
            Entry::Attention(namespace, attention, created) => self.run(
                "INSERT INTO attention (namespace, attention, created, id) \
                 VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
                (namespace.as_str(), attention.as_str(), created.as_ms() as i64, id),
            )?,
            Entry::Blocked(namespace, on, class, score) => {
                let (kind, name, class) =
                    (on.kind.as_str(), on.name.as_str(), class_number(*class));
                self.run(
                    "INSERT INTO blocked (namespace, kind, name, class, score, id) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
                    (namespace.as_str(), kind, name, class, score.get(), id),
                )?
            }
            Entry::Key(namespace, key) => self.run(
                "INSERT OR REPLACE INTO idempotency_key (namespace, key, id) VALUES (?1, ?2, ?3)",
                (namespace.as_str(), key.as_str(), id),
            )?,
        };
        Ok(())
    }

    fn remove(&mut self, entry: &Entry, id: ExecutionId, gone: bool) -> Result<(), Fault> {
        let id = id.as_bytes();
        match entry {
            Entry::Queue(place) => return self.leave_queue(place, id),
            Entry::Timer(due) => return self.disarm(*due, id, gone),
            Entry::Request(request) => self.run(
                "DELETE FROM request WHERE request = ?1 AND id = ?2",
                (request.as_bytes(), id),
            )?,
            Entry::List(namespace, created) => self.run(
                "DELETE FROM list WHERE namespace = ?1 AND created = ?2 AND id = ?3",
                (namespace.as_str(), created.as_ms() as i64, id),
            )?,
            Entry::Attention(namespace, attention, created) => self.run(
                "DELETE FROM attention \
                 WHERE namespace = ?1 AND attention = ?2 AND created = ?3 AND id = ?4",
                (namespace.as_str(), attention.as_str(), created.as_ms() as i64, id),
            )?,
            Entry::Blocked(namespace, on, class, score) => {
                let (kind, name, class) =
                    (on.kind.as_str(), on.name.as_str(), class_number(*class));
                self.run(
                    "DELETE FROM blocked WHERE namespace = ?1 AND kind = ?2 AND name = ?3 \
                     AND class = ?4 AND score = ?5 AND id = ?6",
                    (namespace.as_str(), kind, name, class, score.get(), id),
                )?
            }
            Entry::Key(namespace, key) => self.run(
                "DELETE FROM idempotency_key WHERE namespace = ?1 AND key = ?2 AND id = ?3",
                (namespace.as_str(), key.as_str(), id),
            )?,
        };
        Ok(())
    }

    fn arm(&mut self, due: Time, id: &[u8; 16], finished: bool) -> Result<(), Fault> {
        let insert = match finished {
            false => "INSERT INTO timer (due, id) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            true => "INSERT INTO retirement (due, id) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        };
        self.run(insert, (due.as_ms() as i64, id))?;
        Ok(())
    }

    /// Removes a timer from where it is. What is removed as a whole was finished; what is not may have
    /// been.
    fn disarm(&mut self, due: Time, id: &[u8; 16], gone: bool) -> Result<(), Fault> {
        const TIMER: &str = "DELETE FROM timer WHERE due = ?1 AND id = ?2";
        const RETIREMENT: &str = "DELETE FROM retirement WHERE due = ?1 AND id = ?2";
        let (first, second) = if gone { (RETIREMENT, TIMER) } else { (TIMER, RETIREMENT) };
        let row = (due.as_ms() as i64, id);
        if self.run(first, row)? == 0 {
            self.run(second, row)?;
        }
        Ok(())
    }

    /// Moves a timer that stays as it is to the other table, when the execution ends or is replayed.
    fn move_timer(&mut self, change: &Change, finished: bool) -> Result<(), Fault> {
        let entries = change.entries.add.iter().chain(&change.entries.remove);
        let stays = !entries.into_iter().any(|entry| matches!(entry, Entry::Timer(_)));
        let Some(record) = &change.after else { return Ok(()) };
        let may_have_moved = finished || record.run.number > 0;
        if let Some(due) = record.placed.timer
            && stays
            && may_have_moved
        {
            self.disarm(due, record.id.as_bytes(), !finished)?;
            self.arm(due, record.id.as_bytes(), finished)?;
        }
        Ok(())
    }

    fn join_queue(&mut self, place: &QueueEntry, id: &[u8; 16]) -> Result<(), Fault> {
        let (namespace, lane, class) = texts(place);
        self.run(
            "INSERT INTO queue (namespace, lane, class, score, id) VALUES (?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT DO NOTHING",
            (namespace, lane, class, place.score.get(), id),
        )?;
        if !class.is_empty() {
            self.run(
                "INSERT INTO class (namespace, lane, class) VALUES (?1, ?2, ?3) \
                 ON CONFLICT DO NOTHING",
                (namespace, lane, class),
            )?;
        }
        Ok(())
    }

    fn leave_queue(&mut self, place: &QueueEntry, id: &[u8; 16]) -> Result<(), Fault> {
        let (namespace, lane, class) = texts(place);
        self.run(
            "DELETE FROM queue \
             WHERE namespace = ?1 AND lane = ?2 AND class = ?3 AND score = ?4 AND id = ?5",
            (namespace, lane, class, place.score.get(), id),
        )?;
        if !class.is_empty() {
            self.run(
                "DELETE FROM class WHERE namespace = ?1 AND lane = ?2 AND class = ?3 \
                 AND NOT EXISTS (SELECT 1 FROM queue \
                 WHERE namespace = ?1 AND lane = ?2 AND class = ?3)",
                (namespace, lane, class),
            )?;
        }
        Ok(())
    }

    fn run(&self, sql: &str, parameters: impl Params) -> Result<usize, Fault> {
        Ok(self.connection.prepare_cached(sql)?.execute(parameters)?)
    }
}

fn texts(place: &QueueEntry) -> (&str, &str, &str) {
    (place.namespace.as_str(), place.lane.as_str(), place.class.as_str())
}

/// A version as SQLite keeps it: the same 64 bits.
fn number(version: Version) -> i64 {
    version.get() as i64
}

/// The writer is alone, so a record that has another version than its own bytes say was not
/// written by us.
fn decided_on(id: ExecutionId, changed: usize) -> Result<(), Fault> {
    match changed {
        1 => Ok(()),
        _ => Err(Fault::Unreadable(format!("execution {id}: its row has another version"))),
    }
}
