//! The tables, the migrations of older files, and which files are refused.
//!
//! A file says by its `application_id` which product it belongs to and by its `user_version` how many
//! of the migrations it has had. A file of another product or of a newer release is left as it is.

use std::path::Path;

use ff_store::StoreError;
use rusqlite::{Connection, TransactionBehavior};

use crate::error::Fault;

/// `FlFa`: the product of the file.
const APPLICATION_ID: i32 = 0x466c_4661;

/// Every change of the tables, oldest first. One that was released is never edited.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_spine.sql"),
    include_str!("migrations/0002_resources.sql"),
    include_str!("migrations/0003_blocked.sql"),
    include_str!("migrations/0004_clock.sql"),
    include_str!("migrations/0005_blocked_class.sql"),
    include_str!("migrations/0006_elements.sql"),
    include_str!("migrations/0007_continuations.sql"),
    include_str!("migrations/0008_settings.sql"),
    include_str!("migrations/0009_events.sql"),
];

/// The identity of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    /// None: it is empty.
    Empty,
    /// A store with this many migrations.
    Ours(usize),
}

/// Reads the identity of the file, changing nothing.
pub(crate) fn identify(connection: &Connection) -> Result<Identity, StoreError> {
    let (application, version, tables) = header(connection)?;
    match (application, usize::try_from(version)) {
        (0, Ok(0)) if tables == 0 => Ok(Identity::Empty),
        (APPLICATION_ID, Ok(version)) if version <= MIGRATIONS.len() => Ok(Identity::Ours(version)),
        (APPLICATION_ID, _) => Err(StoreError::Incompatible(format!(
            "its schema is number {version} and this release knows {}; open it with the release \
             that wrote it, or a newer one",
            MIGRATIONS.len()
        ))),
        _ => Err(StoreError::Incompatible(
            "it is an SQLite database of another application; give the path of a FlowFabric store \
             or of a file that does not exist yet"
                .into(),
        )),
    }
}

/// The message for an empty file where a store should be.
pub(crate) fn empty(path: &Path) -> StoreError {
    StoreError::Incompatible(format!(
        "{}: it is empty, and not a FlowFabric store; give the path of a store",
        path.display()
    ))
}

fn header(connection: &Connection) -> Result<(i32, i32, i64), StoreError> {
    // One statement, so that all three are consistent: another process may be creating the file.
    let read = connection.query_row(
        "SELECT (SELECT application_id FROM pragma_application_id), \
         (SELECT user_version FROM pragma_user_version), \
         (SELECT count(*) FROM sqlite_schema)",
        (),
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    );
    read.map_err(|error| match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => StoreError::Incompatible(
            "it is not an SQLite database; give the path of a FlowFabric store or of a file that \
             does not exist yet"
                .into(),
        ),
        _ => Fault::from(error).into(),
    })
}

/// Brings the tables up to date. Two processes may do it at the same time.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    if identify(connection)? == Identity::Ours(MIGRATIONS.len()) {
        return Ok(());
    }
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(Fault::from)?;
    let done = match identify(&transaction)? {
        Identity::Empty => 0,
        Identity::Ours(version) => version,
    };
    let apply = || -> Result<(), Fault> {
        for migration in &MIGRATIONS[done..] {
            transaction.execute_batch(migration)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", MIGRATIONS.len() as i64)?;
        Ok(())
    };
    apply()?;
    transaction.commit().map_err(Fault::from)?;
    Ok(())
}
