//! The tables, their migrations, and which schemas are refused.
//!
//! The table `store` says which product the schema belongs to and how many of the migrations it has had. A
//! schema of another product or of a newer release is left as it is.

use ff_store::StoreError;
use tokio_postgres::error::SqlState;

use crate::connection::{Dial, Session};
use crate::error::Fault;
use crate::options::{Options, Schema};

/// Every change of the tables, oldest first. One that was released is never edited.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_spine.sql"),
    include_str!("migrations/0002_events.sql"),
    include_str!("migrations/0003_submissions.sql"),
];

/// Makes the table that says what the schema is.
const STORE: &str = "CREATE TABLE store (product text NOT NULL, version integer NOT NULL);
 INSERT INTO store VALUES ('flowfabric', 0)";

/// What a migration did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    /// How many migrations the schema had; `None` if there was no store in it.
    pub from: Option<usize>,
    /// How many it has.
    pub to: usize,
}

/// The identity of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Identity {
    /// It is missing.
    Missing,
    /// It is there and empty.
    Empty,
    /// A store with this many migrations.
    Ours(usize),
}

/// Makes the tables or brings them up to date, as the user of `options`, and lets the role `runtime` use
/// them and change nothing about them. Two processes may do it at the same time.
pub async fn migrate(options: &Options, runtime: Option<&str>) -> Result<Migrated, StoreError> {
    let session = Dial::new(options)?.connect(None).await?;
    let migrated = bring_up_to_date(&session, &options.schema).await?;
    if let Some(role) = runtime {
        session.batch(&grants(&options.schema, role)).await?;
    }
    Ok(migrated)
}

/// Makes sure that the tables are those of this release. Answers whether the store was made.
pub(crate) async fn ready(session: &Session<'_>, options: &Options) -> Result<bool, StoreError> {
    let schema = &options.schema;
    let found = identify(session, schema).await?;
    if found == Identity::Ours(MIGRATIONS.len()) {
        return Ok(false);
    }
    let state = match found {
        Identity::Missing | Identity::Empty => "has no store".to_owned(),
        Identity::Ours(version) => {
            format!("is of an older release ({version} of {} migrations)", MIGRATIONS.len())
        }
    };
    if !options.migrates {
        return Err(not_ready(schema, &state));
    }
    match bring_up_to_date(session, schema).await {
        Ok(Migrated { from, .. }) => Ok(from.is_none()),
        Err(Fault::Sql(error)) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            Err(not_ready(schema, &state))
        }
        Err(fault) => Err(fault.into()),
    }
}

fn not_ready(schema: &Schema, state: &str) -> StoreError {
    StoreError::Incompatible(format!(
        "the schema {} {state}; run `ff migrate` as a user that may create tables",
        schema.as_str()
    ))
}

async fn bring_up_to_date(session: &Session<'_>, schema: &Schema) -> Result<Migrated, Fault> {
    // Migrations wait for each other, and what one sees was committed by those before it.
    let name = schema.as_str();
    session
        .batch(&format!(
            "BEGIN; SET LOCAL lock_timeout TO 0;
             SELECT pg_advisory_xact_lock(hashtextextended('flowfabric ' || '{name}', 0))"
        ))
        .await?;
    let migrated = apply(session, schema).await;
    match &migrated {
        Ok(_) => session.batch("COMMIT").await?,
        Err(_) => session.batch("ROLLBACK").await?,
    }
    migrated
}

async fn apply(session: &Session<'_>, schema: &Schema) -> Result<Migrated, Fault> {
    let found = identify(session, schema).await?;
    if found == Identity::Missing {
        session.batch(&format!("CREATE SCHEMA {}", schema.as_str())).await?;
    }
    let from = match found {
        Identity::Missing | Identity::Empty => {
            session.batch(STORE).await?;
            None
        }
        Identity::Ours(version) => Some(version),
    };
    for migration in &MIGRATIONS[from.unwrap_or(0)..] {
        session.batch(migration).await?;
    }
    let to = MIGRATIONS.len();
    session.batch(&format!("UPDATE store SET version = {to}")).await?;
    Ok(Migrated { from, to })
}

/// Reads the identity of the schema, changing nothing.
async fn identify(session: &Session<'_>, schema: &Schema) -> Result<Identity, Fault> {
    let sql = "SELECT to_regnamespace($1) IS NOT NULL, to_regclass($1 || '.store') IS NOT NULL,
         (SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace($1))";
    let name = schema.as_str();
    let row = session.first(sql, &[&name]).await?;
    let row = row.ok_or_else(|| Fault::Unreadable("the catalog is silent".into()))?;
    let (is_there, is_store, tables): (bool, bool, i64) =
        (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    if !is_there {
        return Ok(Identity::Missing);
    }
    if !is_store {
        return match tables {
            0 => Ok(Identity::Empty),
            _ => Err(foreign(schema)),
        };
    }
    let row = session.first("SELECT product, version FROM store", &[]).await?;
    let row = row.ok_or_else(|| foreign(schema))?;
    let (product, version): (String, i32) = (row.try_get(0)?, row.try_get(1)?);
    match usize::try_from(version) {
        Ok(version) if product == "flowfabric" && version <= MIGRATIONS.len() => {
            Ok(Identity::Ours(version))
        }
        _ if product == "flowfabric" => Err(Fault::Store(StoreError::Incompatible(format!(
            "the schema {name} is number {version} and this release knows {}; open it with the release \
             that wrote it, or a newer one",
            MIGRATIONS.len()
        )))),
        _ => Err(foreign(schema)),
    }
}

fn foreign(schema: &Schema) -> Fault {
    Fault::Store(StoreError::Incompatible(format!(
        "the schema {} has tables of another application; name another one with ?schema=",
        schema.as_str()
    )))
}

/// What a role needs to run a store, and no more.
fn grants(schema: &Schema, role: &str) -> String {
    let (schema, role) = (schema.as_str(), role.replace('"', "\"\""));
    format!(
        "GRANT USAGE ON SCHEMA {schema} TO \"{role}\";
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO \"{role}\";
         REVOKE INSERT, UPDATE, DELETE ON {schema}.store FROM \"{role}\";
         GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {schema} TO \"{role}\""
    )
}
