//! The store: commands go to the writer, reads to the readers.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use ff_core::collection::{Element, ElementRange};
use ff_core::feed::Trim;
use ff_core::limits::Blocker;
use ff_core::machine::{ClaimRequest, Command, NeedsAdmission, Reply};
use ff_core::payload::BlobKey;
use ff_core::placement::QueueEntry;
use ff_core::{Execution, ExecutionId, Namespace, Resource, ResourceKey, Setting, Time};
use ff_store::audit::Rows;
use ff_store::backlog::Backlog;
use ff_store::events::{LogPage, LogScan, Positions};
use ff_store::roles::Engine;
use ff_store::{
    BlockedClass, BlockedScan, ContinuationQueue, DueCursor, DueTimers, EngineId, ListScan, Listed,
    PartitionSet, Repaired, ResourceScan, SettlementQueue, Store, StoreError, Wakeups,
};
use rusqlite::Connection;

use crate::clock::StoreClock;
use crate::engines::{Engines, Heartbeat};
use crate::error::Fault;
use crate::group::Group;
use crate::options::{Location, Options};
use crate::reader::Readers;
use crate::stats::Stats;
use crate::writer::Writer;
use crate::{backlog, connection, due, element, engines, event, query, resource, rows, setting};

/// A store in one SQLite file, or in memory.
pub struct SqliteStore {
    clock: Arc<StoreClock>,
    wakeups: Arc<Wakeups>,
    settlements: Arc<SettlementQueue>,
    continuations: Arc<ContinuationQueue>,
    engines: Mutex<Engines>,
    // Closed before the writer: the last connection to close cleans up the file.
    file: Option<File>,
    writer: Writer,
    new: bool,
}

/// The read side of a store in a file.
struct File {
    path: PathBuf,
    busy_timeout: Duration,
    readers: Readers,
}

impl SqliteStore {
    /// Opens the store, creating it if it is missing and bringing its tables up to date. A file of
    /// another product or of a newer release is refused as [`StoreError::Incompatible`] and left
    /// as it is.
    ///
    /// It waits for the disk, and for other processes that write, on the calling thread.
    pub fn open(options: Options) -> Result<SqliteStore, StoreError> {
        let (connection, new) = connection::writer(&options)?;
        let file = match options.location {
            Location::Memory => None,
            Location::File(path) => {
                let readers = Readers::open(&path, options.busy_timeout, options.readers)?;
                Some(File { path, busy_timeout: options.busy_timeout, readers })
            }
        };
        let clock = Arc::new(StoreClock::new(options.clock));
        let wakeups = Arc::<Wakeups>::default();
        let settlements = Arc::<SettlementQueue>::default();
        let continuations = Arc::<ContinuationQueue>::default();
        let writer = Writer::start(Group {
            connection,
            clock: clock.clone(),
            wakeups: wakeups.clone(),
            settlements: settlements.clone(),
            continuations: continuations.clone(),
            counters: Arc::default(),
        })?;
        Ok(SqliteStore {
            clock,
            wakeups,
            settlements,
            continuations,
            engines: Mutex::default(),
            file,
            writer,
            new,
        })
    }

    /// Whether it was created.
    pub fn is_new(&self) -> bool {
        self.new
    }

    /// What the writer has done since the store was opened.
    pub fn stats(&self) -> Stats {
        self.writer.stats()
    }

    fn engines(&self) -> MutexGuard<'_, Engines> {
        self.engines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &self.file {
            Some(file) => file.readers.read(read).await,
            // A database in memory belongs to the connection that created it.
            None => self.writer.with_connection(read).await,
        }
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.file.as_ref().map(|file| &file.path);
        f.debug_struct("SqliteStore").field("path", &path).finish_non_exhaustive()
    }
}

/// Opens a store and puts the roles on it.
pub fn backend(options: Options) -> Result<Engine<SqliteStore>, StoreError> {
    SqliteStore::open(options).map(Engine::new)
}

#[async_trait]
impl Store for SqliteStore {
    async fn execute(&self, batch: Vec<Command>) -> Vec<Result<Reply, StoreError>> {
        self.writer.execute(batch).await
    }

    async fn record(&self, id: ExecutionId) -> Result<Option<Execution>, StoreError> {
        self.read(move |connection| query::record(connection, id)).await
    }

    async fn blob(&self, key: BlobKey) -> Result<Option<Bytes>, StoreError> {
        self.read(move |connection| query::blob(connection, key)).await
    }

    async fn elements(&self, range: ElementRange) -> Result<Vec<Element>, StoreError> {
        self.read(move |connection| element::range(connection, &range)).await
    }

    async fn list(&self, scan: ListScan) -> Result<Vec<Listed>, StoreError> {
        self.read(move |connection| query::list(connection, &scan)).await
    }

