//! The log of events. There is one writer, so the order of numbers is that of commits.

use std::collections::HashMap;

use ff_core::event::Event;
use ff_core::feed::Trim;
use ff_core::machine::WriteSet;
use ff_core::{Namespace, Partition, Resource, ResourceKey, ResourceKind};
use ff_store::events::{LogPage, LogScan, PartLog, Place, Positions};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::error::Fault;
use crate::resource;
use ff_store::codec;

/// How many events one call removes.
const TRIMMED: usize = 1_000;

/// The one partition.
const ONLY: u16 = Partition::ONLY.number();

/// What a transaction knows of the logs it writes to: the number of the last event of each namespace
/// whose feed is on, and which are off.
#[derive(Debug, Default)]
pub(crate) struct Logs(HashMap<Namespace, Option<i64>>);

impl Logs {
    /// Logs what happened. A change of a feed holds for what comes after it.
    pub(crate) fn write(
        &mut self,
        connection: &Connection,
        write: &WriteSet,
        buffer: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        write.events.iter().try_for_each(|event| self.log(connection, event, buffer))?;
        if write.resources.iter().any(|change| change.key.kind == ResourceKind::Feed) {
            self.0.clear();
        }
        Ok(())
    }

    fn log(
        &mut self,
        connection: &Connection,
        event: &Event,
        buffer: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let last = match self.0.get(&event.namespace) {
            Some(known) => *known,
            None => {
                let is_on = is_on(connection, &event.namespace)?;
                let last = is_on.then(|| last(connection, event.namespace.as_str())).transpose()?;
                self.0.insert(event.namespace.clone(), last);
                last
            }
        };
        let Some(last) = last else { return Ok(()) };
        codec::encode(event, buffer)?;
        connection
            .prepare_cached(
                "INSERT INTO event (namespace, seq, at, event) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute((event.namespace.as_str(), last + 1, event.at.as_ms() as i64, &buffer[..]))?;
        self.0.insert(event.namespace.clone(), Some(last + 1));
        Ok(())
    }
}

fn is_on(connection: &Connection, namespace: &Namespace) -> Result<bool, Fault> {
    let key = ResourceKey::feed_in(Partition::ONLY, namespace);
    let feed = match resource::get(connection, &key) {
        // What cannot be read costs itself alone: nothing is logged.
        Err(fault) if fault.is_unreadable() => None,
        feed => feed?,
    };
    Ok(feed.as_ref().and_then(Resource::as_feed).is_some_and(|feed| feed.on))
}

fn removed(connection: &Connection, namespace: &str) -> Result<i64, Fault> {
    let mut select =
        connection.prepare_cached("SELECT seq FROM event_removed WHERE namespace = ?1")?;
    Ok(select.query_row([namespace], |row| row.get(0)).optional()?.unwrap_or(0))
}

/// The number of the last event, of those that were removed too.
fn last(connection: &Connection, namespace: &str) -> Result<i64, Fault> {
    let mut select =
        connection.prepare_cached("SELECT max(seq) FROM event WHERE namespace = ?1")?;
    let kept: Option<i64> = select.query_row([namespace], |row| row.get(0))?;
    Ok(kept.unwrap_or(0).max(removed(connection, namespace)?))
}

fn place(seq: i64) -> Place {
    Place { major: seq as u64, minor: 0 }
}

/// Events after a place, as of one moment.
pub(crate) fn read(connection: &Connection, scan: LogScan) -> Result<LogPage, Fault> {
    let moment = connection.unchecked_transaction()?;
    let namespace = scan.namespace.as_str();
    let after = i64::try_from(scan.after.of(ONLY).major).unwrap_or(i64::MAX);
    let removed = removed(&moment, namespace)?;
    let expired = after < removed || after > last(&moment, namespace)?;
    let behind = (after < removed).then(|| place(removed));
    let mut part = PartLog { partition: ONLY, expired, last: behind, ..PartLog::default() };
    let mut select = moment.prepare_cached(
        "SELECT seq, event FROM event WHERE namespace = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
    )?;
    let mut rows = select.query((namespace, after, scan.limit as i64))?;
    let mut found = 0;
    while let Some(row) = rows.next()? {
        let seq: i64 = row.get(0)?;
        match codec::decode::<Event>(row.get_ref(1)?.as_blob()?) {
            Ok(event) => part.events.push((place(seq), event)),
            Err(error) => tracing::error!(namespace, seq, %error, "an event cannot be read"),
        }
        part.last = Some(place(seq));
        found += 1;
    }
    part.more = found == scan.limit;
    drop(rows);
    drop(select);
    drop(moment);
    Ok(LogPage::of(scan.after, [part]))
}

/// The place of the last event.
pub(crate) fn heads(connection: &Connection, namespace: &str) -> Result<Positions, Fault> {
    let moment = connection.unchecked_transaction()?;
    let last = last(&moment, namespace)?;
    Ok([(ONLY, place(last))].into_iter().collect())
}

/// Removes the oldest events, and tells whether there is more to remove. Numbers have no gaps, so they
/// tell how many there are.
pub(crate) fn trim(connection: &Connection, namespace: &str, trim: Trim) -> Result<bool, Fault> {
    let writing = rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let most = i64::try_from(trim.most).unwrap_or(i64::MAX);
    let too_many = last(&writing, namespace)?.saturating_sub(most);
    let mut select = writing
        .prepare_cached("SELECT seq, at FROM event WHERE namespace = ?1 ORDER BY seq LIMIT ?2")?;
    let mut rows = select.query((namespace, TRIMMED as i64))?;
    let (mut upto, mut count) = (None, 0);
    while let Some(row) = rows.next()? {
        let (seq, at): (i64, i64) = (row.get(0)?, row.get(1)?);
        if at as u64 >= trim.before.as_ms() && seq > too_many {
            break;
        }
        (upto, count) = (Some(seq), count + 1);
    }
    drop(rows);
    drop(select);
    let Some(upto) = upto else { return Ok(false) };
    writing
        .prepare_cached("DELETE FROM event WHERE namespace = ?1 AND seq <= ?2")?
        .execute((namespace, upto))?;
    writing
        .prepare_cached("INSERT OR REPLACE INTO event_removed (namespace, seq) VALUES (?1, ?2)")?
        .execute((namespace, upto))?;
    writing.commit()?;
    Ok(count == TRIMMED)
}
