//! The rows that a flush writes, by table, and the statements that write them.

use ff_core::placement::Entry;
use ff_core::record::Version;
use ff_core::{Execution, ExecutionId, Resource, ResourceKey};
use ff_store::codec;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::error::Fault;
use crate::event::Logged;
use crate::query::{class_number, uuid};
use crate::{event, load};

/// The bytes that are stored for `value`.
pub(crate) fn encoded(value: &impl serde::Serialize) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::with_capacity(256);
    codec::encode(value, &mut bytes)?;
    Ok(bytes)
}

pub(crate) type Statements<'a> = Vec<(&'static str, Vec<&'a (dyn ToSql + Sync)>)>;

/// The columns of what is written, by table.
#[derive(Default)]
pub(crate) struct Rows<'a> {
    /// Lanes and feeds that other transactions hold still.
    pub(crate) locks: Vec<i64>,
    /// Feeds that this one holds still.
    pub(crate) feeds: Vec<i64>,
    pub(crate) events: Logged<'a>,
    pub(crate) removed: Vec<Uuid>,
    inserted: Records,
    updated: Records,
    deleted: Records,
    pub(crate) dropped: Entries<'a>,
    pub(crate) added: Entries<'a>,
    pub(crate) blobs: (Vec<Uuid>, Vec<i64>, Vec<&'a [u8]>),
    pub(crate) elements: Elements<'a>,
    made: Resources<'a>,
    changed: Resources<'a>,
    discarded: Resources<'a>,
    pub(crate) later: (Vec<Vec<u8>>, Vec<i64>),
    pub(crate) done: Vec<Vec<u8>>,
    pub(crate) done_count: i64,
}

#[derive(Default)]
pub(crate) struct Records {
    id: Vec<Uuid>,
    before: Vec<i64>,
    version: Vec<i64>,
    record: Vec<Vec<u8>>,
    count: i64,
}

#[derive(Default)]
pub(crate) struct Resources<'a> {
    kind: Vec<&'a str>,
    namespace: Vec<&'a str>,
    name: Vec<&'a str>,
    before: Vec<i64>,
    version: Vec<i64>,
    due: Vec<Option<i64>>,
    gate: Vec<bool>,
    resource: Vec<Vec<u8>>,
    count: i64,
}

#[derive(Default)]
pub(crate) struct Elements<'a> {
    pub(crate) owner: Vec<Uuid>,
    pub(crate) collection: Vec<i16>,
    pub(crate) number: Vec<i64>,
    pub(crate) name: Vec<Option<&'a [u8]>>,
    pub(crate) bytes: Vec<Vec<u8>>,
}

type Texts<'a> = Vec<&'a str>;
type Numbers = Vec<i64>;
type Ids = Vec<Uuid>;

