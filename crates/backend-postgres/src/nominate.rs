//! Which queued executions workers could take. It only nominates: the record decides.
//!
//! The records of candidates are locked, and those that another transaction holds are left to it: claims
//! of several processes do not wait for each other. If that leaves fewer than were asked for although the
//! queue has more, the others are waited for: an empty answer means an empty queue.

use ff_core::Capabilities;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::connection::Session;
use crate::error::Fault;
use crate::load::record;
use crate::query;
use crate::view::View;
use crate::wants::{Head, HeadKey};

/// The classes of lanes that have something queued, the empty one aside: one step of the index each.
pub(crate) const CLASSES: &str = "WITH RECURSIVE step AS (
     SELECT n.namespace, n.lane, (SELECT min(q.class) FROM queue q
         WHERE q.namespace = n.namespace AND q.lane = n.lane AND q.class > '') AS class
     FROM unnest($1::text[], $2::text[]) AS n(namespace, lane)
     UNION ALL
     SELECT s.namespace, s.lane, (SELECT min(q.class) FROM queue q
         WHERE q.namespace = s.namespace AND q.lane = s.lane AND q.class > s.class)
     FROM step s WHERE s.class IS NOT NULL)
 SELECT namespace, lane, class FROM step WHERE class IS NOT NULL";

const CANDIDATES: &str = "SELECT h.id, h.version, h.record, h.score, c.class
 FROM unnest($3::text[]) AS c(class) CROSS JOIN LATERAL (
     SELECT e.id, e.version, e.record, q.score FROM queue q JOIN execution e ON e.id = q.id
     WHERE q.namespace = $1 AND q.lane = $2 AND q.class = c.class
     ORDER BY q.score, q.id LIMIT $4 FOR NO KEY UPDATE OF e SKIP LOCKED) AS h";

const ALL_CANDIDATES: &str = "SELECT h.id, h.version, h.record, h.score, c.class
 FROM unnest($3::text[]) AS c(class) CROSS JOIN LATERAL (
     SELECT e.id, e.version, e.record, q.score FROM queue q JOIN execution e ON e.id = q.id
     WHERE q.namespace = $1 AND q.lane = $2 AND q.class = c.class
     ORDER BY q.score, q.id LIMIT $4 FOR NO KEY UPDATE OF e) AS h";

/// How many there are, locked or not, up to the limit.
const QUEUED: &str = "SELECT count(*) FROM unnest($3::text[]) AS c(class) CROSS JOIN LATERAL (
     SELECT 1 FROM queue q WHERE q.namespace = $1 AND q.lane = $2 AND q.class = c.class
     ORDER BY q.score, q.id LIMIT $4) AS h";

/// A reading of the first candidates of a queue.
pub(crate) struct Reading<'a> {
    key: &'a HeadKey,
    namespace: &'a str,
    lane: &'a str,
    classes: Vec<String>,
    most: i64,
}

impl<'a> Reading<'a> {
    /// Of up to `limit` candidates of each class that the worker covers. Those of a worker without
    /// capabilities are known, others are read.
    pub(crate) async fn new(
        session: &Session<'_>,
        key: &'a HeadKey,
        limit: usize,
    ) -> Result<Reading<'a>, Fault> {
        let classes = covered_classes(session, key).await?;
        let (namespace, lane) = (key.namespace.as_str(), key.lane.as_str());
        Ok(Reading { key, namespace, lane, classes, most: limit as i64 })
    }

    /// The statements, which are sent together.
    pub(crate) fn statements(&self) -> [(&'static str, Vec<&(dyn ToSql + Sync)>); 2] {
        [(QUEUED, self.parameters()), (CANDIDATES, self.parameters())]
    }

    fn parameters(&self) -> Vec<&(dyn ToSql + Sync)> {
        vec![&self.namespace, &self.lane, &self.classes, &self.most]
    }

    /// Adds what the statements have answered to the view.
    pub(crate) async fn add(
        self,
        session: &Session<'_>,
        view: &mut View,
        queued: &[Row],
        mut rows: Vec<Row>,
    ) -> Result<(), Fault> {
        let queued: i64 = queued.first().map(|row| row.try_get(0)).transpose()?.unwrap_or(0);
        let found = rows.len() as i64;
        if found < self.most && found < queued {
            rows = session.query(ALL_CANDIDATES, &self.parameters()).await?;
        }
        let head = head(view, &rows, self.most as usize, self.classes.len())?;
        view.heads.insert(self.key.clone(), head);
        Ok(())
    }
}

/// The classes that a worker covers: the empty one, and others that have something queued.
async fn covered_classes(session: &Session<'_>, key: &HeadKey) -> Result<Vec<String>, Fault> {
    let mut covered = vec![String::new()];
    if key.capabilities.is_empty() {
        return Ok(covered);
    }
    let lane = (vec![key.namespace.as_str()], vec![key.lane.as_str()]);
    for row in session.query(CLASSES, &[&lane.0, &lane.1]).await? {
        let text: String = row.try_get(2)?;
        match Capabilities::parse(&text) {
            Ok(class) if key.capabilities.covers(&class) => covered.push(text),
            Ok(_) => {}
            Err(why) => tracing::warn!(class = text, %why, "a class is skipped"),
        }
    }
    Ok(covered)
}

/// The head that `rows` show, of which each class has at most `limit`. What lies after the last row of a
/// class that has so many is not known.
fn head(view: &mut View, rows: &[Row], limit: usize, classes: usize) -> Result<Head, Fault> {
    let mut head = Head::default();
    let mut counted: Vec<(&str, usize, (i64, ff_core::ExecutionId))> = Vec::with_capacity(classes);
    for row in rows {
        let Some(id) = query::entry(row, 0)? else { continue };
        let (score, class): (i64, &str) = (row.try_get(3)?, row.try_get(4)?);
        let place = (score, id);
        match counted.iter_mut().find(|(known, ..)| *known == class) {
            Some((_, count, last)) => (*count, *last) = (*count + 1, place.max(*last)),
            None => counted.push((class, 1, place)),
        }
        // What this transaction has read or written of it stays.
        view.records.entry(id).or_insert_with(|| record(id, row));
        head.places.push(place);
    }
    head.places.sort_unstable();
    let cut = counted.iter().filter(|(_, count, _)| *count >= limit).map(|(.., last)| *last).min();
    if let Some(cut) = cut {
        head.places.retain(|place| *place <= cut);
        head.known_to = Some(cut);
    }
    Ok(head)
}
