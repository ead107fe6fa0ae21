//! Settings of the store.

use bytes::Bytes;
use ff_core::{Setting, SettingName};
use rusqlite::{Connection, OptionalExtension};

use crate::error::Fault;

/// The value of a setting, if it has one.
pub(crate) fn get(connection: &Connection, name: &SettingName) -> Result<Option<Bytes>, Fault> {
    let mut select = connection.prepare_cached("SELECT value FROM setting WHERE name = ?1")?;
    let value: Option<Vec<u8>> = select.query_row([name.as_str()], |row| row.get(0)).optional()?;
    Ok(value.map(Bytes::from))
}

/// Gives a setting its value, if it has none. It is durable when this returns.
pub(crate) fn put(connection: &Connection, setting: &Setting) -> Result<(), Fault> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO setting (name, value) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
    )?;
    insert.execute((setting.name().as_str(), &setting.value()[..]))?;
    Ok(())
}
