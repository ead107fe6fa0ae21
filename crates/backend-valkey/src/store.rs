//! The store: hot commands go to their functions, the rest takes the slow path.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use ff_core::collection::{Element, ElementRange};
use ff_core::feed::Trim;
use ff_core::limits::Blocker;
use ff_core::machine::{
    self, Action, ClaimRequest, Command, GrantNext, Granted, NeedsAdmission, Reply, Subject,
};
use ff_core::payload::BlobKey;
use ff_core::placement::QueueEntry;
use ff_core::{
    Capabilities, Execution, ExecutionId, Namespace, RequestId, Resource, ResourceKey, Setting,
    Time,
};
use ff_store::audit::Rows;
use ff_store::backlog::Backlog;
use ff_store::events::{LogPage, LogScan, Positions};
use ff_store::roles::Engine;
use ff_store::wakeups::Announcement;
use ff_store::{
    BlockedClass, BlockedScan, ContinuationQueue, DueCursor, DueTimers, EngineId, ListScan, Listed,
    PartitionSet, Repaired, ResourceScan, SettlementQueue, Stats, Store, StoreError, Wakeups,
    optimistic,
};
use tokio::task::AbortHandle;

use crate::backlog::Emptied;
use crate::claim::MOST_PICKS;
use crate::discovery::Discovery;
use crate::fast_path::{self, Outcome, Verb};
use crate::gather::Gathering;
use crate::heads::{Heads, News, Queue};
use crate::keys::{self, Keys};
use crate::library::Library;
use crate::link::Link;
use crate::options::Options;
use crate::slow_path::SlowPath;
use crate::unfinished::Unfinished;
use crate::{
    backlog, claim, constants, discovery, due, ended, events, query, repair, reply, resource, rows,
    setting, startup, stopped,
};

/// A store on Valkey.
pub struct ValkeyStore {
    shared: Arc<Shared>,
    /// The tasks that listen and scan for this process while the store is open.
    tasks: Vec<AbortHandle>,
}

/// The state that the store shares with its tasks.
pub struct Shared {
    pub(crate) link: Link,
    pub(crate) keys: Keys,
    pub(crate) gathering: Gathering,
    pub(crate) heads: Heads,
    pub(crate) wakeups: Wakeups,
    pub(crate) settlements: SettlementQueue,
    pub(crate) continuations: ContinuationQueue,
    pub(crate) discovery: Discovery,
    pub(crate) emptied: Emptied,
    pub(crate) unfinished: Unfinished,
    /// Names this process in its announcements, so that it skips its own.
    pub(crate) origin: [u8; 8],
}

impl Deref for ValkeyStore {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl Drop for ValkeyStore {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl fmt::Debug for ValkeyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValkeyStore").field("keys", &self.keys).finish_non_exhaustive()
    }
}

impl ValkeyStore {
    /// Connects, checks that the server can keep a store, and loads the functions on every primary.
    pub async fn open(options: &Options) -> Result<ValkeyStore, StoreError> {
        let library = Library::new(options, &constants::lua());
        let link = Link::connect(options, library).await?;
        let partitions = startup::partitions(&link, options.partitions).await?;
        let keys = Keys::new(link.prefix(), partitions);
        let origin = fastrand::u64(..).to_be_bytes();
        let shared = Arc::new(Shared {
            gathering: Gathering::new(link.clone(), keys.clone(), origin),
            keys,
            link,
            heads: Heads::default(),
            wakeups: Wakeups::default(),
            settlements: SettlementQueue::default(),
            continuations: ContinuationQueue::default(),
            discovery: Discovery::default(),
            emptied: Emptied::default(),
            unfinished: Unfinished::default(),
            origin,
        });
        let mut tasks = discovery::start(&shared).await;
        tasks.extend([ended::start(&shared), events::start(&shared), stopped::start(&shared)]);
        Ok(ValkeyStore { shared, tasks })
    }
}

/// Opens a store and puts the roles on it.
pub async fn backend(options: &Options) -> Result<Engine<ValkeyStore>, StoreError> {
    ValkeyStore::open(options).await.map(Engine::new)
}

