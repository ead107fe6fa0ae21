//! Refuses SQLite stores in a build without the feature `sqlite`.

use std::path::PathBuf;
use std::sync::Arc;

use ff_store::{EngineBackend, StoreError};

use crate::url::left_out;
use crate::{Missing, Opened};

pub(crate) fn memory() -> Result<Arc<dyn EngineBackend>, StoreError> {
    Err(left_out("sqlite").into())
}

pub(crate) fn file(_path: PathBuf, _missing: Missing) -> Result<Opened, StoreError> {
    Err(left_out("sqlite").into())
}
