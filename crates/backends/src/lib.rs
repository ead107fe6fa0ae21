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

use std::sync::Arc;

use ff_backend_memory::MemoryStore;
use ff_backend_sqlite::Options;
use ff_store::roles::Backend;
use ff_store::{EngineBackend, StoreError, SystemClock};

pub use backup::backup;
pub use ff_backend_sqlite::Copied;
pub use ff_backend_valkey::{LAYOUT as VALKEY_LAYOUT, Probe, Reading};
pub use limit::{Limit, LimitPlan, limit};
pub use url::StoreUrl;

/// Opens the store that `url` names.
pub async fn open(url: &str) -> Result<Arc<dyn EngineBackend>, StoreError> {
    Ok(match url.parse::<StoreUrl>()? {
        StoreUrl::Memory => Arc::new(Backend::new(MemoryStore::serial(Arc::new(SystemClock)))),
        StoreUrl::SqliteMemory => Arc::new(ff_backend_sqlite::backend(Options::memory())?),
        StoreUrl::Sqlite(path) => Arc::new(ff_backend_sqlite::backend(Options::file(path))?),
        StoreUrl::Valkey(options) => Arc::new(ff_backend_valkey::backend(&options).await?),
    })
}

/// A look from outside at the servers of the store that `url` names; `None` when it has none.
pub async fn probe(url: &str) -> Result<Option<Probe>, StoreError> {
    match url.parse::<StoreUrl>()? {
        StoreUrl::Valkey(options) => Ok(Some(Probe::connect(*options).await?)),
        StoreUrl::Memory | StoreUrl::SqliteMemory | StoreUrl::Sqlite(_) => Ok(None),
    }
}