/// Index entries to add, or to remove.
#[derive(Default)]
pub(crate) struct Entries<'a> {
    queue: (Texts<'a>, Texts<'a>, Texts<'a>, Numbers, Ids),
    timer: (Numbers, Ids),
    request: (Ids, Ids),
    list: (Texts<'a>, Numbers, Ids),
    attention: (Texts<'a>, Texts<'a>, Numbers, Ids),
    blocked: (Texts<'a>, Texts<'a>, Texts<'a>, Numbers, Numbers, Ids),
    key: (Texts<'a>, Texts<'a>, Ids),
}

impl<'a> Entries<'a> {
    pub(crate) fn entry(&mut self, id: Uuid, entry: &'a Entry) {
        match entry {
            Entry::Queue(place) => {
                self.queue.0.push(place.namespace.as_str());
                self.queue.1.push(place.lane.as_str());
                self.queue.2.push(place.class.as_str());
                self.queue.3.push(place.score.get());
                self.queue.4.push(id);
            }
            Entry::Timer(due) => {
                self.timer.0.push(due.as_ms() as i64);
                self.timer.1.push(id);
            }
            Entry::Request(request) => {
                self.request.0.push(Uuid::from_bytes(*request.as_bytes()));
                self.request.1.push(id);
            }
            Entry::List(namespace, created) => {
                self.list.0.push(namespace.as_str());
                self.list.1.push(created.as_ms() as i64);
                self.list.2.push(id);
            }
            Entry::Attention(namespace, attention, created) => {
                self.attention.0.push(namespace.as_str());
                self.attention.1.push(attention.as_str());
                self.attention.2.push(created.as_ms() as i64);
                self.attention.3.push(id);
            }
            Entry::Blocked(namespace, on, class, score) => {
                self.blocked.0.push(namespace.as_str());
                self.blocked.1.push(on.kind.as_str());
                self.blocked.2.push(on.name.as_str());
                self.blocked.3.push(class_number(*class));
                self.blocked.4.push(score.get());
                self.blocked.5.push(id);
            }
            Entry::Key(namespace, key) => {
                self.key.0.push(namespace.as_str());
                self.key.1.push(key.as_str());
                self.key.2.push(id);
            }
        }
    }
}

impl<'a> Rows<'a> {
    pub(crate) fn record(
        &mut self,
        id: ExecutionId,
        (before, after): &(Option<Version>, Option<Execution>),
    ) -> Result<(), Fault> {
        let rows = match (before, after) {
            (None, None) => return Ok(()),
            (None, Some(_)) => &mut self.inserted,
            (Some(_), Some(_)) => &mut self.updated,
            (Some(_), None) => &mut self.deleted,
        };
        rows.id.push(uuid(id));
        rows.before.extend(before.map(number));
        if let Some(record) = after {
            rows.version.push(number(record.version));
            rows.record.push(encoded(record)?);
        }
        rows.count += 1;
        Ok(())
    }

    pub(crate) fn resource(
        &mut self,
        key: &'a ResourceKey,
        (before, after): &(Option<Version>, Option<Resource>),
    ) -> Result<(), Fault> {
        let rows = match (before, after) {
            (None, None) => return Ok(()),
            (None, Some(_)) => &mut self.made,
            (Some(_), Some(_)) => &mut self.changed,
            (Some(_), None) => &mut self.discarded,
        };
        rows.kind.push(key.kind.as_str());
        rows.namespace.push(key.namespace.as_str());
        rows.name.push(key.name.as_str());
        rows.before.extend(before.map(number));
        if let Some(resource) = after {
            rows.version.push(number(resource.version));
            rows.due.push(resource.timer().map(|at| at.as_ms() as i64));
            rows.gate.push(resource.as_feed().is_some_and(|feed| feed.on));
            rows.resource.push(encoded(resource)?);
        }
        rows.count += 1;
        Ok(())
    }

    /// A statement for each table that changes. What is removed comes before what is added.
    pub(crate) fn statements(&self) -> Statements<'_> {
        let mut all: Statements<'_> = Vec::new();
        let mut add = |is_any: bool, sql, parameters: Vec<_>| {
            if is_any {
                all.push((sql, parameters));
            }
        };
        let Rows { removed, inserted, updated, deleted, dropped, added, .. } = self;
        add(!self.locks.is_empty(), load::LOCK, vec![&self.locks]);
        add(!self.feeds.is_empty(), load::LOCK_SHARED, vec![&self.feeds]);
        let Logged { namespace, at, event, is_on } = &self.events;
        // Before feeds change: what follows a change knows of it.
        add(!at.is_empty(), event::PUT, vec![namespace, at, event, is_on]);
        for sql in REMOVE_NEXT_TO {
            add(!removed.is_empty(), sql, vec![removed]);
        }
        let Records { id, before, count, .. } = deleted;
        add(!id.is_empty(), DELETE_RECORDS, vec![id, before, count]);
        let Records { id, version, record, count, .. } = inserted;
        add(!id.is_empty(), INSERT_RECORDS, vec![id, version, record, count]);
        let Records { id, before, version, record, count } = updated;
        add(!id.is_empty(), UPDATE_RECORDS, vec![id, before, version, record, count]);
        for (entries, sql) in [(dropped, &DROP_ENTRIES), (added, &ADD_ENTRIES)] {
            let Entries { queue, timer, request, list, attention, blocked, key } = entries;
            let (a, b, c, d, e) = queue;
            add(!a.is_empty(), sql[0], vec![a, b, c, d, e]);
            add(!timer.0.is_empty(), sql[1], vec![&timer.0, &timer.1]);
            add(!request.0.is_empty(), sql[2], vec![&request.0, &request.1]);
            add(!list.0.is_empty(), sql[3], vec![&list.0, &list.1, &list.2]);
            let (a, b, c, d) = attention;
            add(!a.is_empty(), sql[4], vec![a, b, c, d]);
            let (a, b, c, d, e, f) = blocked;
            add(!a.is_empty(), sql[5], vec![a, b, c, d, e, f]);
            add(!key.0.is_empty(), sql[6], vec![&key.0, &key.1, &key.2]);
        }
        let (id, part, bytes) = &self.blobs;
        add(!id.is_empty(), PUT_BLOBS, vec![id, part, bytes]);
        let Elements { owner, collection, number, name, bytes } = &self.elements;
        add(!owner.is_empty(), PUT_ELEMENTS, vec![owner, collection, number, name, bytes]);
        let Resources { kind, namespace, name, before, count, .. } = &self.discarded;
        add(!kind.is_empty(), DELETE_RESOURCES, vec![kind, namespace, name, before, count]);
        let Resources { kind, namespace, name, version, due, gate, resource, count, .. } =
            &self.made;
        let parameters: Vec<&(dyn ToSql + Sync)> =
            vec![kind, namespace, name, version, due, gate, resource, count];
        add(!kind.is_empty(), INSERT_RESOURCES, parameters);
        let Resources { kind, namespace, name, before, version, due, gate, resource, count } =
            &self.changed;
        let parameters: Vec<&(dyn ToSql + Sync)> =
            vec![kind, namespace, name, before, version, due, gate, resource, count];
        add(!kind.is_empty(), UPDATE_RESOURCES, parameters);
        add(!self.done.is_empty(), REMOVE_CONTINUATIONS, vec![&self.done, &self.done_count]);
        let (what, due) = &self.later;
        add(!what.is_empty(), PUT_CONTINUATIONS, vec![what, due]);
        all
    }
}

/// A version as it is stored: the same 64 bits.
fn number(version: Version) -> i64 {
    version.get() as i64
}

/// What goes with a record.
const REMOVE_NEXT_TO: [&str; 3] = [
    "DELETE FROM blob WHERE id = ANY($1)",
    "DELETE FROM element WHERE owner = ANY($1)",
    "DELETE FROM tally WHERE owner = ANY($1)",
];

const DELETE_RECORDS: &str = "WITH done AS (
     DELETE FROM execution e USING unnest($1::uuid[], $2::bigint[]) AS n(id, before)
     WHERE e.id = n.id AND e.version = n.before RETURNING 1)
 SELECT ff_expect(count(*), $3) FROM done";

