//! Reading what commands must see, in the open transaction: one statement for each table, all sent at
//! once. What may be changed is locked; what must stay as it is, such as the settings of a lane, or the
//! absence of a name, has a lock of its own, which lasts as long as the transaction.

use std::collections::BTreeSet;

use ff_core::collection::RangeRead;
use ff_core::payload::{BlobKey, BlobPart};
use ff_core::stream::Kept;
use ff_core::{Execution, ExecutionId, Resource, ResourceKey, ResourceKind};
use ff_store::codec;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;
use xxhash_rust::xxh3::Xxh3;

use crate::clock::{NOW, StoreClock};
use crate::connection::Session;
use crate::error::Fault;
use crate::view::{Stored, View};
use crate::wants::{HeadKey, Wants};
use crate::{continuation, element, nominate, query, resource, stream};

/// What is read, and how the rows become part of the view.
type Reading = fn(&mut View, &Wants, &[Row]) -> Result<(), Fault>;

/// Begins a transaction: its time, and what `wants` asks for.
pub(crate) async fn begin(
    session: &Session<'_>,
    clock: &StoreClock,
    wants: Wants,
) -> Result<View, Fault> {
    first(session, clock, wants, &["BEGIN", NOW]).await
}

/// The same in a transaction that is open.
pub(crate) async fn join(
    session: &Session<'_>,
    clock: &StoreClock,
    wants: Wants,
) -> Result<View, Fault> {
    first(session, clock, wants, &[NOW]).await
}

