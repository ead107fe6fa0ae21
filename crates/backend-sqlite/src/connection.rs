//! Opening the file: its permissions, and the settings of each connection.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ff_store::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::Fault;
use crate::options::{Durability, Location, Options};
use crate::schema::{self, Identity};

/// How many statements a connection keeps prepared: more than there are.
const STATEMENTS: usize = 64;
/// How much of the file the writer caches in memory, in KiB. More is slower: almost every commit of
/// a file below 1 GiB makes SQLite walk all cached pages.
const WRITER_CACHE_KIB: i64 = 8 << 10;
/// How much of the file each reader caches in memory, in KiB.
const READER_CACHE_KIB: i64 = 8 << 10;
/// How many pages the log has before they are moved into the file.
const CHECKPOINT_PAGES: i64 = 4_000;
/// How many bytes the log keeps on disk once its pages are moved.
const LOG_BYTES_KEPT: i64 = 64 << 20;

/// The connection that writes, with the tables in place, and whether the store is new.
pub(crate) fn writer(options: &Options) -> Result<(Connection, bool), StoreError> {
    let mut connection = match &options.location {
        Location::Memory => prepared(Connection::open_in_memory().map_err(Fault::from)?)?,
        Location::File(path) => {
            match options.makes {
                true => make(path)?,
                false => exists(path)?,
            }
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            open(path, flags, options.busy_timeout)?
        }
    };
    let named = |error| match &options.location {
        Location::File(path) => named(path, error),
        Location::Memory => error,
    };
    let new = schema::identify(&connection).map_err(named)? == Identity::Empty;
    if let Location::File(path) = &options.location
        && new
        && !options.makes
    {
        return Err(schema::empty(path));
    }
    settle(&connection, options)?;
    schema::migrate(&mut connection).map_err(named)?;
    Ok((connection, new))
}

/// A read-only connection to a file that must be a store.
pub(crate) fn of_a_store(path: &Path, busy_timeout: Duration) -> Result<Connection, StoreError> {
    exists(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = open(path, flags, busy_timeout)?;
    match schema::identify(&connection).map_err(|error| named(path, error))? {
        Identity::Empty => Err(schema::empty(path)),
        Identity::Ours(_) => Ok(connection),
    }
}

/// `error` with the name of its file.
fn named(path: &Path, error: StoreError) -> StoreError {
    match error {
        StoreError::Incompatible(why) => {
            StoreError::Incompatible(format!("{}: {why}", path.display()))
        }
        error => error,
    }
}

/// A read-only connection. The file has its tables already.
pub(crate) fn reader(path: &Path, busy_timeout: Duration) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = open(path, flags, busy_timeout)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB).map_err(Fault::from)?;
    Ok(connection)
}

fn open(path: &Path, flags: OpenFlags, busy_timeout: Duration) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(path, flags)
        .map_err(|error| StoreError::Unavailable(format!("{}: {error}", path.display())))?;
    connection.busy_timeout(busy_timeout).map_err(Fault::from)?;
    prepared(connection)
}

/// `connection`, set up to prepare each statement once.
fn prepared(connection: Connection) -> Result<Connection, StoreError> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Without this, SQLite plans a statement again whenever its LIMIT is bound again.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(Fault::from)?;
    Ok(connection)
}

/// Creates the file, if it is missing, readable by its owner only. SQLite gives its other files
/// the same mode.
fn make(path: &Path) -> Result<(), StoreError> {
    // Closing any descriptor of a file drops every lock that the process has on it, SQLite's
    // included. So a file that exists is never opened here, and a new one is closed before any
    // other thread of this process can have opened it.
    static MAKING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut new = OpenOptions::new();
    new.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut new, 0o600);
    match new.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => {
            Err(StoreError::Unavailable(format!("cannot make {}: {error}", path.display())))
        }
    }
}

/// Whether the file exists; if that cannot be determined, SQLite reports the error.
fn exists(path: &Path) -> Result<(), StoreError> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Err(missing(path)),
        _ => Ok(()),
    }
}

/// The message for a missing file.
fn missing(path: &Path) -> StoreError {
    StoreError::Incompatible(format!("{} does not exist; check the path", path.display()))
}

fn settle(connection: &Connection, options: &Options) -> Result<(), StoreError> {
    if let Location::File(path) = &options.location {
        let mode = write_ahead(connection, options.busy_timeout)?;
        if mode != "wal" {
            return Err(StoreError::Incompatible(format!(
                "{}: SQLite cannot keep a write-ahead log next to it (it answers {mode:?}); put it on \
                 a local disk",
                path.display()
            )));
        }
    }
    let synchronous = match options.durability {
        Durability::Full => "FULL",
        Durability::Off => "OFF",
    };
    let set = || -> Result<(), Fault> {
        connection.pragma_update(None, "synchronous", synchronous)?;
        connection.pragma_update(None, "foreign_keys", false)?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        connection.pragma_update(None, "journal_size_limit", LOG_BYTES_KEPT)?;
        Ok(())
    };
    Ok(set()?)
}

/// Switches to a write-ahead log. While another process does the same, SQLite answers busy without
/// waiting, so this function waits.
fn write_ahead(connection: &Connection, busy_timeout: Duration) -> Result<String, Fault> {
    let give_up = Instant::now() + busy_timeout;
    loop {
        let set = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0));
        match set {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < give_up =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            set => return Ok(set?),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// The value of a setting of a connection.
    fn setting(connection: &Connection, name: &str) -> String {
        let value: rusqlite::types::Value =
            connection.pragma_query_value(None, name, |row| row.get(0)).unwrap();
        match value {
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Text(text) => text,
            other => panic!("{name} is {other:?}"),
        }
    }

    #[test]
    fn every_answer_waits_for_the_disk_unless_that_is_switched_off() {
        const OFF: &str = "0";
        const FULL: &str = "2";
        let directory = tempfile::tempdir().unwrap();
        let options = Options::file(directory.path().join("ff.db"));
        for _ in 0..2 {
            let (connection, _) = writer(&options).unwrap();
            assert_eq!(setting(&connection, "synchronous"), FULL);
            assert_eq!(setting(&connection, "journal_mode"), "wal");
        }
        let (careless, _) = writer(&options.durability(Durability::Off)).unwrap();
        assert_eq!(setting(&careless, "synchronous"), OFF);
    }
}
