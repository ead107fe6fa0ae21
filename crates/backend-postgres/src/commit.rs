//! Writing what commands have decided: one statement for each table and kind of change, whatever their
//! number.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use ff_core::collection::{Collection, Content, Element, ElementName};
use ff_core::continuation::{Armed, Continuation, ContinuationChange, TallyChange};
use ff_core::event::Event;
use ff_core::machine::{Change, WriteSet};
use ff_core::placement::{Entry, EntryDiff};
use ff_core::record::Version;
use ff_core::stream::Trim;
use ff_core::{Execution, ExecutionId, Namespace, Resource, ResourceKey, Time};
use tokio_postgres::types::ToSql;

use crate::columns::{Rows, Statements, encoded};
use crate::connection::Session;
use crate::error::Fault;
use crate::query::{part_number, uuid};
use crate::{continuation, event, load, stream};

/// What commands have written and a flush has still to write. Several changes of one thing are one.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// The version that is stored, and the new record.
    records: BTreeMap<ExecutionId, (Option<Version>, Option<Execution>)>,
    /// Executions that were removed, with all that is next to them, even if they are there again.
    removed: BTreeSet<ExecutionId>,
    /// Whether an entry is to be there.
    entries: BTreeMap<(ExecutionId, Entry), bool>,
    blobs: BTreeMap<(ExecutionId, i64), Bytes>,
    elements: BTreeMap<(ExecutionId, Collection, u64), Element>,
    resources: BTreeMap<ResourceKey, (Option<Version>, Option<Resource>)>,
    continuations: BTreeMap<Continuation, Later>,
    tallies: Vec<TallyChange>,
    /// Those of executions that were removed afterwards.
    last_tallies: Vec<TallyChange>,
    /// What happened, and whether its feed is on, where that is known.
    events: Vec<(Event, Option<bool>)>,
    /// What is removed of streams, once their frames are there.
    trims: BTreeMap<ExecutionId, Trim>,
}

/// What becomes of a continuation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Later {
    /// It is due then.
    Due(Time),
    /// It goes, and it is stored.
    Gone,
    /// It goes, and it may not be stored.
    Never,
}