async fn first(
    session: &Session<'_>,
    clock: &StoreClock,
    wants: Wants,
    statements: &[&'static str],
) -> Result<View, Fault> {
    let mut view = View::default();
    let now = load_with(session, &mut view, wants, statements).await?;
    view.now = clock.of(&now)?;
    Ok(view)
}

/// Adds what `wants` asks for to the view.
pub(crate) async fn load(
    session: &Session<'_>,
    view: &mut View,
    wants: Wants,
) -> Result<(), Fault> {
    load_with(session, view, wants, &[]).await.map(drop)
}

/// The same, after the statements `first`; answers the rows of the last of these.
async fn load_with(
    session: &Session<'_>,
    view: &mut View,
    wants: Wants,
    first: &[&'static str],
) -> Result<Vec<Row>, Fault> {
    let asked = Asked::of(&wants, session.schema());
    // Before the transaction has begun no classes are read: claims of workers with capabilities miss them.
    let is_later = |key: &HeadKey| !first.is_empty() && !key.capabilities.is_empty();
    let mut heads = Vec::new();
    for (key, wanted) in wants.heads.iter().filter(|(key, _)| !is_later(key)) {
        heads.push(nominate::Reading::new(session, key, wanted.candidates()).await?);
    }
    let (mut statements, mut readings) = (Vec::new(), Vec::new());
    statements.extend(first.iter().map(|sql| (*sql, Vec::new())));
    for (is_any, sql, parameters, reading) in asked.statements() {
        if is_any {
            statements.push((sql, parameters));
            readings.push(reading);
        }
    }
    statements.extend(heads.iter().flat_map(nominate::Reading::statements));
    let texts: Vec<_> = statements.iter().map(|(sql, _)| *sql).collect();
    session.prepare(&texts).await?;
    let mut answers = session.all(&statements).await?;
    drop(statements);
    let mut rest = answers.split_off(first.len()).into_iter();
    for reading in readings {
        reading(view, &wants, &rest.next().unwrap_or_default())?;
    }
    for head in heads {
        let (queued, rows) = (rest.next().unwrap_or_default(), rest.next().unwrap_or_default());
        head.add(session, view, &queued, rows).await?;
    }
    Ok(answers.pop().unwrap_or_default())
}

/// The parameters of the statements.
#[derive(Default)]
struct Asked<'a> {
    shared: Vec<i64>,
    exclusive: Vec<i64>,
    resources: [Vec<&'a str>; 3],
    lanes: [Vec<&'a str>; 3],
    keys: [Vec<&'a str>; 2],
    records: Vec<Uuid>,
    requests: Vec<Uuid>,
    classes: [Vec<&'a str>; 2],
    blobs: (Vec<Uuid>, Vec<i64>),
    elements: element::Names<'a>,
    ranges: element::Ranges,
    streams: Vec<Uuid>,
    continuations: Vec<Vec<u8>>,
    tallies: Vec<Uuid>,
}

impl<'a> Asked<'a> {
    fn of(wants: &'a Wants, schema: &str) -> Asked<'a> {
        let lock = |parts: &[&str]| advisory(schema, parts);
        let mut asked = Asked::default();
        let (mut shared, mut exclusive) = (BTreeSet::new(), BTreeSet::new());
        for key in &wants.resources {
            push(&mut asked.resources, resource::texts(key));
            exclusive.extend(held_still(schema, key));
        }
        for key in &wants.lanes {
            push(&mut asked.lanes, resource::texts(key));
            shared.extend(held_still(schema, key));
        }
        for (namespace, key) in &wants.keys {
            push(&mut asked.keys, [namespace.as_str(), key.as_str()]);
            exclusive.insert(lock(&["key", namespace.as_str(), key.as_str()]));
        }
        for (namespace, lane) in &wants.classes {
            push(&mut asked.classes, [namespace.as_str(), lane.as_str()]);
        }
        asked.shared = shared.difference(&exclusive).copied().collect();
        asked.exclusive = exclusive.into_iter().collect();
        asked.records = wants.records.iter().map(|id| query::uuid(*id)).collect();
        let request = |request: &ff_core::RequestId| Uuid::from_bytes(*request.as_bytes());
        asked.requests = wants.requests.iter().map(request).collect();
        let blobs = wants.blobs.iter();
        asked.blobs =
            blobs.map(|key| (query::uuid(key.execution), query::part_number(key.part))).unzip();
        asked.elements = element::Names::of(&wants.elements);
        asked.ranges = element::Ranges::of(&wants.ranges);
        asked.continuations =
            wants.continuations.iter().map(|one| one.to_bytes().to_vec()).collect();
        asked.streams = wants.streams.iter().map(|id| query::uuid(*id)).collect();
        asked.tallies = wants.tallies.iter().map(|id| query::uuid(*id)).collect();
        asked
    }

    /// Every statement: whether it is needed, its text, its parameters and what becomes of its rows. Locks
    /// come first, and then in one order for all transactions.
    fn statements(&self) -> Vec<(bool, &'static str, Vec<&(dyn ToSql + Sync)>, Reading)> {
        let ignore: Reading = |_, _, _| Ok(());
        let [kind, namespace, name] = &self.resources;
        let [lane_kind, lane_namespace, lane_name] = &self.lanes;
        let [key_namespace, key] = &self.keys;
        let [class_namespace, class_lane] = &self.classes;
        vec![
            (!self.exclusive.is_empty(), LOCK, vec![&self.exclusive], ignore),
            (!self.shared.is_empty(), LOCK_SHARED, vec![&self.shared], ignore),
            (!name.is_empty(), RESOURCES, vec![kind, namespace, name], resources),
            (!lane_name.is_empty(), LANES, vec![lane_kind, lane_namespace, lane_name], lanes),
            (!key.is_empty(), KEYS, vec![key_namespace, key], keys),
            (!self.records.is_empty(), RECORDS, vec![&self.records], records),
            (!self.requests.is_empty(), REQUESTS, vec![&self.requests], requests),
            (!class_lane.is_empty(), nominate::CLASSES, vec![class_namespace, class_lane], classes),
            (!self.blobs.0.is_empty(), BLOBS, vec![&self.blobs.0, &self.blobs.1], blobs),
            (
                !self.elements.is_empty(),
                element::NAMED,
                self.elements.parameters(),
                |view, wants, rows| element::named(view, &wants.elements, rows),
            ),
            (
                !self.ranges.is_empty(),
                element::RANGES,
                self.ranges.parameters(),
                |view, wants, rows| {
                    for range in &wants.ranges {
                        view.ranges.insert(range.clone(), Vec::new());
                    }
                    element::ranges(&wants.ranges, rows, |range, element, read: &mut RangeRead| {
                        if read.takes(&element) {
                            view.ranges.entry(range.clone()).or_default().push(element);
                        }
                    })
                },
            ),
            (
                !self.streams.is_empty(),
                stream::ENDS,
                vec![&self.streams, &stream::COLLECTION, &stream::HEAD],
                streams,
            ),
            (
                !self.continuations.is_empty(),
                continuation::READ,
                vec![&self.continuations],
                continuations,
            ),
            (!self.tallies.is_empty(), continuation::TALLIES, vec![&self.tallies], tallies),
        ]
    }
}

fn push<'a, const N: usize>(columns: &mut [Vec<&'a str>; N], texts: [&'a str; N]) {
    for (column, text) in columns.iter_mut().zip(texts) {
        column.push(text);
    }
}

/// The number by which something is locked that need not have a row.
fn advisory(schema: &str, parts: &[&str]) -> i64 {
    let mut hash = Xxh3::new();
    for part in std::iter::once(&schema).chain(parts) {
        hash.update(&(part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.digest() as i64
}

/// The number by which the settings of a lane or a feed are held still.
pub(crate) fn held_still(schema: &str, key: &ResourceKey) -> Option<i64> {
    let is_held = matches!(key.kind, ResourceKind::Lane | ResourceKind::Feed);
    is_held.then(|| advisory(schema, &resource::texts(key)))
}

pub(crate) const LOCK: &str = "SELECT pg_advisory_xact_lock(k) FROM unnest($1::bigint[]) AS k";

pub(crate) const LOCK_SHARED: &str =
    "SELECT pg_advisory_xact_lock_shared(k) FROM unnest($1::bigint[]) AS k";

const RESOURCES: &str = "SELECT r.kind, r.namespace, r.name, r.version, r.resource
 FROM unnest($1::text[], $2::text[], $3::text[]) AS n(kind, namespace, name)
 JOIN resource r ON (r.kind, r.namespace, r.name) = (n.kind, n.namespace, n.name)
 FOR NO KEY UPDATE OF r";

const LANES: &str = "SELECT r.kind, r.namespace, r.name, r.version, r.resource
 FROM unnest($1::text[], $2::text[], $3::text[]) AS n(kind, namespace, name)
 JOIN resource r ON (r.kind, r.namespace, r.name) = (n.kind, n.namespace, n.name)";

const KEYS: &str = "SELECT k.namespace, k.key, k.id
 FROM unnest($1::text[], $2::text[]) AS n(namespace, key)
 JOIN idempotency_key k ON (k.namespace, k.key) = (n.namespace, n.key)";

const RECORDS: &str = "SELECT e.id, e.version, e.record FROM unnest($1::uuid[]) AS n(id)
 JOIN execution e ON e.id = n.id FOR NO KEY UPDATE OF e";

const REQUESTS: &str = "SELECT e.id, e.version, e.record, r.request
 FROM request r JOIN execution e ON e.id = r.id WHERE r.request = ANY($1) ORDER BY r.request, e.id
 FOR NO KEY UPDATE OF e";

const BLOBS: &str =
    "SELECT b.id, b.part, b.bytes FROM unnest($1::uuid[], $2::bigint[]) AS n(id, part)
 JOIN blob b ON (b.id, b.part) = (n.id, n.part)";

fn resources(view: &mut View, wants: &Wants, rows: &[Row]) -> Result<(), Fault> {
    stored_resources(view, &wants.resources, rows)
}

fn lanes(view: &mut View, wants: &Wants, rows: &[Row]) -> Result<(), Fault> {
    stored_resources(view, &wants.lanes, rows)
}

fn stored_resources(
    view: &mut View,
    keys: &BTreeSet<ResourceKey>,
    rows: &[Row],
) -> Result<(), Fault> {
    for key in keys {
        view.resources.insert(key.clone(), Stored::Absent);
    }
    for row in rows {
        let key = resource::key(row)?;
        let found = stored_resource(&key, row);
        view.resources.insert(key, found);
    }
    Ok(())
}

fn stored_resource(key: &ResourceKey, row: &Row) -> Stored<Resource> {
    let read = || -> Result<Resource, Fault> {
        let (version, bytes): (i64, &[u8]) = (row.try_get(3)?, row.try_get(4)?);
        let found = codec::resource(key, bytes)?;
        match found.version.get() as i64 == version {
            true => Ok(found),
            false => Err(Fault::Unreadable(format!("{key:?}: its row has another version"))),
        }
    };
    match read() {
        Ok(found) => Stored::There(found),
        Err(why) => Stored::Unreadable(ff_store::StoreError::from(why).to_string()),
    }
}

fn keys(view: &mut View, wants: &Wants, rows: &[Row]) -> Result<(), Fault> {
    for key in &wants.keys {
        view.keys.insert(key.clone(), None);
    }
    for row in rows {
        let (namespace, key): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
        let asked = wants.keys.iter().find(|(n, k)| (n.as_str(), k.as_str()) == (namespace, key));
        if let Some(asked) = asked {
            view.keys.insert(asked.clone(), Some(query::id(row, 2)?));
        }
    }
    Ok(())
}

fn records(view: &mut View, wants: &Wants, rows: &[Row]) -> Result<(), Fault> {
    for id in &wants.records {
        view.records.insert(*id, Stored::Absent);
    }
    for row in rows {
        let id = query::id(row, 0)?;
        view.records.insert(id, record(id, row));
    }
    Ok(())
}

/// The record in the second and third column: its version and its bytes.
pub(crate) fn record(id: ExecutionId, row: &Row) -> Stored<Execution> {
    let read = || -> Result<Execution, Fault> {
        let (version, bytes): (i64, &[u8]) = (row.try_get(1)?, row.try_get(2)?);
        let found = codec::record(id, bytes)?;
        match found.version.get() as i64 == version {
            true => Ok(found),
            false => Err(Fault::Unreadable(format!("execution {id}: its row has another version"))),
        }
    };
    match read() {
        Ok(found) => Stored::There(found),
        Err(Fault::Unreadable(why)) => Stored::Unreadable(why),
        Err(why) => Stored::Unreadable(ff_store::StoreError::from(why).to_string()),
    }
}

fn requests(view: &mut View, wants: &Wants, rows: &[Row]) -> Result<(), Fault> {
    for request in &wants.requests {
        view.requests.insert(*request, BTreeSet::new());
    }
    for row in rows {
        let id = query::id(row, 0)?;
        view.records.insert(id, record(id, row));
        let request = ff_core::RequestId::new(row.try_get::<_, Uuid>(3)?.as_u128());
        view.requests.entry(request).or_default().insert(id);
    }
    Ok(())
}

fn classes(view: &mut View, wants: &Wants, rows: &[Row]) -> Result<(), Fault> {
    for lane in &wants.classes {
        view.classes.insert(lane.clone(), BTreeSet::new());
    }
    for row in rows {
        let (namespace, lane): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
        let known = view.classes.iter_mut();
        let mut same = known.filter(|((n, l), _)| (n.as_str(), l.as_str()) == (namespace, lane));
        if let Some((_, classes)) = same.next() {
            classes.insert(row.try_get(2)?);
        }
    }
    Ok(())
}

fn blobs(view: &mut View, wants: &Wants, rows: &[Row]) -> Result<(), Fault> {
    for key in &wants.blobs {
        view.blobs.insert(*key, None);
    }
    for row in rows {
        let part = match row.try_get::<_, i64>(1)? {
            -1 => BlobPart::Input,
            run => BlobPart::Result(u32::try_from(run).unwrap_or(u32::MAX)),
        };
        let bytes = bytes::Bytes::copy_from_slice(row.try_get(2)?);
        view.blobs.insert(BlobKey { execution: query::id(row, 0)?, part }, Some(bytes));
    }
    Ok(())
}

fn streams(view: &mut View, wants: &Wants, rows: &[Row]) -> Result<(), Fault> {
    for owner in &wants.streams {
        view.streams.insert(*owner, Ok(Kept::default()));
    }
    for row in rows {
        let owner = query::id(row, 0)?;
        let kept = match stream::kept(owner, row) {
            Ok(kept) => Ok(kept),
            Err(Fault::Unreadable(why)) => Err(why),
            Err(fault) => return Err(fault),
        };
        view.streams.insert(owner, kept);
    }
    Ok(())
}

fn continuations(view: &mut View, wants: &Wants, rows: &[Row]) -> Result<(), Fault> {
    for read in &wants.continuations {
        view.continuations.insert(*read, None);
    }
    for row in rows {
        view.continuations.insert(continuation::read(row, 0)?, Some(query::time(row, 1)?));
    }
    Ok(())
}

fn tallies(view: &mut View, wants: &Wants, rows: &[Row]) -> Result<(), Fault> {
    for owner in &wants.tallies {
        view.tallies.entry(*owner).or_default();
    }
    continuation::tallies(rows, |owner, counter, value| {
        view.tallies.entry(owner).or_default().set(counter, value);
    })
}
