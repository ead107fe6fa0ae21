//! The store: hot commands go to their functions, the rest the general way.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use ff_core::control::Blocker;
use ff_core::machine::{
    self, Action, ClaimRequest, Command, GrantNext, Granted, Home, NeedsAdmission, Reply,
};
use ff_core::payload::BlobKey;
use ff_core::placement::QueueEntry;
use ff_core::record::Attempt;
use ff_core::{
    Capabilities, Execution, ExecutionId, IdempotencyKey, Namespace, Partition, RequestId,
    Resource, ResourceKey, Time,
};
use ff_store::audit::Rows;
use ff_store::census::Census;
use ff_store::roles::Backend;
use ff_store::wakeups::Announcement;
use ff_store::{
    BlockedClass, BlockedScan, DueTimers, EngineId, ListScan, Listed, Repaired, ResourceScan,
    SettlementQueue, Share, Stats, Store, StoreError, Wakeups, optimistic,
};
use tokio::task::AbortHandle;

use crate::census::Emptied;
use crate::claim::MOST_PICKS;
use crate::fused::{self, Outcome, Verb};
use crate::general::General;
use crate::heads::{Heads, News, Queue};
use crate::keys::{self, Keys};
use crate::library::Library;
use crate::link::Link;
use crate::look::Looking;
use crate::options::Options;
use crate::{census, claim, constants, look, mend, query, reply, resource, rows, startup};

/// A store on Valkey.
pub struct ValkeyStore {
    shared: Arc<Shared>,
    /// What listens and looks for this process, as long as the store is open.
    tasks: Vec<AbortHandle>,
}

/// What the store shares with its tasks.
pub struct Shared {
    pub(crate) link: Link,
    pub(crate) keys: Keys,
    pub(crate) heads: Heads,
    pub(crate) wakeups: Wakeups,
    pub(crate) settlements: SettlementQueue,
    pub(crate) looking: Looking,
    pub(crate) emptied: Emptied,
    /// Names this process in its announcements, which it need not hear.
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
        let shared = Arc::new(Shared {
            keys: Keys::new(link.prefix(), partitions),
            link,
            heads: Heads::default(),
            wakeups: Wakeups::default(),
            settlements: SettlementQueue::default(),
            looking: Looking::default(),
            emptied: Emptied::default(),
            origin: fastrand::u64(..).to_be_bytes(),
        });
        let tasks = look::start(&shared).await;
        Ok(ValkeyStore { shared, tasks })
    }
}

/// Opens a store and puts the roles on it.
pub async fn backend(options: &Options) -> Result<Backend<ValkeyStore>, StoreError> {
    ValkeyStore::open(options).await.map(Backend::new)
}

impl Shared {
    /// Runs one command the general way, in the partition it concerns.
    pub(crate) async fn general(
        &self,
        command: &Command,
        partition: u16,
    ) -> Result<Reply, StoreError> {
        let general = General::of(self, command, partition);
        optimistic::run(&general, command, &self.wakeups, &self.settlements).await
    }

    /// Runs one command that has no function of its own, or that its function left.
    async fn alone(&self, command: &Command) -> Result<Reply, StoreError> {
        match &command.action {
            Action::Claim(claim) => claim::run(self, claim, command.entropy).await,
            Action::GrantNext(grant) => self.grant(grant, command).await,
            action => self.general(command, self.partition(action)).await,
        }
    }

    /// Reserves from the best partition that has something to give.
    async fn grant(&self, grant: &GrantNext, command: &Command) -> Result<Reply, StoreError> {
        if let Some(held) = self.holding(grant.request).await?.first() {
            return self.general(command, *held).await;
        }
        if let Some(at) = grant.at {
            return self.general(command, at.among(self.keys.partitions()).number()).await;
        }
        let queue = (grant.namespace.clone(), grant.lane.clone());
        self.look(vec![queue.clone()]).await?;
        if let Some(one) = grant.admissions.only().into_iter().flatten().next() {
            let partition = self.keys.partition(one.request.needs.execution);
            return self.general(command, partition).await;
        }
        let mut asked = BTreeSet::new();
        let mut at = self.heads.best(&queue, &grant.capabilities, |_| true).unwrap_or(0);
        loop {
            asked.insert(at);
            let reply = self.general(command, at).await?;
            let is_nothing = matches!(&reply, Reply::Granted(none) if *none == Granted::default());
            let open = |at| !asked.contains(&at) && !self.link.is_away(&self.keys.route(at));
            let next = self.heads.best(&queue, &grant.capabilities, open);
            match next.filter(|_| is_nothing && asked.len() < MOST_PICKS) {
                Some(next) => at = next,
                None => return Ok(reply),
            }
        }
    }

