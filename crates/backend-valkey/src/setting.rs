//! Settings of the store: one key each.

use bytes::Bytes;
use ff_core::Setting;
use ff_store::StoreError;
use redis::Cmd;

use crate::keys;
use crate::link::Link;
use crate::reply;

/// Gives a setting its value if it has none, and answers the value that it has then. Only a new value is
/// written: a server whose memory is full still answers the others.
pub(crate) async fn fixed(link: &Link, setting: &Setting) -> Result<Bytes, StoreError> {
    let key = keys::setting(link.prefix(), setting.name());
    if let Some(value) = reply::maybe_bytes(link.send(Cmd::get(&key)).await?)? {
        return Ok(value);
    }
    let mut set = Cmd::new();
    set.arg("SET").arg(&key).arg(&setting.value()[..]).arg("NX");
    link.send_confirmed(set).await?;
    reply::maybe_bytes(link.send(Cmd::get(&key)).await?)?.ok_or_else(reply::missing)
}