impl Shared {
    /// Runs one command on the slow path, in the partition it concerns.
    pub(crate) async fn slow_path(
        &self,
        command: &Command,
        partition: u16,
    ) -> Result<Reply, StoreError> {
        let mut answers = self.slow_path_in(partition, vec![command.clone()]).await;
        answers.pop().unwrap_or_else(|| Err(reply::missing()))
    }

    /// Runs commands on the slow path, in the partition they concern, in one call where possible.
    async fn slow_path_in(
        &self,
        partition: u16,
        commands: Vec<Command>,
    ) -> Vec<Result<Reply, StoreError>> {
        let slow_path = SlowPath { store: self, partition };
        let Shared { wakeups, settlements, continuations, .. } = self;
        optimistic::run(&slow_path, commands, wakeups, settlements, continuations).await
    }

    /// Runs commands on the slow path, each on one execution or resource; all partitions at once.
    async fn slow_paths(&self, commands: &[&Command]) -> Vec<Result<Reply, StoreError>> {
        let mut by_partition: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
        for (place, command) in commands.iter().enumerate() {
            let subject = command.action.facts().subject;
            let partition = subject.partition(self.keys.partitions()).number();
            by_partition.entry(partition).or_default().push(place);
        }
        let runs = by_partition.into_iter().map(|(partition, places)| async move {
            let own = places.iter().map(|place| commands[*place].clone()).collect();
            places.into_iter().zip(self.slow_path_in(partition, own).await).collect::<Vec<_>>()
        });
        let mut answers: Vec<_> =
            futures_util::future::join_all(runs).await.into_iter().flatten().collect();
        answers.sort_by_key(|(place, _)| *place);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    /// Runs one command that has no function, or that its function left to the slow path.
    async fn alone(&self, command: &Command) -> Result<Reply, StoreError> {
        match &command.action {
            Action::Claim(claim) => claim::run(self, claim, command.entropy).await,
            Action::GrantNext(grant) => self.grant(grant, command).await,
            action => {
                let partition = action.facts().subject.partition(self.keys.partitions());
                self.slow_path(command, partition.number()).await
            }
        }
    }

    /// Reserves from the best partition that has work.
    async fn grant(&self, grant: &GrantNext, command: &Command) -> Result<Reply, StoreError> {
        if let Some(held) = self.claimed_by(grant.request).await?.first() {
            return self.slow_path(command, *held).await;
        }
        if let Some(at) = grant.at {
            return self.slow_path(command, at.among(self.keys.partitions()).number()).await;
        }
        let queue = (grant.namespace.clone(), grant.lane.clone());
        self.refresh_heads(vec![queue.clone()]).await?;
        if let Some(one) = grant.admissions.only().into_iter().flatten().next() {
            let partition = self.keys.partition(one.request.needs.execution);
            return self.slow_path(command, partition).await;
        }
        let mut asked = BTreeSet::new();
        let mut at = self.heads.best(&queue, &grant.capabilities, |_| true).unwrap_or(0);
        loop {
            asked.insert(at);
            let reply = self.slow_path(command, at).await?;
            let is_nothing = matches!(&reply, Reply::Granted(none) if *none == Granted::default());
            let open = |at| !asked.contains(&at) && !self.link.is_away(&self.keys.route(at));
            let next = self.heads.best(&queue, &grant.capabilities, open);
            match next.filter(|_| is_nothing && asked.len() < MOST_PICKS) {
                Some(next) => at = next,
                None => return Ok(reply),
            }
        }
    }

    /// The partitions in which a claim or grant holds something.
    pub(crate) async fn claimed_by(&self, request: RequestId) -> Result<Vec<u16>, StoreError> {
        let args = [request.as_bytes()[..].into()];
        let mut partitions = Vec::new();
        for answer in
            self.link.call_each("partitions_of_request", &self.keys.routes(), &args).await?
        {
            for route in reply::list(answer)? {
                partitions.extend(self.keys.routed(&reply::bytes(route)?));
            }
        }
        Ok(partitions)
    }

    /// Announces work of `class` to waiting claims.
    pub(crate) fn more_work(&self, queue: &Queue, class: Capabilities) {
        let (namespace, lane) = queue.clone();
        self.wakeups.announce([Announcement::Work { namespace, lane, class }]);
    }

    /// An execution has joined a queue, as its head if there is a score.
    pub(crate) fn has_joined(
        &self,
        partition: u16,
        queue: &Queue,
        requires: &Capabilities,
        head: Option<i64>,
    ) {
        let class = keys::class(requires);
        match head {
            Some(score) => self.improved(News {
                queue: queue.clone(),
                partition,
                class,
                requires: requires.clone(),
                score,
                count: None,
            }),
            None => self.heads.joined(queue, partition, &class),
        }
        self.more_work(queue, requires.clone());
    }

    /// Runs commands of one verb, one call per partition, all partitions at once. Ticks of executions
    /// that are known to be unfinished go to the slow path.
    async fn fast_path(&self, verb: Verb, run: &[(usize, &Command, u16)]) -> Vec<(usize, Outcome)> {
        let mut by_partition: BTreeMap<u16, Vec<(usize, &Command)>> = BTreeMap::new();
        let mut left = Vec::new();
        for (index, command, partition) in run {
            let subject = command.action.facts().subject.execution();
            if verb == Verb::Retire && subject.is_some_and(|id| self.unfinished.take(id)) {
                left.push((*index, Outcome::SlowPath));
                continue;
            }
            by_partition.entry(*partition).or_default().push((*index, *command));
        }
        let calls = by_partition.into_iter().map(|(partition, group)| async move {
            let commands: Vec<_> = group.iter().map(|(_, command)| *command).collect();
            let outcomes = fast_path::run(self, verb, partition, &commands).await;
            group.into_iter().map(|(index, _)| index).zip(outcomes).collect::<Vec<_>>()
        });
        left.extend(futures_util::future::join_all(calls).await.into_iter().flatten());
        left
    }

    /// Refuses commands that no state could accept, and those that this store cannot route.
    fn check(&self, command: &Command) -> Result<(), StoreError> {
        machine::check(command)?;
        Ok(fast_path::check(self, &command.action)?)
    }
}

/// Whether a command shares a call of the slow path: it has no function, and concerns one execution or
/// resource.
fn goes_together(command: &Command) -> bool {
    let subject = command.action.facts().subject;
    Verb::of(&command.action).is_none()
        && matches!(subject, Subject::Execution(_) | Subject::Resource(_))
}

#[async_trait]
impl Store for ValkeyStore {
    async fn execute(&self, batch: Vec<Command>) -> Vec<Result<Reply, StoreError>> {
        let mut answers = Vec::with_capacity(batch.len());
        let mut at = 0;
        while let Some(command) = batch.get(at) {
            if let Err(error) = self.check(command) {
                answers.push(Err(error));
                at += 1;
                continue;
            }
            let Some((verb, _)) = Verb::of(&command.action) else {
                let slow = batch[at..].iter().take_while(|command| goes_together(command));
                let slow: Vec<_> = slow.take_while(|command| self.check(command).is_ok()).collect();
                match slow.is_empty() {
                    true => answers.push(self.alone(command).await),
                    false => answers.extend(self.slow_paths(&slow).await),
                }
                at += slow.len().max(1);
                continue;
            };
            // A run of commands of one verb goes to the server in one call. A second command on the same
            // execution ends the run, because the first may need the slow path.
            let (mut executions, mut keys) = (HashSet::new(), HashSet::new());
            let stretch = batch[at..].iter().enumerate().map_while(|(index, command)| {
                let (_, id) = Verb::of(&command.action).filter(|(its, _)| *its == verb)?;
                let joins = self.check(command).is_ok()
                    && executions.insert(id)
                    && fast_path::key(&command.action).is_none_or(|key| keys.insert(key));
                joins.then(|| (index, command, self.keys.partition(id)))
            });
            let stretch: Vec<_> = stretch.collect();
            let mut outcomes = self.fast_path(verb, &stretch).await;
            outcomes.sort_by_key(|(index, _)| *index);
            let left = |(index, outcome): &(usize, Outcome)| match outcome {
                Outcome::Done(_) => None,
                Outcome::SlowPath => Some(&batch[at + index]),
            };
            let left: Vec<_> = outcomes.iter().filter_map(left).collect();
            let mut slow = self.slow_paths(&left).await.into_iter();
            for (_, outcome) in outcomes {
                answers.push(match outcome {
                    Outcome::Done(answer) => answer,
                    Outcome::SlowPath => slow.next().unwrap_or_else(|| Err(reply::missing())),
                });
            }
            at += stretch.len();
        }
        answers
    }

