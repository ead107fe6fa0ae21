//! Opens SQLite stores.

use std::path::PathBuf;
use std::sync::Arc;

use ff_backend_sqlite::Options;
use ff_store::{EngineBackend, StoreError};

use crate::keys::with_own_key;
use crate::{Missing, Opened};

/// A database in the memory of this process.
pub(crate) fn memory() -> Result<Arc<dyn EngineBackend>, StoreError> {
    Ok(with_own_key(ff_backend_sqlite::backend(Options::memory())?).erased())
}

/// The database file at `path`.
pub(crate) fn file(path: PathBuf, missing: Missing) -> Result<Opened, StoreError> {
    let options = match missing {
        Missing::Make => Options::file(path),
        Missing::Refuse => Options::file(path).existing(),
    };
    let backend = ff_backend_sqlite::backend(options)?;
    let new = backend.store().is_new();
    Ok(Opened { backend: backend.erased(), new })
}
