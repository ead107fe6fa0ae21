//! Opens a store by its URL: the one place that names every backend.
//!
//! | URL | store |
//! |---|---|
//! | `sqlite:PATH` | the SQLite file at `PATH`, created if it is missing |
//! | `sqlite::memory:` | SQLite in the memory of this process |
//! | `valkey://HOST:PORT` | a Valkey server; `valkeys://` by TLS |
//! | `valkey-cluster://HOST:PORT,...` | a Valkey cluster; `valkeys-cluster://` by TLS |
//! | `postgres://HOST:PORT/DATABASE` | a schema of a Postgres database, made if it is missing |
//! | `memory:` | plain maps in the memory of this process |
//!
//! The features `sqlite`, `valkey` and `postgres`, all on by default, choose the backends that are compiled. A
//! URL of a backend that was left out is refused, and the refusal names the feature. Copies need
//! SQLite, probes need Valkey, and measurements of the bare store need both.

#[cfg(feature = "sqlite")]
mod backup;
#[cfg(all(feature = "sqlite", feature = "valkey"))]
mod ceiling;
mod keys;
#[cfg(feature = "postgres")]
mod migrate;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(not(feature = "sqlite"))]
#[path = "without_sqlite.rs"]
mod sqlite;
mod url;

use std::path::PathBuf;
use std::sync::Arc;

use ff_backend_memory::MemoryStore;
use ff_store::roles::Engine;
use ff_store::{Clock, EngineBackend, StoreError, SystemClock};

#[cfg(feature = "sqlite")]
pub use backup::backup;
#[cfg(all(feature = "sqlite", feature = "valkey"))]
pub use ceiling::{Ceiling, CeilingPlan, ceiling};
#[cfg(feature = "postgres")]
pub use ff_backend_postgres::Migrated;
#[cfg(feature = "sqlite")]
pub use ff_backend_sqlite::Copied;
#[cfg(feature = "valkey")]
pub use ff_backend_valkey::{BOUNDS as VALKEY_BOUNDS, LAYOUT as VALKEY_LAYOUT, Probe, Reading};
/// Work that is submitted inside a transaction of the caller.
#[cfg(feature = "postgres")]
pub mod postgres {
    pub use ff_backend_postgres::{Schema, Transaction, submit_in};
}
pub use keys::{key_file, serve_keys, use_keys};
#[cfg(feature = "postgres")]
pub use migrate::migrate;
pub use url::StoreUrl;

/// A store that was opened.
pub struct Opened {
    /// The store.
    pub backend: Arc<dyn EngineBackend>,
    /// Whether a file, or tables, were created for it.
    pub new: bool,
}

/// Opens the store that `url` names. A missing file is created.
pub async fn open(url: &str) -> Result<Arc<dyn EngineBackend>, StoreError> {
    Ok(open_or_make(url).await?.backend)
}

/// Opens the store that `url` names, and reports whether its file was created.
pub async fn open_or_make(url: &str) -> Result<Opened, StoreError> {
    opened(url, Missing::Make).await
}

/// A store in the memory of this process that takes its time from `clock`.
pub fn memory(clock: Arc<dyn Clock>) -> Arc<dyn EngineBackend> {
    keys::with_own_key(Engine::new(MemoryStore::serial(clock))).erased()
}

/// The file of the store that `url` names, if it does not exist.
pub fn missing(url: &str) -> Result<Option<PathBuf>, StoreError> {
    Ok(match url.parse::<StoreUrl>()? {
        StoreUrl::Sqlite(path) if matches!(path.try_exists(), Ok(false)) => Some(path),
        _ => None,
    })
}

/// Opens the store that `url` names. A file that is missing or empty is refused, and none is created.
pub async fn open_existing(url: &str) -> Result<Arc<dyn EngineBackend>, StoreError> {
    Ok(opened(url, Missing::Refuse).await?.backend)
}

/// What to do when the file of a store is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    Refuse,
}

async fn opened(url: &str, missing: Missing) -> Result<Opened, StoreError> {
    let backend = match url.parse::<StoreUrl>()? {
        StoreUrl::Memory => memory(Arc::new(SystemClock)),
        StoreUrl::SqliteMemory => sqlite::memory()?,
        StoreUrl::Sqlite(path) => return sqlite::file(path, missing),
        #[cfg(feature = "valkey")]
        StoreUrl::Valkey(options) => ff_backend_valkey::backend(&options).await?.erased(),
        #[cfg(feature = "postgres")]
        StoreUrl::Postgres(mut options) => {
            options.migrates = missing == Missing::Make;
            let backend = ff_backend_postgres::backend(&options).await?;
            let new = backend.store().is_new();
            return Ok(Opened { backend: backend.erased(), new });
        }
    };
    Ok(Opened { backend, new: false })
}

/// Statistics of the servers of the store that `url` names; `None` when it has none.
#[cfg(feature = "valkey")]
pub async fn probe(url: &str) -> Result<Option<Probe>, StoreError> {
    match url.parse::<StoreUrl>()? {
        StoreUrl::Valkey(options) => Ok(Some(Probe::connect(*options).await?)),
        _ => Ok(None),
    }
}
