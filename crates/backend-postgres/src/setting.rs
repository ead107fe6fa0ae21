//! Settings of the store.

use bytes::Bytes;
use ff_core::{Setting, SettingName};

use crate::connection::Session;
use crate::error::Fault;

/// The value of a setting, if it has one.
pub(crate) async fn get(session: &Session<'_>, name: &SettingName) -> Result<Option<Bytes>, Fault> {
    let row = session.first("SELECT value FROM setting WHERE name = $1", &[&name.as_str()]).await?;
    Ok(row.map(|row| row.try_get::<_, Vec<u8>>(0)).transpose()?.map(Bytes::from))
}

/// Gives a setting its value, if it has none, and answers what it has then. It is durable when this
/// returns.
pub(crate) async fn put(session: &Session<'_>, setting: &Setting) -> Result<Option<Bytes>, Fault> {
    let sql = "INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    session.query(sql, &[&setting.name().as_str(), &&setting.value()[..]]).await?;
    get(session, setting.name()).await
}
