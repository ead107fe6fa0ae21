//! Opens a store by its URL: the one place that names every backend.
//!
//! | URL | store |
//! |---|---|
//! | `sqlite:PATH` | the SQLite file at `PATH`, made if it is missing |
//! | `sqlite::memory:` | SQLite in the memory of this process |
//! | `memory:` | plain maps in the memory of this process |

mod url;

use std::sync::Arc;

use ff_backend_memory::MemoryStore;
use ff_backend_sqlite::Options;
use ff_store::roles::Backend;
use ff_store::{EngineBackend, StoreError, SystemClock};

pub use url::StoreUrl;

/// Opens the store that `url` names.
pub async fn open(url: &str) -> Result<Arc<dyn EngineBackend>, StoreError> {
    Ok(match url.parse::<StoreUrl>()? {
        StoreUrl::Memory => Arc::new(Backend::new(MemoryStore::serial(Arc::new(SystemClock)))),
        StoreUrl::SqliteMemory => Arc::new(ff_backend_sqlite::backend(Options::memory())?),
        StoreUrl::Sqlite(path) => Arc::new(ff_backend_sqlite::backend(Options::file(path))?),
    })
}
