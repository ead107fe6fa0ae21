//! How many executions wait, for what, and how many run. A row that cannot be read is not counted.

use ff_core::limits::Blocker;
use ff_core::placement::Score;
use ff_core::{Capabilities, Execution, Lane, Namespace, Refusal};
use ff_store::backlog::Backlog;
use ff_store::codec;
use tokio_postgres::Row;

use crate::clock::StoreClock;
use crate::connection::Session;
use crate::error::Fault;
use crate::query::{self, passed_over};

const QUEUES: &str = "SELECT namespace, lane, class, count(*), min(score) FROM queue
 GROUP BY namespace, lane, class";

const HELD: &str = "SELECT e.id, e.record FROM request r JOIN execution e ON e.id = r.id";

const BLOCKED: &str = "SELECT namespace, kind, name, class, count(*) FROM blocked
 GROUP BY namespace, kind, name, class";

const MEMBERS: &str = "SELECT e.id, e.record FROM blocked b JOIN execution e ON e.id = b.id
 WHERE b.namespace = $1 AND b.kind = $2 AND b.name = $3 AND b.class = $4
 ORDER BY b.score, b.id LIMIT 8";

const WORKERS: &str = "SELECT count(*) FROM resource WHERE kind = 'worker'";

pub(crate) async fn count(session: &Session<'_>, clock: &StoreClock) -> Result<Backlog, Fault> {
    // One transaction, for a consistent count.
    session.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
    let backlog = count_all(session, clock).await?;
    session.batch("COMMIT").await?;
    Ok(backlog)
}

async fn count_all(session: &Session<'_>, clock: &StoreClock) -> Result<Backlog, Fault> {
    session.prepare(&[QUEUES, HELD, BLOCKED, WORKERS]).await?;
    let now = clock.read(session).await?;
    let mut backlog = Backlog { now, ..Backlog::default() };
    let answers = session
        .all(&[(QUEUES, vec![]), (HELD, vec![]), (BLOCKED, vec![]), (WORKERS, vec![])])
        .await?;
    for row in &answers[0] {
        let Some((queue, requires)) = passed_over(queue(row))? else { continue };
        let head = Score::from_stored(row.try_get(4)?);
        backlog.add_queue(queue, requires, query::count(row, 3)?, head);
    }
    for row in &answers[1] {
        let Some(record) = record(row)? else { continue };
        if record.lease().is_some() {
            let queue = (record.spec.namespace.clone(), record.spec.lane.clone());
            *backlog.active.entry(queue).or_default() += 1;
        }
    }
    for row in &answers[2] {
        let limit = || Ok((query::namespace(row, 0)?, query::blocker(row, 1)?));
        let Some(limit) = passed_over(limit())? else { continue };
        let lane = blocked_lane(session, &limit, row.try_get(3)?).await?;
        backlog.add_blocked(limit, lane, query::count(row, 4)?);
    }
    backlog.workers = answers[3].first().map_or(Ok(0), |row| query::count(row, 0))?;
    Ok(backlog)
}

/// The queue in the first columns, and what its executions require.
fn queue(row: &Row) -> Result<((Namespace, Lane), Capabilities), Fault> {
    let (lane, class): (&str, &str) = (row.try_get(1)?, row.try_get(2)?);
    let lane = Lane::new(lane).map_err(unreadable)?;
    let requires = Capabilities::parse(class).map_err(unreadable)?;
    Ok(((query::namespace(row, 0)?, lane), requires))
}

/// The record in the second column, of the id in the first. One that cannot be read costs its own
/// count alone, and is told by an audit.
fn record(row: &Row) -> Result<Option<Execution>, Fault> {
    let Some(id) = query::entry(row, 0)? else { return Ok(None) };
    Ok(codec::record(id, row.try_get(1)?).ok())
}

/// The lane of the executions of one class that wait for one limit: that of the first one whose
/// record can be read.
async fn blocked_lane(
    session: &Session<'_>,
    (namespace, on): &(Namespace, Blocker),
    class: i64,
) -> Result<Option<Lane>, Fault> {
    let (namespace, kind, name) = (namespace.as_str(), on.kind.as_str(), on.name.as_str());
    for row in session.query(MEMBERS, &[&namespace, &kind, &name, &class]).await? {
        if let Some(record) = record(&row)? {
            return Ok(Some(record.spec.lane.clone()));
        }
    }
    Ok(None)
}

fn unreadable(why: Refusal) -> Fault {
    Fault::Unreadable(format!("a name: {why}"))
}