    async fn record(&self, id: ExecutionId) -> Result<Option<Execution>, StoreError> {
        query::record(self, id).await
    }

    async fn blob(&self, key: BlobKey) -> Result<Option<Bytes>, StoreError> {
        query::blob(self, key).await
    }

    async fn elements(&self, range: ElementRange) -> Result<Vec<Element>, StoreError> {
        query::elements(self, &range).await
    }

    async fn list(&self, scan: ListScan) -> Result<Vec<Listed>, StoreError> {
        query::list(self, &scan).await
    }

    async fn due(
        &self,
        share: &PartitionSet,
        after: Option<DueCursor>,
        limit: usize,
    ) -> Result<DueTimers, StoreError> {
        due::read(self, share, after.unwrap_or_default(), limit).await
    }

    async fn resource(&self, key: &ResourceKey) -> Result<Option<Resource>, StoreError> {
        resource::get(self, key).await
    }

    async fn resources(&self, scan: ResourceScan) -> Result<Vec<Resource>, StoreError> {
        resource::scan(self, &scan).await
    }

    async fn setting(&self, setting: Setting) -> Result<Bytes, StoreError> {
        setting::fixed(&self.link, &setting).await
    }

    async fn now(&self) -> Result<Time, StoreError> {
        query::now(self).await
    }

