//! A copy of a store that is in use: complete, consistent, and checked before it gets its name.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ff_core::Refusal;
use ff_store::StoreError;
use ff_store::audit::{self, Report};

use crate::error::Fault;
use crate::{connection, rows};

/// What was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// How large the copy is.
    pub bytes: u64,
    /// What an audit of the copy found.
    pub report: Report,
}

/// How long to wait for a lock; readers seldom meet one.
const BUSY_TIMEOUT: Duration = Duration::from_secs(3);

/// Copies the store at `from` to the new file `to`, while others may keep using it. The copy
/// is a consistent snapshot, needs no further file, is synced to disk, and gets its name only when
/// SQLite has found it intact and every record of it was compared with its indexes.
pub async fn backup(from: PathBuf, to: PathBuf) -> Result<Copied, StoreError> {
    let place = Place::reserve(to)?;
    let target = place.partial.clone();
    let copy = tokio::task::spawn_blocking(move || copy(&from, &target));
    copy.await.map_err(|_| StoreError::Unavailable("the copy was cut short".into()))??;
    let report = audit::audit(rows::stream(&place.partial, BUSY_TIMEOUT).await?).await?;
    let bytes = place.keep()?;
    Ok(Copied { bytes, report })
}

fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    let source = connection::of_a_store(from, BUSY_TIMEOUT)?;
    let name = to.to_str().ok_or_else(|| refused(to, "has a name that is not UTF-8"))?;
    source.execute("VACUUM INTO ?1", [name]).map_err(Fault::from)?;
    let copy = connection::of_a_store(to, BUSY_TIMEOUT)?;
    let found: String =
        copy.query_row("PRAGMA integrity_check(1)", (), |row| row.get(0)).map_err(Fault::from)?;
    match found.as_str() {
        "ok" => Ok(()),
        what => Err(StoreError::Corrupt(format!("SQLite says of the copy: {what}"))),
    }
}

/// The target file, and the one that is written. Dropping it removes both.
struct Place {
    name: PathBuf,
    partial: PathBuf,
    kept: bool,
}

impl Place {
    /// Reserves the name, which must be free, and creates an empty file to write to.
    fn reserve(name: PathBuf) -> Result<Place, StoreError> {
        let mut file = name.clone().into_os_string();
        file.push(format!(".{}.partial", std::process::id()));
        make(&name).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => refused(&name, "exists; give the name of a new file"),
            _ => failed(&name, &error),
        })?;
        // From here on, what was created is removed again unless it is kept.
        let place = Place { name, partial: file.into(), kept: false };
        make(&place.partial).map_err(|error| failed(&place.partial, &error))?;
        Ok(place)
    }

    /// Syncs what was written and renames it. Answers its size.
    fn keep(mut self) -> Result<u64, StoreError> {
        let done = || -> io::Result<u64> {
            // Not every system syncs a file that is open for reading, or renames one that is open.
            let file = OpenOptions::new().write(true).open(&self.partial)?;
            file.sync_all()?;
            let bytes = file.metadata()?.len();
            drop(file);
            fs::rename(&self.partial, &self.name)?;
            sync_folder_of(&self.name)?;
            Ok(bytes)
        };
        let bytes = done().map_err(|error| failed(&self.name, &error))?;
        self.kept = true;
        Ok(bytes)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.kept {
            // A file that was never created need not be removed.
            let _ = fs::remove_file(&self.partial);
            let _ = fs::remove_file(&self.name);
        }
    }
}

/// Makes the name of a new file durable.
#[cfg(unix)]
fn sync_folder_of(file: &Path) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// A folder is a file only on Unix; elsewhere the system writes its entries by itself.
#[cfg(not(unix))]
fn sync_folder_of(_file: &Path) -> io::Result<()> {
    Ok(())
}

/// Creates an empty file that only its owner can read.
fn make(path: &Path) -> io::Result<()> {
    let mut new = OpenOptions::new();
    new.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut new, 0o600);
    new.open(path).map(drop)
}

fn refused(path: &Path, why: &str) -> StoreError {
    Refusal::invalid("file", format!("{} {why}", path.display())).into()
}

fn failed(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Unavailable(format!("cannot write {}: {error}", path.display()))
}
