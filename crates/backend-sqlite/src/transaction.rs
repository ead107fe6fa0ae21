//! The open transaction of the writer, as the serial driver sees it.

use ff_core::continuation::Armed;
use ff_core::machine::{LaneClass, Loaded, ReadSet, WriteSet};
use ff_core::{ExecutionId, Millis, RequestId, Time};
use ff_store::StoreError;
use ff_store::serial::Transaction;
use rusqlite::Connection;

use crate::clock::{Reading, StoreClock};
use crate::commit;
use crate::error::Fault;
use crate::event::Logs;
use crate::nominate::{nominate, readable};
use crate::{continuation, element, query, resource, stream};

/// A write transaction. Dropping it unfinished rolls it back.
pub(crate) struct Open<'a> {
    connection: &'a Connection,
    time: Reading,
    wrote: bool,
    broken: bool,
    finished: bool,
    logs: Logs,
    buffer: Vec<u8>,
}

impl<'a> Open<'a> {
    /// Takes the write lock of the file, waiting for it as long as the
    /// connection is set to.
    pub(crate) fn begin(connection: &'a Connection, clock: &StoreClock) -> Result<Self, Fault> {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute(())?;
        let mut open = Open {
            connection,
            time: Reading::default(),
            wrote: false,
            broken: false,
            finished: false,
            logs: Logs::default(),
            buffer: Vec::with_capacity(512),
        };
        open.time = clock.read(connection)?;
        Ok(open)
    }

    /// Whether something failed that may have left a command half done.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken || self.connection.is_autocommit()
    }

    /// Makes it durable. Answers whether it wrote anything.
    pub(crate) fn finish(mut self) -> Result<bool, Fault> {
        if self.wrote {
            self.time.keep(self.connection)?;
        }
        self.connection.prepare_cached("COMMIT")?.execute(())?;
        self.finished = true;
        Ok(self.wrote)
    }

    fn load_all(&self, reads: &ReadSet, loaded: &mut Loaded) -> Result<(), Fault> {
        for id in &reads.records {
            let record = query::record(self.connection, *id);
            let record = if reads.tolerant { readable(*id, record)? } else { record? };
            loaded.records.insert(*id, record);
        }
        for (namespace, key) in &reads.keys {
            let id = query::named(self.connection, namespace.as_str(), key.as_str())?;
            loaded.keys.insert((namespace.clone(), key.clone()), id);
        }
        if let Some(wanted) = &reads.nominate {
            nominate(self.connection, wanted, loaded)?;
        }
        if let Some(request) = reads.claimed_by {
            let ids = self.held_by(request)?;
            for id in &ids {
                let record = query::record(self.connection, *id);
                loaded.records.insert(*id, readable(*id, record)?);
            }
            loaded.claimed_by = Some(ids);
        }
        if let Some(class) = &reads.class {
            loaded.other_classes = Some(self.other_classes(class)?);
        }
        for key in &reads.blobs {
            loaded.blobs.insert(*key, query::blob(self.connection, *key)?);
        }
        for key in &reads.elements {
            loaded.elements.insert(key.clone(), element::named(self.connection, key)?);
        }
        for range in &reads.ranges {
            loaded.ranges.insert(range.clone(), element::range(self.connection, range)?);
        }
        for id in &reads.streams {
            loaded.streams.insert(*id, stream::kept(self.connection, *id)?);
        }
        for read in &reads.continuations {
            loaded.continuations.insert(*read, continuation::due(self.connection, read)?);
        }
        for owner in &reads.tallies {
            loaded.tallies.insert(*owner, continuation::tally(self.connection, *owner)?);
        }
        for key in &reads.resources {
            let found = match resource::get(self.connection, key) {
                Err(fault) if reads.tolerant && fault.is_unreadable() => {
                    tracing::error!(error = %StoreError::from(fault), "a resource is set aside");
                    loaded.unreadable.insert(key.clone());
                    None
                }
                found => found?,
            };
            loaded.resources.insert(key.clone(), found);
        }
        if let Some((namespace, lane)) = &reads.lane {
            let (key, state) = resource::lane(self.connection, namespace, lane)?;
            loaded.resources.insert(key.clone(), state);
            loaded.lane = Some(key);
        }
        Ok(())
    }

    fn held_by(&self, request: RequestId) -> Result<Vec<ExecutionId>, Fault> {
        let mut select =
            self.connection.prepare_cached("SELECT id FROM request WHERE request = ?1")?;
        select.query_and_then([request.as_bytes()], |row| query::id(row, 0))?.collect()
    }

    fn other_classes(&self, class: &LaneClass) -> Result<usize, Fault> {
        let mut count = self.connection.prepare_cached(
            "SELECT count(*) FROM class WHERE namespace = ?1 AND lane = ?2 AND class <> ?3",
        )?;
        let texts = (class.namespace.as_str(), class.lane.as_str(), class.class.as_str());
        Ok(count.query_row(texts, |row| row.get::<_, i64>(0))? as usize)
    }
}

impl Transaction for Open<'_> {
    fn now(&self) -> Time {
        self.time.mark.now
    }

    fn unconfirmed(&self) -> Millis {
        self.time.mark.unconfirmed()
    }

    fn load(&mut self, reads: &ReadSet, loaded: &mut Loaded) -> Result<(), StoreError> {
        // All reads come before the first write of a command, so an unreadable row fails
        // that command and leaves the transaction intact.
        self.load_all(reads, loaded).map_err(|fault| {
            self.broken |= !fault.is_unreadable();
            fault.into()
        })
    }

    fn commit(&mut self, write: WriteSet) -> Result<Vec<Armed>, StoreError> {
        self.wrote = true;
        let logged = self.logs.write(self.connection, &write, &mut self.buffer);
        let written =
            logged.and_then(|()| commit::write(self.connection, &write, &mut self.buffer));
        written.map_err(|fault| {
            self.broken = true;
            fault.into()
        })
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.finished && !self.connection.is_autocommit() {
            let undone = self.connection.execute_batch("ROLLBACK");
            if let Err(error) = undone {
                tracing::error!(%error, "a transaction could not be rolled back");
            }
        }
    }
}