    async fn blocked(&self, scan: BlockedScan) -> Result<Vec<BlockedClass>, StoreError> {
        resource::blocked(self, &scan).await
    }

    async fn admission_candidates(
        &self,
        claim: &ClaimRequest,
        most: usize,
    ) -> Result<Vec<NeedsAdmission>, StoreError> {
        claim::admission_candidates(self, claim, most).await
    }

    async fn blockers(
        &self,
        share: &PartitionSet,
        after: Option<&(Namespace, Blocker)>,
        limit: usize,
    ) -> Result<Vec<(Namespace, Blocker)>, StoreError> {
        resource::blockers(self, share, after, limit).await
    }

    async fn events(&self, scan: LogScan) -> Result<LogPage, StoreError> {
        events::read(self, scan).await
    }

    async fn event_heads(&self, namespace: &Namespace) -> Result<Positions, StoreError> {
        events::heads(self, namespace).await
    }

    async fn trim_events(&self, namespace: &Namespace, trim: Trim) -> Result<bool, StoreError> {
        events::trim(self, namespace, trim).await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        backlog::count(self).await
    }

    async fn ahead(&self, place: &QueueEntry, id: ExecutionId) -> Result<u64, StoreError> {
        resource::ahead(self, place, id).await
    }

    async fn engine_heartbeat(&self, engine: EngineId) -> Result<Vec<EngineId>, StoreError> {
        query::engine_heartbeat(self, engine).await
    }

    async fn leave(&self, engine: EngineId) -> Result<(), StoreError> {
        query::leave(self, engine).await
    }

    async fn rows(&self) -> Result<Rows, StoreError> {
        rows::stream(self.shared.clone())
    }

    async fn repair(&self) -> Result<Repaired, StoreError> {
        let repaired = repair::run(self).await?;
        let counted = |counted| match counted {
            Err(error @ StoreError::Corrupt(_)) => {
                tracing::warn!(%error, "what cannot be read keeps others from being recounted");
                Ok(0)
            }
            counted => counted,
        };
        let limits = counted(ff_store::recount(self).await)?;
        let flows = counted(ff_store::recount_flows(self).await)?;
        Ok(Repaired { uncounted: limits + flows, ..repaired })
    }

    fn stats(&self) -> Option<Stats> {
        None
    }

    fn partitions(&self) -> u16 {
        self.keys.partitions()
    }

    fn wakeups(&self) -> &Wakeups {
        &self.shared.wakeups
    }

    fn continuations(&self) -> &ContinuationQueue {
        &self.shared.continuations
    }

    fn settlements(&self) -> &SettlementQueue {
        &self.shared.settlements
    }
}
