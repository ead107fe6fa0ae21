//! Opens a store by its URL: the one place that names every backend.
//!
//! | URL | store |
//! |---|---|
//! | `sqlite:PATH` | the SQLite file at `PATH`, made if it is missing |
//! | `sqlite::memory:` | SQLite in the memory of this process |
//! | `valkey://HOST:PORT` | a Valkey server; `valkeys://` by TLS |
//! | `valkey-cluster://HOST:PORT,...` | a Valkey cluster; `valkeys-cluster://` by TLS |
//! | `memory:` | plain maps in the memory of this process |

mod backup;
mod limit;
mod url;

use std::path::PathBuf;
use std::sync::Arc;

use ff_backend_memory::MemoryStore;
use ff_backend_sqlite::Options;
use ff_store::roles::Backend;
use ff_store::{EngineBackend, StoreError, SystemClock};

pub use backup::backup;
pub use ff_backend_sqlite::Copied;
pub use ff_backend_valkey::{BOUNDS as VALKEY_BOUNDS, LAYOUT as VALKEY_LAYOUT, Probe, Reading};
pub use limit::{Limit, LimitPlan, limit};
pub use url::StoreUrl;

/// A store that was opened.
pub struct Opened {
    /// The store.
    pub backend: Arc<dyn EngineBackend>,
    /// Whether a file was made for it.
    pub new: bool,
}

/// Opens the store that `url` names. A file that is missing is made.
pub async fn open(url: &str) -> Result<Arc<dyn EngineBackend>, StoreError> {
    Ok(open_or_make(url).await?.backend)
}

/// Opens the store that `url` names, and tells whether its file was missing and is made.
pub async fn open_or_make(url: &str) -> Result<Opened, StoreError> {
    opened(url, |options| options).await
}

/// The file of the store that `url` names, if it is not there.
pub fn missing(url: &str) -> Result<Option<PathBuf>, StoreError> {
    Ok(match url.parse::<StoreUrl>()? {
        StoreUrl::Sqlite(path) if matches!(path.try_exists(), Ok(false)) => Some(path),
        _ => None,
    })
}

/// Opens the store that `url` names. A file that is missing or empty is refused, and nothing is made.
pub async fn open_existing(url: &str) -> Result<Arc<dyn EngineBackend>, StoreError> {
    Ok(opened(url, Options::existing).await?.backend)
}

async fn opened(url: &str, how: fn(Options) -> Options) -> Result<Opened, StoreError> {
    let backend: Arc<dyn EngineBackend> = match url.parse::<StoreUrl>()? {
        StoreUrl::Memory => Arc::new(Backend::new(MemoryStore::serial(Arc::new(SystemClock)))),
        StoreUrl::SqliteMemory => Arc::new(ff_backend_sqlite::backend(Options::memory())?),
        StoreUrl::Sqlite(path) => {
            let backend = ff_backend_sqlite::backend(how(Options::file(path)))?;
            let new = backend.store().is_new();
            return Ok(Opened { backend: Arc::new(backend), new });
        }
        StoreUrl::Valkey(options) => Arc::new(ff_backend_valkey::backend(&options).await?),
    };
    Ok(Opened { backend, new: false })
}

/// A look from outside at the servers of the store that `url` names; `None` when it has none.
pub async fn probe(url: &str) -> Result<Option<Probe>, StoreError> {
    match url.parse::<StoreUrl>()? {
        StoreUrl::Valkey(options) => Ok(Some(Probe::connect(*options).await?)),
        StoreUrl::Memory | StoreUrl::SqliteMemory | StoreUrl::Sqlite(_) => Ok(None),
    }
}
