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

pub use ff_backend_sqlite::LimitPlan;
pub use url::StoreUrl;

/// Opens the store that `url` names.
pub async fn open(url: &str) -> Result<Arc<dyn EngineBackend>, StoreError> {
    Ok(match url.parse::<StoreUrl>()? {
        StoreUrl::Memory => Arc::new(Backend::new(MemoryStore::serial(Arc::new(SystemClock)))),
        StoreUrl::SqliteMemory => Arc::new(ff_backend_sqlite::backend(Options::memory())?),
        StoreUrl::Sqlite(path) => Arc::new(ff_backend_sqlite::backend(Options::file(path))?),
    })
}

/// Executions per second of the bare statements of the store that `url` names, measured on a fresh
/// one beside it; `None` when it has no such limit.
pub fn limit(url: &str, plan: LimitPlan) -> Result<Option<f64>, StoreError> {
    let StoreUrl::Sqlite(path) = url.parse::<StoreUrl>()? else { return Ok(None) };
    let unavailable = |error: std::io::Error| StoreError::Unavailable(error.to_string());
    let beside = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut directory = tempfile::Builder::new();
    directory.prefix("ff-limit-");
    let directory = match beside {
        Some(beside) => directory.tempdir_in(beside),
        None => directory.tempdir_in("."),
    };
    let directory = directory.map_err(unavailable)?;
    ff_backend_sqlite::limit(&directory.path().join("limit.ff"), plan).map(Some)
}
