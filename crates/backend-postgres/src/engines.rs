//! The engine processes of one store: which of them are alive.
//!
//! Each has a row with the time of its last heartbeat, by the store's clock. The rows of those that have been
//! dead for long are removed by the others.

use ff_store::EngineId;
use ff_store::partition_set::ENGINE_TTL;
use uuid::Uuid;

use crate::connection::Session;
use crate::error::Fault;

/// How long the row of a dead engine stays.
const KEPT_MS: i64 = 10 * ENGINE_TTL.as_millis() as i64;

const BEAT: &str = "WITH old AS (DELETE FROM engine WHERE seen < ff_now() - $2 AND id <> $1)
 INSERT INTO engine AS e (id, seen) VALUES ($1, ff_now())
 ON CONFLICT (id) DO UPDATE SET seen = EXCLUDED.seen RETURNING xmax = 0";

const ALIVE: &str = "SELECT id FROM engine WHERE seen >= ff_now() - $1";

/// What a heartbeat found.
pub(crate) struct Heartbeat {
    /// All that are alive.
    pub(crate) alive: Vec<EngineId>,
    /// Whether this engine was not known before.
    pub(crate) is_new: bool,
}

/// Says that `engine` is alive.
pub(crate) async fn beat(session: &Session<'_>, engine: EngineId) -> Result<Heartbeat, Fault> {
    let row = session.first(BEAT, &[&uuid(engine), &KEPT_MS]).await?;
    let is_new = row.map(|row| row.try_get(0)).transpose()?.unwrap_or_default();
    let rows = session.query(ALIVE, &[&(ENGINE_TTL.as_millis() as i64)]).await?;
    let id = |row: &tokio_postgres::Row| Ok(EngineId::new(row.try_get::<_, Uuid>(0)?.as_u128()));
    let alive = rows.iter().map(id).collect::<Result<_, Fault>>()?;
    Ok(Heartbeat { alive, is_new })
}

/// Removes the row of an engine.
pub(crate) async fn remove(session: &Session<'_>, engine: EngineId) -> Result<(), Fault> {
    session.query("DELETE FROM engine WHERE id = $1", &[&uuid(engine)]).await?;
    Ok(())
}

fn uuid(engine: EngineId) -> Uuid {
    Uuid::from_bytes(engine.to_bytes())
}
