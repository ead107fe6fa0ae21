//! The store: commands go to the writers, reads to the readers.

use std::fmt;
use std::sync::Arc;

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

use crate::clock::StoreClock;
use crate::connection::{Dial, Line};
use crate::group::Group;
use crate::inbox::Inbox;
use crate::notes::Notes;
use crate::options::Options;
use crate::reader::{Readers, read};
use crate::stats::{Counters, Stats};
use crate::watch::Watch;
use crate::writer::{Effects, Writers};
use crate::{
    backlog, clock, due, element, engines, event, query, resource, rows, schema, setting, startup,
};

/// A store in one schema of a Postgres database.
pub struct PostgresStore {
    dial: Arc<Dial>,
    clock: Arc<StoreClock>,
    effects: Effects,
    readers: Readers,
    writers: Writers,
    new: bool,
    _watch: Watch,
    _inbox: Option<Inbox>,
}

impl PostgresStore {
    /// Opens the store. Its tables are made or brought up to date, if the user may do that. A schema of
    /// another product or of a newer release is refused as [`StoreError::Incompatible`] and left as it is,
    /// and so is a server that loses data.
    pub async fn open(options: &Options) -> Result<PostgresStore, StoreError> {
        let dial = Arc::new(Dial::new(options)?);
        let session = dial.connect(None).await?;
        startup::check(&session, options).await?;
        let new = schema::ready(&session, options).await?;
        event::remove_foreign(&session).await?;
        let clock = Arc::<StoreClock>::default();
        let counters = Arc::<Counters>::default();
        let effects = Effects {
            wakeups: Arc::default(),
            settlements: Arc::default(),
            continuations: Arc::default(),
            notes: Arc::new(Notes::new()),
        };
        let watch =
            Watch::start(dial.clone(), effects.wakeups.clone(), effects.notes.clone()).await?;
        let mut sessions = vec![session].into_iter();
        let group = |_| Group {
            line: Line::new(dial.clone(), sessions.next()),
            clock: clock.clone(),
            counters: counters.clone(),
        };
        let groups = (0..options.writers.max(1)).map(group).collect();
        let writers = Writers::start(groups, &effects, counters.clone());
        let readers = Readers::new(dial.clone());
        let inbox = options
            .takes_submissions
            .then(|| Inbox::start(Line::new(dial.clone(), None), clock.clone(), effects.clone()));
        Ok(PostgresStore {
            dial,
            clock,
            effects,
            readers,
            writers,
            new,
            _watch: watch,
            _inbox: inbox,
        })
    }

    /// Whether it was created.
    pub fn is_new(&self) -> bool {
        self.new
    }

    /// What the writers have done since the store was opened.
    pub fn stats(&self) -> Stats {
        self.writers.stats()
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("options", self.dial.options())
            .finish_non_exhaustive()
    }
}

/// Opens a store and puts the roles on it.
pub async fn backend(options: &Options) -> Result<Engine<PostgresStore>, StoreError> {
    PostgresStore::open(options).await.map(Engine::new)
}

#[async_trait]
impl Store for PostgresStore {
    async fn execute(&self, batch: Vec<Command>) -> Vec<Result<Reply, StoreError>> {
        self.writers.execute(batch).await
    }

    async fn record(&self, id: ExecutionId) -> Result<Option<Execution>, StoreError> {
        read!(self.readers, session => query::record(session, id))
    }

    async fn blob(&self, key: BlobKey) -> Result<Option<Bytes>, StoreError> {
        read!(self.readers, session => query::blob(session, key))
    }

    async fn elements(&self, range: ElementRange) -> Result<Vec<Element>, StoreError> {
        read!(self.readers, session => element::range(session, &range))
    }

    async fn list(&self, scan: ListScan) -> Result<Vec<Listed>, StoreError> {
        read!(self.readers, session => query::list(session, &scan))
    }

    async fn due(
        &self,
        share: &PartitionSet,
        after: Option<DueCursor>,
        limit: usize,
    ) -> Result<DueTimers, StoreError> {
        if share.is_empty() {
            return Ok(DueTimers::none(clock::mark(self.now().await?)));
        }
        let after = after.unwrap_or_default();
        read!(self.readers, session => due::read(session, &self.clock, after.clone(), limit))
    }

    async fn resource(&self, key: &ResourceKey) -> Result<Option<Resource>, StoreError> {
        read!(self.readers, session => resource::get(session, key))
    }

    async fn resources(&self, scan: ResourceScan) -> Result<Vec<Resource>, StoreError> {
        read!(self.readers, session => resource::scan(session, &scan))
    }

    async fn setting(&self, setting: Setting) -> Result<Bytes, StoreError> {
        let get = read!(self.readers, session => setting::get(session, setting.name()));
        if let Some(value) = get? {
            return Ok(value);
        }
        let put = read!(self.readers, session => setting::put(session, &setting));
        put?.ok_or_else(|| StoreError::Corrupt("a setting was written and is not there".into()))
    }

    async fn now(&self) -> Result<Time, StoreError> {
        read!(self.readers, session => self.clock.read(session))
    }

    async fn blocked(&self, scan: BlockedScan) -> Result<Vec<BlockedClass>, StoreError> {
        read!(self.readers, session => query::blocked(session, &scan))
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
        read!(self.readers, session => query::blockers(session, after, limit))
    }

    async fn events(&self, scan: LogScan) -> Result<LogPage, StoreError> {
        read!(self.readers, session => event::read(session, &scan))
    }

    async fn event_heads(&self, namespace: &Namespace) -> Result<Positions, StoreError> {
        read!(self.readers, session => event::heads(session, namespace))
    }

    async fn trim_events(&self, namespace: &Namespace, trim: Trim) -> Result<bool, StoreError> {
        read!(self.readers, session => event::trim(session, namespace, trim))
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        read!(self.readers, session => backlog::count(session, &self.clock))
    }

    async fn ahead(&self, place: &QueueEntry, id: ExecutionId) -> Result<u64, StoreError> {
        read!(self.readers, session => query::ahead(session, place, id))
    }

    async fn engine_heartbeat(&self, engine: EngineId) -> Result<Vec<EngineId>, StoreError> {
        let beat = read!(self.readers, session => engines::beat(session, engine));
        let engines::Heartbeat { alive, is_new } = beat?;
        if is_new {
            self.effects.notes.add_engines();
        }
        Ok(alive)
    }

    async fn leave(&self, engine: EngineId) -> Result<(), StoreError> {
        let removed = read!(self.readers, session => engines::remove(session, engine));
        removed?;
        self.effects.wakeups.announce_engines();
        self.effects.notes.add_engines();
        Ok(())
    }

    async fn rows(&self) -> Result<Rows, StoreError> {
        rows::stream(self.dial.connect(None).await?).await
    }

    async fn repair(&self) -> Result<Repaired, StoreError> {
        Ok(Repaired::default())
    }

    fn stats(&self) -> Option<ff_store::Stats> {
        let Stats { commands, commits, .. } = self.writers.stats();
        Some(ff_store::Stats { commands, syncs: commits })
    }

    fn partitions(&self) -> u16 {
        1
    }

    fn wakeups(&self) -> &Wakeups {
        &self.effects.wakeups
    }

    fn settlements(&self) -> &SettlementQueue {
        &self.effects.settlements
    }

    fn continuations(&self) -> &ContinuationQueue {
        &self.effects.continuations
    }
}
