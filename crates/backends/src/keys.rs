//! Where the signing keys of a store come from.

use std::path::PathBuf;

use ff_store::ring::{Key, KeyFile};
use ff_store::roles::Engine;
use ff_store::{EngineBackend, Store, StoreError};

use crate::StoreUrl;

/// The file of the signing keys of the store that `url` names: `given`, or the one that belongs to a
/// SQLite file. A store that several machines share has none unless one is given.
pub fn key_file(url: &str, given: Option<PathBuf>) -> Result<Option<KeyFile>, StoreError> {
    if let Some(path) = given {
        return Ok(Some(KeyFile::at(path)));
    }
    Ok(match url.parse::<StoreUrl>()? {
        StoreUrl::Sqlite(path) => Some(KeyFile::of_store(&path)),
        _ => None,
    })
}

/// Makes `backend`, the store that `url` names, sign and verify as a server must. The file of a SQLite
/// store is made if neither it nor the store has a key.
pub async fn serve_keys(
    backend: &dyn EngineBackend,
    url: &str,
    given: Option<PathBuf>,
) -> Result<(), StoreError> {
    let make = given.is_none();
    let file = key_file(url, given)?;
    if let Some(file) = file.as_ref().filter(|_| make)
        && backend.signing_keys().await?.0.current().is_none()
    {
        file.read_or_make()?;
    }
    backend.serve_keys(file).await
}

/// The same for a command that makes no keys and needs none: without a file it can neither sign nor
/// verify.
pub async fn use_keys(
    backend: &dyn EngineBackend,
    url: &str,
    given: Option<PathBuf>,
) -> Result<(), StoreError> {
    let must_exist = given.is_some();
    match key_file(url, given)? {
        Some(file) if must_exist || file.exists()? => backend.use_keys(file).await,
        _ => Ok(()),
    }
}

/// `engine` with a random key, for a store that ends with this process.
pub(crate) fn with_own_key<S: Store>(engine: Engine<S>) -> Engine<S> {
    match Key::random() {
        Ok(key) => engine.with_own_key(key),
        // Without randomness there are no tokens, and all else works.
        Err(_) => engine,
    }
}