    /// The partition that a command concerns, for all but claims and grants.
    fn partition(&self, action: &Action) -> u16 {
        if let Some(home) = home_of(action) {
            return Partition::home(&home.namespace, self.keys.partitions()).number();
        }
        match resource_of(action) {
            Some(key) => key.partition.number() % self.keys.partitions(),
            None => self.keys.partition(execution(action)),
        }
    }

    /// The partitions in which a claim or grant holds something.
    pub(crate) async fn holding(&self, request: RequestId) -> Result<Vec<u16>, StoreError> {
        let args = [request.as_bytes()[..].into()];
        let mut partitions = Vec::new();
        for answer in self.link.call_each("holding", &self.keys.routes(), &args).await? {
            for route in reply::list(answer)? {
                partitions.extend(self.keys.routed(&reply::bytes(route)?));
            }
        }
        Ok(partitions)
    }

    /// There is work of `class` for somebody who waits.
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

    /// Runs commands of one verb, each partition's in one go and all partitions at once.
    async fn fused(&self, verb: Verb, run: &[(usize, &Command, u16)]) -> Vec<(usize, Outcome)> {
        let mut by_partition: BTreeMap<u16, Vec<(usize, &Command)>> = BTreeMap::new();
        for (index, command, partition) in run {
            by_partition.entry(*partition).or_default().push((*index, *command));
        }
        let calls = by_partition.into_iter().map(|(partition, group)| async move {
            let commands: Vec<_> = group.iter().map(|(_, command)| *command).collect();
            let outcomes = fused::run(self, verb, partition, &commands).await;
            group.into_iter().map(|(index, _)| index).zip(outcomes).collect::<Vec<_>>()
        });
        futures_util::future::join_all(calls).await.into_iter().flatten().collect()
    }

    /// Refuses what no state could accept, and what this store cannot route.
    fn check(&self, command: &Command) -> Result<(), StoreError> {
        machine::check(command)?;
        if let Action::Submit(submit) = &command.action {
            fused::submit::check(self, submit)?;
        }
        Ok(())
    }
}

/// The execution that a command concerns, for all that concern exactly one.
fn execution(action: &Action) -> ExecutionId {
    match action {
        Action::Submit(submit) => submit.id,
        Action::ClaimGranted(claim) => claim.target.execution,
        Action::Renew(renew) => renew.hold.target.execution,
        Action::ReportProgress(report) => report.hold.target.execution,
        Action::Complete(complete) => complete.hold.target.execution,
        Action::Fail(fail) => fail.hold.target.execution,
        Action::Delay(delay) => delay.hold.target.execution,
        Action::CancelHeld(cancel) => cancel.hold.target.execution,
        Action::HandBack(back) => back.hold.target.execution,
        Action::Cancel(cancel) => cancel.target.execution,
        Action::Revoke(revoke) => revoke.target.execution,
        Action::SetPriority(set) => set.target.execution,
        Action::SetTags(set) => set.target.execution,
        Action::Replay(replay) => replay.target.execution,
        Action::Tick(tick) => tick.execution,
        Action::Claim(_) | Action::GrantNext(_) => unreachable!("a claim concerns a queue"),
        Action::Register(_)
        | Action::Heartbeat(_)
        | Action::Disconnect(_)
        | Action::SetLane(_)
        | Action::CopyLane(_)
        | Action::LaneSpread(_)
        | Action::TickResource(_)
        | Action::PutBudget(_)
        | Action::ResetBudget(_)
        | Action::PutQuota(_)
        | Action::Discard(_)
        | Action::SetWaiters(_)
        | Action::Admit(_) => unreachable!("it concerns resources"),
        Action::Block(block) => block.execution,
        Action::Unblock(unblock) => unblock.execution,
        Action::ReportUsage(report) => report.hold.target.execution,
    }
}