const INSERT_RECORDS: &str = "WITH done AS (
     INSERT INTO execution (id, version, record)
     SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bytea[])
     ON CONFLICT DO NOTHING RETURNING 1)
 SELECT ff_expect(count(*), $4) FROM done";

const UPDATE_RECORDS: &str = "WITH done AS (
     UPDATE execution e SET version = n.version, record = n.record
     FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bytea[]) AS n(id, before, version, record)
     WHERE e.id = n.id AND e.version = n.before RETURNING 1)
 SELECT ff_expect(count(*), $5) FROM done";

/// In the order of the fields of [`Entries`].
const DROP_ENTRIES: [&str; 7] = [
    "DELETE FROM queue q USING unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::uuid[])
         AS n(namespace, lane, class, score, id)
     WHERE (q.namespace, q.lane, q.class, q.score, q.id)
         = (n.namespace, n.lane, n.class, n.score, n.id)",
    "DELETE FROM timer t USING unnest($1::bigint[], $2::uuid[]) AS n(due, id)
     WHERE (t.due, t.id) = (n.due, n.id)",
    "DELETE FROM request r USING unnest($1::uuid[], $2::uuid[]) AS n(request, id)
     WHERE (r.request, r.id) = (n.request, n.id)",
    "DELETE FROM list l USING unnest($1::text[], $2::bigint[], $3::uuid[]) AS n(namespace, created, id)
     WHERE (l.namespace, l.created, l.id) = (n.namespace, n.created, n.id)",
    "DELETE FROM attention a USING unnest($1::text[], $2::text[], $3::bigint[], $4::uuid[])
         AS n(namespace, attention, created, id)
     WHERE (a.namespace, a.attention, a.created, a.id)
         = (n.namespace, n.attention, n.created, n.id)",
    "DELETE FROM blocked b USING
         unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::uuid[])
         AS n(namespace, kind, name, class, score, id)
     WHERE (b.namespace, b.kind, b.name, b.class, b.score, b.id)
         = (n.namespace, n.kind, n.name, n.class, n.score, n.id)",
    "DELETE FROM idempotency_key k USING unnest($1::text[], $2::text[], $3::uuid[])
         AS n(namespace, key, id)
     WHERE (k.namespace, k.key, k.id) = (n.namespace, n.key, n.id)",
];

