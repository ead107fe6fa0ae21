//! Copies of a store, for those that can be copied while they are in use.

use std::path::Path;

use ff_backend_sqlite::Copied;
use ff_core::Refusal;
use ff_store::StoreError;

use crate::StoreUrl;

/// Copies the store that `url` names to the new file `to`, while it is in use. Only a SQLite file can
/// be copied this way; others are refused with what to do instead.
pub async fn backup(url: &str, to: &Path) -> Result<Copied, StoreError> {
    let why = match url.parse::<StoreUrl>()? {
        StoreUrl::Sqlite(path) => return ff_backend_sqlite::backup(path, to.to_owned()).await,
        #[cfg(feature = "valkey")]
        StoreUrl::Valkey(_) => {
            "is on a Valkey server, which makes copies itself: run `valkey-cli BGSAVE` or keep its \
             append-only files, on every primary; docs/backup.md says how to restore them"
        }
        #[cfg(feature = "postgres")]
        StoreUrl::Postgres(_) => {
            "is in a Postgres database, which makes copies itself: run `pg_dump --schema=SCHEMA`, or use \
             the base backups of its server; docs/backup.md says how to restore them"
        }
        StoreUrl::Memory | StoreUrl::SqliteMemory => {
            "is in the memory of this process and has nothing to copy; give sqlite:PATH"
        }
    };
    Err(Refusal::invalid("store", why).into())
}