/// The resource that a command concerns, if it does.
fn resource_of(action: &Action) -> Option<&ResourceKey> {
    match action {
        Action::Register(register) => Some(&register.key),
        Action::Heartbeat(heartbeat) => Some(&heartbeat.key),
        Action::Disconnect(disconnect) => Some(&disconnect.key),
        Action::SetLane(set) => Some(&set.key),
        Action::CopyLane(copy) => Some(&copy.key),
        Action::LaneSpread(spread) => Some(&spread.key),
        Action::TickResource(tick) => Some(&tick.key),
        Action::PutBudget(put) => Some(&put.key),
        Action::ResetBudget(reset) => Some(&reset.key),
        Action::PutQuota(put) => Some(&put.key),
        Action::Discard(discard) => Some(&discard.key),
        Action::SetWaiters(set) => Some(&set.key),
        _ => None,
    }
}

/// Whose resources a command concerns, if it concerns several.
fn home_of(action: &Action) -> Option<&Home> {
    match action {
        Action::Admit(admit) => Some(&admit.home),
        _ => None,
    }
}

/// The submitter's own name for what a command is to make.
fn key(action: &Action) -> Option<(&Namespace, &IdempotencyKey)> {
    match action {
        Action::Submit(submit) => Some((&submit.namespace, submit.key.as_ref()?)),
        _ => None,
    }
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
            let Some(verb) = Verb::of(&command.action) else {
                // Blocks are of different executions and copies of a lane of different partitions:
                // they need not wait for each other.
                let apart = |command: &&Command| {
                    matches!(command.action, Action::Block(_) | Action::CopyLane(_))
                };
                let count = batch[at..].iter().take_while(apart).count().max(1);
                let several = batch[at..at + count].iter().map(|command| self.alone(command));
                answers.extend(futures_util::future::join_all(several).await);
                at += count;
                continue;
            };
            // A stretch of commands of one verb goes to the server together. One on the same
            // execution as another has to wait, for that may be left to the general way.
            let (mut executions, mut keys) = (HashSet::new(), HashSet::new());
            let stretch = batch[at..].iter().enumerate().take_while(|(_, command)| {
                Verb::of(&command.action) == Some(verb)
                    && self.check(command).is_ok()
                    && executions.insert(execution(&command.action))
                    && key(&command.action).is_none_or(|key| keys.insert(key))
            });
            let stretch: Vec<_> = stretch.collect();
            let routed = stretch.iter().map(|(index, command)| {
                (*index, *command, self.keys.partition(execution(&command.action)))
            });
            let mut outcomes = self.fused(verb, &routed.collect::<Vec<_>>()).await;
            outcomes.sort_by_key(|(index, _)| *index);
            for (index, outcome) in outcomes {
                answers.push(match outcome {
                    Outcome::Done(answer) => answer,
                    Outcome::General => self.alone(&batch[at + index]).await,
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

    async fn past_attempts(
        &self,
        id: ExecutionId,
        from: u32,
        limit: usize,
    ) -> Result<Vec<Attempt>, StoreError> {
        query::past_attempts(self, id, from, limit).await
    }

    async fn list(&self, scan: ListScan) -> Result<Vec<Listed>, StoreError> {
        query::list(self, &scan).await
    }

    async fn due(
        &self,
        share: &Share,
        after: Option<(Time, ExecutionId)>,
        limit: usize,
    ) -> Result<DueTimers, StoreError> {
        query::due(self, share, after, limit).await
    }

    async fn resource(&self, key: &ResourceKey) -> Result<Option<Resource>, StoreError> {
        resource::get(self, key).await
    }

    async fn resources(&self, scan: ResourceScan) -> Result<Vec<Resource>, StoreError> {
        resource::scan(self, &scan).await
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
        share: &Share,
        after: Option<&(Namespace, Blocker)>,
        limit: usize,
    ) -> Result<Vec<(Namespace, Blocker)>, StoreError> {
        resource::blockers(self, share, after, limit).await
    }

    async fn census(&self) -> Result<Census, StoreError> {
        census::count(self).await
    }

    async fn ahead(&self, place: &QueueEntry, id: ExecutionId) -> Result<u64, StoreError> {
        resource::ahead(self, place, id).await
    }

    async fn alive(&self, engine: EngineId) -> Result<Vec<EngineId>, StoreError> {
        query::alive(self, engine).await
    }

    async fn leave(&self, engine: EngineId) -> Result<(), StoreError> {
        query::leave(self, engine).await
    }

    async fn rows(&self) -> Result<Rows, StoreError> {
        rows::stream(self.shared.clone())
    }

    async fn repair(&self) -> Result<Repaired, StoreError> {
        mend::run(self).await
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

    fn settlements(&self) -> &SettlementQueue {
        &self.shared.settlements
    }
}