/// In the order of the fields of [`Entries`].
const ADD_ENTRIES: [&str; 7] = [
    "INSERT INTO queue (namespace, lane, class, score, id)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::uuid[])
     ON CONFLICT DO NOTHING",
    "INSERT INTO timer (due, id) SELECT * FROM unnest($1::bigint[], $2::uuid[]) ON CONFLICT DO NOTHING",
    "INSERT INTO request (request, id) SELECT * FROM unnest($1::uuid[], $2::uuid[])
     ON CONFLICT DO NOTHING",
    "INSERT INTO list (namespace, created, id)
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::uuid[]) ON CONFLICT DO NOTHING",
    "INSERT INTO attention (namespace, attention, created, id)
     SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::uuid[]) ON CONFLICT DO NOTHING",
    "INSERT INTO blocked (namespace, kind, name, class, score, id)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::uuid[])
     ON CONFLICT DO NOTHING",
    "INSERT INTO idempotency_key (namespace, key, id)
     SELECT * FROM unnest($1::text[], $2::text[], $3::uuid[])
     ON CONFLICT (namespace, key) DO UPDATE SET id = EXCLUDED.id",
];

const PUT_BLOBS: &str = "INSERT INTO blob (id, part, bytes)
 SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bytea[])
 ON CONFLICT (id, part) DO UPDATE SET bytes = EXCLUDED.bytes";

const PUT_ELEMENTS: &str = "INSERT INTO element (owner, collection, number, name, bytes)
 SELECT * FROM unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::bytea[], $5::bytea[])
 ON CONFLICT (owner, collection, number) DO UPDATE SET name = EXCLUDED.name, bytes = EXCLUDED.bytes";

const DELETE_RESOURCES: &str = "WITH done AS (
     DELETE FROM resource r USING unnest($1::text[], $2::text[], $3::text[], $4::bigint[])
         AS n(kind, namespace, name, before)
     WHERE (r.kind, r.namespace, r.name) = (n.kind, n.namespace, n.name) AND r.version = n.before
     RETURNING 1)
 SELECT ff_expect(count(*), $5) FROM done";

const INSERT_RESOURCES: &str = "WITH done AS (
     INSERT INTO resource (kind, namespace, name, version, due, gate, resource)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::boolean[],
         $7::bytea[])
     ON CONFLICT DO NOTHING RETURNING 1)
 SELECT ff_expect(count(*), $8) FROM done";

const UPDATE_RESOURCES: &str = "WITH done AS (
     UPDATE resource r SET version = n.version, due = n.due, gate = n.gate, resource = n.resource
     FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[],
         $7::boolean[], $8::bytea[])
         AS n(kind, namespace, name, before, version, due, gate, resource)
     WHERE (r.kind, r.namespace, r.name) = (n.kind, n.namespace, n.name) AND r.version = n.before
     RETURNING 1)
 SELECT ff_expect(count(*), $9) FROM done";

const PUT_CONTINUATIONS: &str = "INSERT INTO continuation (what, due)
 SELECT * FROM unnest($1::bytea[], $2::bigint[]) ON CONFLICT (what) DO UPDATE SET due = EXCLUDED.due";

const REMOVE_CONTINUATIONS: &str = "WITH done AS (
     DELETE FROM continuation WHERE what = ANY($1) RETURNING 1)
 SELECT ff_expect(least(count(*), $2), $2) FROM done";
