//! How a store is opened.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ff_store::{Clock, SystemClock};

/// Where the store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// In this file, and in two more next to it named after it (`-wal` and `-shm`).
    File(PathBuf),
    /// In the memory of the process; it is gone when the store is dropped.
    Memory,
}

/// What an answered command survives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// A power cut: every answer waits until its data is on disk.
    #[default]
    Full,
    /// A crash of the process, not of the machine: nothing waits for the disk. For tests.
    Off,
}

/// How a store is opened. Everything but its location has a default.
#[derive(Clone)]
pub struct Options {
    pub(crate) location: Location,
    pub(crate) durability: Durability,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) busy_timeout: Duration,
    pub(crate) readers: usize,
    pub(crate) makes: bool,
}

impl Options {
    /// A store in the file at `path`. A missing file is created, readable by its owner only, in a
    /// directory that must exist.
    pub fn file(path: impl Into<PathBuf>) -> Options {
        Options::at(Location::File(path.into()))
    }

    /// A store in memory.
    pub fn memory() -> Options {
        Options::at(Location::Memory)
    }

    /// A store at `location`.
    pub fn at(location: Location) -> Options {
        Options {
            location,
            durability: Durability::default(),
            clock: Arc::new(SystemClock),
            busy_timeout: Duration::from_secs(3),
            readers: std::thread::available_parallelism()
                .map_or(2, |cores| cores.get().clamp(2, 8)),
            makes: true,
        }
    }

    /// Opens only an existing store: a missing or empty file is refused as
    /// [`StoreError::Incompatible`], and none is created.
    ///
    /// [`StoreError::Incompatible`]: ff_store::StoreError::Incompatible
    pub fn existing(self) -> Options {
        Options { makes: false, ..self }
    }

    /// What an answered command survives; by default everything.
    pub fn durability(self, durability: Durability) -> Options {
        Options { durability, ..self }
    }

    /// The clock; by default that of the machine.
    pub fn clock(self, clock: Arc<dyn Clock>) -> Options {
        Options { clock, ..self }
    }

    /// How long to wait for another process that is writing before answering `store_busy`; by
    /// default 3 s.
    pub fn busy_timeout(self, busy_timeout: Duration) -> Options {
        Options { busy_timeout, ..self }
    }

    /// How many reads run at the same time; by default 2, and never less than 1. A store in
    /// memory reads one at a time.
    pub fn readers(self, readers: usize) -> Options {
        Options { readers: readers.max(1), ..self }
    }
}
