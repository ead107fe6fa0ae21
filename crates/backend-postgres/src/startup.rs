//! What is checked before a store serves: that the server is one that keeps what it has acknowledged.

use ff_store::StoreError;

use crate::connection::Session;
use crate::error::Fault;
use crate::options::Options;

/// The oldest release that is tested.
const OLDEST: i32 = 13;

/// Refuses a server that loses data, and one that is too old; warns of one that may lose the last answers.
pub(crate) async fn check(session: &Session<'_>, options: &Options) -> Result<(), StoreError> {
    let sql = "SELECT current_setting('server_version_num')::integer / 10000,
         current_setting('fsync') = 'on', current_setting('synchronous_commit') <> 'off',
         pg_is_in_recovery()";
    let row = session.first(sql, &[]).await?;
    let row = row.ok_or_else(|| StoreError::Unavailable("the server is silent".into()))?;
    let number = |column: usize| row.try_get::<_, i32>(column).map_err(Fault::from);
    let is = |column: usize| row.try_get::<_, bool>(column).map_err(Fault::from);
    if number(0)? < OLDEST {
        let why =
            format!("it is Postgres {}, and {OLDEST} is the oldest that is supported", number(0)?);
        return Err(StoreError::Incompatible(why));
    }
    if is(3)? {
        return Err(StoreError::Incompatible("it is a read-only standby; name the primary".into()));
    }
    if options.accept_data_loss {
        return Ok(());
    }
    if !is(1)? {
        return Err(StoreError::Incompatible(
            "its fsync is off, so a crash of its machine may destroy all of it; set fsync = on, or accept \
             that with ?accept_data_loss=true"
                .into(),
        ));
    }
    if !is(2)? {
        tracing::warn!(
            "synchronous_commit is off: a crash of the server loses what was answered in the last moments"
        );
    }
    Ok(())
}