impl Pending {
    /// Whether there is nothing to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
            && self.elements.is_empty()
            && self.resources.is_empty()
            && self.continuations.is_empty()
            && self.tallies.is_empty()
            && self.trims.is_empty()
    }

    /// Adds what a command has decided. It was decided on what is locked, so its conditions hold.
    /// `is_on` is what is known of the feed of a namespace.
    pub(crate) fn add(&mut self, write: WriteSet, is_on: impl Fn(&Namespace) -> Option<bool>) {
        let WriteSet {
            changes,
            appends,
            continuations,
            tallies,
            resources,
            seen: _,
            guards: _,
            settlements: _,
            events,
        } = write;
        let known = |event: Event| {
            let is_on = is_on(&event.namespace);
            (is_on != Some(false)).then_some((event, is_on))
        };
        self.events.extend(events.into_iter().filter_map(known));
        for change in changes {
            self.change(change);
        }
        for append in appends {
            let numbered = append.elements.into_iter();
            let keyed = numbered.map(|one| ((append.owner, append.collection, one.number), one));
            self.elements.extend(keyed);
            self.trims.extend(append.trim.map(|trim| (append.owner, trim)));
        }
        for change in resources {
            let known = self.resources.entry(change.key).or_insert((change.before, None));
            known.1 = change.after;
        }
        for change in continuations {
            match change {
                ContinuationChange::Add(armed) => self.arm(armed),
                ContinuationChange::Remove(read) => {
                    let is_new = matches!(self.continuations.get(&read), Some(Later::Due(_)));
                    let gone = if is_new { Later::Never } else { Later::Gone };
                    self.continuations.insert(read, gone);
                }
            }
        }
        self.tallies.extend(tallies);
    }

    fn change(&mut self, change: Change) {
        let id = change.id;
        if change.after.is_none() {
            self.removed.insert(id);
            self.blobs.retain(|(owner, _), _| *owner != id);
            self.elements.retain(|(owner, ..), _| *owner != id);
            let of_removed = self.tallies.extract_if(.., |change| change.owner == id);
            self.last_tallies.extend(of_removed);
        }
        let known = self.records.entry(id).or_insert((change.before, None));
        known.1 = change.after;
        let EntryDiff { remove, add } = change.entries;
        self.entries.extend(remove.into_iter().map(|entry| ((id, entry), false)));
        self.entries.extend(add.into_iter().map(|entry| ((id, entry), true)));
        if let Some((part, bytes)) = change.blob {
            self.blobs.insert((id, part_number(part)), bytes);
        }
        for (collection, element) in change.elements {
            self.elements.insert((id, collection, element.number), element);
        }
    }

    fn arm(&mut self, armed: Armed) {
        self.continuations.insert(armed.continuation, Later::Due(armed.due));
    }

    /// Writes everything in the open transaction, and answers the continuations that latches have added.
    /// `last` is what is sent with it, in the same round trip.
    pub(crate) async fn flush(
        mut self,
        session: &Session<'_>,
        last: &[(&'static str, Vec<&(dyn ToSql + Sync)>)],
    ) -> Result<Vec<Armed>, Fault> {
        let mut armed = self.count_last(session).await?;
        let tallies = std::mem::take(&mut self.tallies);
        let trims: Vec<_> = std::mem::take(&mut self.trims).into_iter().collect();
        // Both read what is written.
        if !tallies.is_empty() || !trims.is_empty() {
            let rows = self.rows(session.schema())?;
            send(session, rows.statements(), &[]).await?;
            let mut later = Pending::default();
            if !trims.is_empty() {
                stream::trim(session, &trims).await?;
            }
            if !tallies.is_empty() {
                let by_latches = continuation::count(session, &tallies, &BTreeSet::new()).await?;
                by_latches.iter().for_each(|armed| later.arm(*armed));
                armed.extend(by_latches);
            }
            self = later;
        }
        let rows = self.rows(session.schema())?;
        send(session, rows.statements(), last).await?;
        Ok(armed)
    }

    /// Counts for executions that are still there and will be removed.
    async fn count_last(&mut self, session: &Session<'_>) -> Result<Vec<Armed>, Fault> {
        let tallies = std::mem::take(&mut self.last_tallies);
        if tallies.is_empty() {
            return Ok(Vec::new());
        }
        let is_new = |(id, change): (&ExecutionId, &(Option<Version>, _))| match change.0 {
            None => Some(*id),
            Some(_) => None,
        };
        let unwritten = self.records.iter().filter_map(is_new).collect();
        let armed = continuation::count(session, &tallies, &unwritten).await?;
        armed.iter().for_each(|armed| self.arm(*armed));
        Ok(armed)
    }

    /// The rows of each table.
    fn rows(&self, schema: &str) -> Result<Rows<'_>, Fault> {
        let mut rows = Rows::default();
        rows.removed.extend(self.removed.iter().map(|id| uuid(*id)));
        for (id, change) in &self.records {
            rows.record(*id, change)?;
        }
        for ((id, entry), is_added) in &self.entries {
            let side = if *is_added { &mut rows.added } else { &mut rows.dropped };
            side.entry(uuid(*id), entry);
        }
        for ((id, part), bytes) in &self.blobs {
            rows.blobs.0.push(uuid(*id));
            rows.blobs.1.push(*part);
            rows.blobs.2.push(bytes);
        }
        for ((owner, collection, number), element) in &self.elements {
            rows.elements.owner.push(uuid(*owner));
            rows.elements.collection.push(collection.number().into());
            rows.elements.number.push(*number as i64);
            rows.elements.name.push(element.name.as_ref().map(ElementName::as_bytes));
            rows.elements.bytes.push(match &element.content {
                Content::Attempt(attempt) => encoded(&**attempt)?,
                Content::Bytes(bytes) => bytes.to_vec(),
            });
        }
        for (key, change) in &self.resources {
            rows.resource(key, change)?;
            rows.locks.extend(load::held_still(schema, key));
        }
        let mut feeds = BTreeSet::new();
        for (event, is_on) in &self.events {
            rows.events.add(event, *is_on)?;
            if is_on.is_none() {
                feeds.extend(load::held_still(schema, &event::feed(&event.namespace)));
            }
        }
        rows.feeds.extend(feeds);
        for (continuation, later) in &self.continuations {
            let what = continuation.to_bytes().to_vec();
            match later {
                Later::Due(due) => {
                    rows.later.0.push(what);
                    rows.later.1.push(due.as_ms() as i64);
                }
                Later::Gone => {
                    rows.done.push(what);
                    rows.done_count += 1;
                }
                Later::Never => rows.done.push(what),
            }
        }
        Ok(rows)
    }
}

/// Prepares the statements and sends them all at once.
async fn send<'a>(
    session: &Session<'_>,
    mut statements: Statements<'a>,
    last: &[(&'static str, Vec<&'a (dyn ToSql + Sync)>)],
) -> Result<(), Fault> {
    statements.extend(last.iter().map(|(sql, parameters)| (*sql, parameters.clone())));
    let texts: Vec<_> = statements.iter().map(|(sql, _)| *sql).collect();
    session.prepare(&texts).await?;
    session.all(&statements).await?;
    Ok(())
}