    async fn due(
        &self,
        share: &PartitionSet,
        after: Option<DueCursor>,
        limit: usize,
    ) -> Result<DueTimers, StoreError> {
        let clock = self.clock.clone();
        if share.is_empty() {
            let none = move |connection: &Connection| clock.read(connection);
            return Ok(DueTimers::none(self.read(none).await?.mark));
        }
        let after = after.unwrap_or_default();
        self.read(move |connection| due::read(connection, &clock, after, limit)).await
    }

    async fn resource(&self, key: &ResourceKey) -> Result<Option<Resource>, StoreError> {
        let key = key.clone();
        self.read(move |connection| resource::get(connection, &key)).await
    }

    async fn resources(&self, scan: ResourceScan) -> Result<Vec<Resource>, StoreError> {
        self.read(move |connection| resource::scan(connection, &scan)).await
    }

    async fn setting(&self, setting: Setting) -> Result<Bytes, StoreError> {
        let name = setting.name().clone();
        if let Some(value) = self.read(move |connection| setting::get(connection, &name)).await? {
            return Ok(value);
        }
        let put = move |connection: &Connection| {
            setting::put(connection, &setting)?;
            setting::get(connection, setting.name())
        };
        let value = self.writer.with_connection(put).await?;
        value.ok_or_else(|| StoreError::Corrupt("a setting was written and is not there".into()))
    }

    async fn now(&self) -> Result<Time, StoreError> {
        let clock = self.clock.clone();
        self.read(move |connection| Ok(clock.read(connection)?.mark.now)).await
    }

    async fn blocked(&self, scan: BlockedScan) -> Result<Vec<BlockedClass>, StoreError> {
        self.read(move |connection| query::blocked(connection, &scan)).await
    }

    async fn admission_candidates(
        &self,
        _claim: &ClaimRequest,
        _most: usize,
    ) -> Result<Vec<NeedsAdmission>, StoreError> {
        Ok(Vec::new())
    }

    async fn blockers(
        &self,
        share: &PartitionSet,
        after: Option<&(Namespace, Blocker)>,
        limit: usize,
    ) -> Result<Vec<(Namespace, Blocker)>, StoreError> {
        if share.is_empty() {
            return Ok(Vec::new());
        }
        let after = after.cloned();
        self.read(move |connection| query::blockers(connection, after.as_ref(), limit)).await
    }

    async fn events(&self, scan: LogScan) -> Result<LogPage, StoreError> {
        self.read(move |connection| event::read(connection, scan)).await
    }

    async fn event_heads(&self, namespace: &Namespace) -> Result<Positions, StoreError> {
        let namespace = namespace.clone();
        self.read(move |connection| event::heads(connection, namespace.as_str())).await
    }

    async fn trim_events(&self, namespace: &Namespace, trim: Trim) -> Result<bool, StoreError> {
        let namespace = namespace.clone();
        let trim = move |connection: &Connection| event::trim(connection, namespace.as_str(), trim);
        self.writer.with_connection(trim).await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        let clock = self.clock.clone();
        self.read(move |connection| backlog::count(connection, &clock)).await
    }

    async fn ahead(&self, place: &QueueEntry, id: ExecutionId) -> Result<u64, StoreError> {
        let place = place.clone();
        self.read(move |connection| query::ahead(connection, &place, id)).await
    }

    async fn engine_heartbeat(&self, engine: EngineId) -> Result<Vec<EngineId>, StoreError> {
        let clock = self.clock.clone();
        let read = move |connection: &Connection| {
            Ok((engines::read(connection)?, clock.read(connection)?.mark.now))
        };
        let (rows, now) = self.read(read).await?;
        let Heartbeat { alive, dead, beats } = self.engines().judge(engine, &rows, now);
        if let Some(beats) = beats {
            let write =
                move |connection: &Connection| engines::write(connection, engine, beats, &dead);
            self.writer.with_connection(write).await?;
        }
        Ok(alive)
    }

    async fn leave(&self, engine: EngineId) -> Result<(), StoreError> {
        let remove = move |connection: &Connection| engines::remove(connection, engine);
        self.writer.with_connection(remove).await?;
        self.wakeups.announce_engines();
        Ok(())
    }

    async fn rows(&self) -> Result<Rows, StoreError> {
        match &self.file {
            Some(file) => rows::stream(&file.path, file.busy_timeout).await,
            None => Ok(rows::replay(self.writer.with_connection(rows::collect).await?)),
        }
    }

    async fn repair(&self) -> Result<Repaired, StoreError> {
        Ok(Repaired::default())
    }

    fn stats(&self) -> Option<ff_store::Stats> {
        let Stats { commands, commits, .. } = self.writer.stats();
        Some(ff_store::Stats { commands, syncs: commits })
    }

    fn partitions(&self) -> u16 {
        1
    }

    fn wakeups(&self) -> &Wakeups {
        &self.wakeups
    }

    fn settlements(&self) -> &SettlementQueue {
        &self.settlements
    }

    fn continuations(&self) -> &ContinuationQueue {
        &self.continuations
    }
}
