//! A store in memory with one bug.

use std::sync::Mutex;

use async_trait::async_trait;
use bytes::Bytes;
use ff_backend_memory::MemoryStore;
use ff_core::collection::{Collection, Element, ElementRange};
use ff_core::feed::Trim;
use ff_core::journal::ReplayJournal;
use ff_core::limits::Blocker;
use ff_core::machine::{Action, Command, CopyResource, LeaseRef, Reply, Ticked, Toy, Unblock};
use ff_core::payload::BlobKey;
use ff_core::placement::{Entry, QueueEntry};
use ff_core::resource::{Body, LaneState};
use ff_core::{
    Execution, ExecutionId, Lane, Millis, Namespace, Partition, Refusal, RequestId, Resource,
    ResourceKey, ResourceKind, StepName, Time,
};
use ff_store::audit::{Row, Rows};
use ff_store::events::{LogPage, LogScan, Positions};
use ff_store::{
    BlockedClass, BlockedScan, ContinuationQueue, DueCursor, DueTimers, ListScan, Listed,
    PartitionSet, ResourceScan, SettlementQueue, Store, StoreError, Wakeups, mint,
};
use ff_testkit::{Forward, Forwarding};

use super::bug::Bug;

/// A store with a bug.
pub(crate) struct Planted {
    pub(crate) store: MemoryStore,
    pub(crate) bug: Bug,
    /// An entry that is never removed.
    left: Mutex<Option<Row>>,
    /// Where nothing is announced.
    unheard: Wakeups,
    /// What earlier calls have left.
    late: SettlementQueue,
    late_continuations: ContinuationQueue,
}

impl Planted {
    pub(crate) fn new(store: MemoryStore, bug: Bug) -> Forwarding<Planted> {
        Forwarding(Planted {
            store,
            bug,
            left: Mutex::default(),
            unheard: Wakeups::default(),
            late: SettlementQueue::default(),
            late_continuations: ContinuationQueue::default(),
        })
    }

    async fn spoil(&self, command: &mut Command) {
        match (self.bug, &mut command.action) {
            (Bug::RetryIsForgotten, Action::Claim(claim)) => claim.retry = false,
            (Bug::ClaimsTakeMore, Action::Claim(claim)) if claim.max > 0 => claim.max += 1,
            (Bug::NamespaceIsIgnored, Action::Cancel(cancel)) => {
                if let Ok(Some(record)) = self.store.record(cancel.target.execution).await {
                    cancel.target.namespace = record.spec.namespace.clone();
                }
            }
            (Bug::EpochIsEnough, Action::Complete(complete)) => {
                self.forge(&mut complete.hold).await;
            }
            (Bug::DefaultsAreIgnored | Bug::DefaultsOverrule, Action::Submit(submit)) => {
                let lane = self.lane(&submit.namespace, &submit.lane).await;
                if let Some(defaults) = lane.and_then(|(_, lane)| lane.defaults) {
                    let (ask, has_key) = (&submit.policy, submit.key.is_some());
                    submit.policy = match self.bug {
                        Bug::DefaultsAreIgnored => ask.policy(None, has_key).into(),
                        _ => defaults.policy(Some(ask), has_key).into(),
                    };
                }
            }
            (Bug::AnyHolderRecords, Action::RecordStep(step)) => {
                let found = self.store.record(step.hold.target.execution).await;
                let fence = found.ok().flatten().and_then(|record| record.fence());
                step.hold.fence = fence.unwrap_or(step.hold.fence);
            }
            (Bug::AnyHolderStreams, Action::AppendFrames(append)) => {
                let found = self.store.record(append.hold.target.execution).await;
                let fence = found.ok().flatten().and_then(|record| record.fence());
                append.hold.fence = fence.unwrap_or(append.hold.fence);
            }
            (Bug::RepeatedFramesCount, Action::AppendFrames(append)) => append.first = None,
            (Bug::GapsAreAccepted, Action::AppendFrames(append)) => {
                let owner = append.hold.target.execution;
                let from = append.first.unwrap_or(0).saturating_sub(1);
                let range = ElementRange { owner, collection: Collection::Frames, from, limit: 1 };
                let before = self.store.elements(range).await.unwrap_or_default();
                append.first = append.first.filter(|_| !before.is_empty());
            }
            (Bug::FramesAreText, Action::AppendFrames(append)) => {
                for frame in &mut append.frames {
                    frame.bytes = String::from_utf8_lossy(&frame.bytes).into_owned().into();
                }
            }
            (Bug::StreamsAreNotTrimmed, Action::Submit(submit)) => {
                submit.policy.stream = Default::default();
            }
            (Bug::RepeatedPatchesCount, Action::PatchSummary(patch)) => patch.number = None,
            (Bug::ReplaysKeepAll, Action::Replay(replay)) => replay.journal = ReplayJournal::Keep,
            (Bug::SleepsAreForgotten, Action::Delay(delay)) => delay.step = None,
            (Bug::RepeatedStepsCount, Action::RecordStep(step)) => {
                let (owner, name) = (step.hold.target.execution, step.name.element());
                let range =
                    ElementRange { owner, collection: Collection::Steps, from: 0, limit: 1_000 };
                let known = self.store.elements(range).await.unwrap_or_default();
                if known.iter().any(|element| element.name.as_ref() == Some(&name)) {
                    step.name = StepName::new(format!("{} again", step.name)).unwrap();
                }
            }
            (Bug::AnyTurnReports, Action::ReportDelivery(report)) => {
                let found = self.store.resource(&report.key).await.ok().flatten();
                let turn = found.as_ref().and_then(Resource::as_webhook).map(|known| known.turn);
                report.turn = turn.unwrap_or(report.turn);
            }
            (Bug::RepeatedReportsCount, Action::ReportDelivery(report)) => {
                let again = |cursor: &mut Box<str>| *cursor = format!("{cursor} ").into();
                let found = self.store.resource(&report.key).await.ok().flatten();
                let known = found.as_ref().and_then(Resource::as_webhook).map(|it| &it.cursor);
                report.report.cursor.iter_mut().filter(|one| Some(&**one) == known).for_each(again);
            }
            (Bug::DuplicatesAreAccepted, Action::Register(register)) => {
                let known = self.session(&register.key).await;
                register.session = known.unwrap_or(register.session);
            }
            (Bug::AnyProcessDisconnects, Action::Disconnect(disconnect)) => {
                let known = self.session(&disconnect.key).await;
                disconnect.session = known.unwrap_or(disconnect.session);
            }
            _ => {}
        }
    }

    /// The refusal of a command that should succeed.
    async fn refuse(&self, command: &Command) -> Option<Refusal> {
        match (self.bug, &command.action) {
            (Bug::SilenceNeedsItsTimer, Action::Register(register)) => {
                let known = self.session(&register.key).await?;
                let left = Millis::ZERO;
                (known != register.session).then_some(Refusal::WorkerAlive { left })
            }
            (Bug::DrainsRefuseRepeats, Action::Submit(submit)) => {
                let (_, lane) = self.lane(&submit.namespace, &submit.lane).await?;
                lane.draining.then_some(Refusal::LaneDraining)
            }
            _ => None,
        }
    }

    /// The registered process.
    async fn session(&self, key: &ResourceKey) -> Option<RequestId> {
        Some(self.store.resource(key).await.ok()??.as_worker()?.session)
    }

    async fn lane(&self, namespace: &Namespace, lane: &Lane) -> Option<(ResourceKey, LaneState)> {
        let key = ResourceKey::lane(namespace, lane, 1);
        let state = self.store.resource(&key).await.ok()??.as_lane()?.clone();
        Some((key, state))
    }

    /// Resumes a lane, if it is paused and that is the bug.
    async fn open(&self, command: &Command) -> Option<(ResourceKey, LaneState)> {
        let Action::GrantNext(grant) = &command.action else { return None };
        let (key, paused) = self.lane(&grant.namespace, &grant.lane).await?;
        if self.bug != Bug::PausedLanesGrant || !paused.paused {
            return None;
        }
        let generation = paused.generation + 1;
        self.copy(&key, LaneState { paused: false, generation, ..paused.clone() }).await;
        Some((key, LaneState { generation: generation + 1, ..paused }))
    }

    async fn copy(&self, key: &ResourceKey, state: LaneState) {
        let body = Box::new(Body::Lane(state));
        self.run(CopyResource { key: key.clone(), body }).await;
    }

    pub(crate) async fn run(&self, action: impl Into<Action>) {
        self.store.execute(vec![mint::command(action)]).await.remove(0).unwrap();
    }

    async fn scan_every_namespace(&self, scan: ResourceScan) -> Result<Vec<Resource>, StoreError> {
        let rows = self.all().await?.into_iter();
        let all = rows.filter_map(|row| match row {
            Row::Resource(resource) => Some(*resource),
            _ => None,
        });
        let wanted = |resource: &Resource| {
            let key = &resource.key;
            key.kind == scan.kind && scan.after.as_ref().is_none_or(|after| key.name > *after)
        };
        Ok(all.filter(wanted).take(scan.limit).collect())
    }

    /// Every row.
    async fn all(&self) -> Result<Vec<Row>, StoreError> {
        let mut all = Vec::new();
        let mut rows = self.store.rows().await?;
        while let Some(row) = rows.next().await {
            all.push(row?);
        }
        Ok(all)
    }

    /// Keeps the place that an execution has in its queue, if it is about to follow another.
    async fn keep_place(&self, command: &Command) -> Result<(), StoreError> {
        let Action::Toy(Toy { follower: Some(follower), .. }) = &command.action else {
            return Ok(());
        };
        let id = follower.target.execution;
        let place = |row: &Row| matches!(row, Row::Entry(Entry::Queue(_), owner) if *owner == id);
        let found = self.all().await?.into_iter().find(place);
        *self.left.lock().unwrap() = found;
        Ok(())
    }

    async fn is_damaged(&self, id: ExecutionId) -> bool {
        let can_be = matches!(self.bug, Bug::RecordsAreDamaged | Bug::DamageEndsThePass);
        can_be
            && matches!(self.store.record(id).await, Ok(Some(record)) if record.spec.kind.as_str() == "damaged")
    }

    async fn forge(&self, hold: &mut LeaseRef) {
        if let Ok(Some(record)) = self.store.record(hold.target.execution).await
            && let Some(fence) = record.fence()
            && fence.epoch == hold.fence.epoch
        {
            hold.fence = fence;
        }
    }
}

#[async_trait]
impl Forward for Planted {
    fn beneath(&self) -> &dyn Store {
        &self.store
    }

    async fn execute(&self, batch: Vec<Command>) -> Vec<Result<Reply, StoreError>> {
        if self.bug == Bug::SettlementsAreLeft {
            self.late.push(self.store.settlements().take());
        }
        if self.bug == Bug::ContinuationsAreLeft {
            self.late_continuations.push(self.store.continuations().take(usize::MAX));
        }
        let mut answers = Vec::new();
        for mut command in batch {
            self.spoil(&mut command).await;
            self.spoil_admission(&mut command).await;
            self.spoil_suspension(&mut command).await;
            if self.bug == Bug::TicksAreLost && matches!(command.action, Action::Tick(_)) {
                answers.push(Ok(Reply::Ticked(Ticked { did: None, next: None })));
                continue;
            }
            if self.bug == Bug::AdmissionsFail
                && matches!(&command.action, Action::Admit(admit) if !admit.batches.is_empty())
            {
                answers.push(Err(StoreError::Unavailable("planted".into())));
                continue;
            }
            if let Action::Unblock(Unblock { execution, .. }) = command.action
                && self.is_damaged(execution).await
            {
                answers.push(Err(StoreError::Corrupt(format!("execution {execution}"))));
                continue;
            }
            if self.loses(&command) {
                answers.push(Ok(Reply::Done));
                continue;
            }
            if let Some(refusal) = self.refuse(&command).await {
                answers.push(Err(refusal.into()));
                continue;
            }
            if self.bug == Bug::FollowersKeepTheirPlace {
                self.keep_place(&command).await.unwrap();
            }
            let opened = self.open(&command).await;
            answers.extend(self.store.execute(vec![command]).await);
            if let Some((key, paused)) = opened {
                self.copy(&key, paused).await;
            }
        }
        answers
    }

    async fn record(&self, id: ExecutionId) -> Result<Option<Execution>, StoreError> {
        match self.is_damaged(id).await {
            true => Err(StoreError::Corrupt(format!("execution {id}"))),
            false => self.store.record(id).await,
        }
    }

    async fn blob(&self, key: BlobKey) -> Result<Option<Bytes>, StoreError> {
        let blob = self.store.blob(key).await?;
        Ok(blob.map(|bytes| match bytes.iter().position(|byte| *byte == 0) {
            Some(end) if self.bug == Bug::BytesAreText => bytes.slice(..end),
            _ => bytes,
        }))
    }

    async fn elements(&self, mut range: ElementRange) -> Result<Vec<Element>, StoreError> {
        range.from += u64::from(self.bug == Bug::AttemptIsSkipped && range.from > 0);
        self.store.elements(range).await
    }

    async fn list(&self, scan: ListScan) -> Result<Vec<Listed>, StoreError> {
        let after = scan.after.map(|place| place.created);
        let mut found = self.store.list(scan).await?;
        if self.bug == Bug::EqualTimesAreSkipped {
            found.retain(|one| after.is_none_or(|created| one.position().created < created));
        }
        Ok(found)
    }

    async fn due(
        &self,
        share: &PartitionSet,
        after: Option<DueCursor>,
        limit: usize,
    ) -> Result<DueTimers, StoreError> {
        let mut timers = self.store.due(share, after, limit).await?;
        if self.bug == Bug::LastTimerIsHidden && timers.due.len() > 1 {
            timers.due.pop();
        }
        let hidden = |kind| match self.bug {
            Bug::RegistrationsHaveNoTimer => true,
            Bug::PeriodsNeverEnd => kind == ResourceKind::Budget,
            Bug::FeedsHaveNoTimer => kind == ResourceKind::Feed,
            Bug::TicketsHaveNoTimer => kind == ResourceKind::Ticket,
            Bug::RatesHaveNoTimer => kind == ResourceKind::Quota,
            _ => false,
        };
        timers.resources.retain(|key| !hidden(key.kind));
        if self.bug == Bug::TimersAreReadAtHome {
            let home = |key: &ResourceKey| Partition::home(&key.namespace, self.store.partitions());
            timers.resources.retain(|key| key.partition == home(key));
        }
        Ok(timers)
    }

    async fn resource(&self, key: &ResourceKey) -> Result<Option<Resource>, StoreError> {
        let mut found = self.store.resource(key).await?;
        found.iter_mut().for_each(|resource| self.spoil_resource(resource));
        self.spoil_feed(&mut found);
        Ok(found)
    }

    async fn events(&self, scan: LogScan) -> Result<LogPage, StoreError> {
        self.spoiled_events(scan).await
    }

    async fn event_heads(&self, namespace: &Namespace) -> Result<Positions, StoreError> {
        self.spoiled_heads(namespace).await
    }

    async fn trim_events(&self, namespace: &Namespace, trim: Trim) -> Result<bool, StoreError> {
        self.spoiled_trim(namespace, trim).await
    }

    async fn resources(&self, scan: ResourceScan) -> Result<Vec<Resource>, StoreError> {
        let later = scan.after.is_some();
        let mut found = match self.bug {
            Bug::ListsAreShared => self.scan_every_namespace(scan).await?,
            _ => self.store.resources(scan).await?,
        };
        for resource in &mut found {
            if let (Bug::SilenceIsNotSeen, Body::Worker(worker)) = (self.bug, &mut resource.body) {
                worker.last_seen = Time::MAX - worker.ttl;
            }
        }
        if self.bug == Bug::PagesSkipOne && later && !found.is_empty() {
            found.remove(0);
        }
        Ok(found)
    }

    async fn blocked(&self, scan: BlockedScan) -> Result<Vec<BlockedClass>, StoreError> {
        let each = scan.each;
        match self.bug {
            Bug::LastWaitersComeFirst => {
                let mut found =
                    self.store.blocked(BlockedScan { each: usize::MAX >> 1, ..scan }).await?;
                for class in &mut found {
                    class.first.reverse();
                    class.first.truncate(each);
                }
                Ok(found)
            }
            Bug::DamageEndsThePass => {
                let mut found = self.store.blocked(scan).await?;
                for class in &mut found {
                    for (at, id) in class.first.clone().into_iter().enumerate() {
                        if self.is_damaged(id.1).await {
                            class.first.truncate(at + 1);
                            break;
                        }
                    }
                }
                Ok(found)
            }
            Bug::ReleasesIgnoreCapability => {
                let mut found = self.store.blocked(scan).await?;
                found.sort_by_key(|class| class.first[0]);
                found.truncate(1);
                Ok(found)
            }
            _ => self.store.blocked(scan).await,
        }
    }

    async fn blockers(
        &self,
        share: &PartitionSet,
        after: Option<&(Namespace, Blocker)>,
        limit: usize,
    ) -> Result<Vec<(Namespace, Blocker)>, StoreError> {
        let after = after.filter(|_| self.bug != Bug::CursorsDoNotRotate);
        self.store.blockers(share, after, limit).await
    }

    async fn ahead(&self, place: &QueueEntry, id: ExecutionId) -> Result<u64, StoreError> {
        match self.bug {
            Bug::QueueIsIgnored => Ok(0),
            _ => self.store.ahead(place, id).await,
        }
    }

    async fn rows(&self) -> Result<Rows, StoreError> {
        let spoilt = [Bug::EntryIsLeft, Bug::FollowersKeepTheirPlace, Bug::EntriesAreLost];
        if !spoilt.contains(&self.bug) {
            return self.store.rows().await;
        }
        let all = self.all().await?.into_iter();
        let all: Vec<_> = all.filter_map(|row| self.without_entries(row)).collect();
        let queued = all.iter().find(|row| matches!(row, Row::Entry(Entry::Queue(_), _)));
        let queued = queued.filter(|_| self.bug == Bug::EntryIsLeft);
        let mut left = self.left.lock().unwrap();
        *left = left.take().or_else(|| queued.cloned());
        let gone = left.clone().filter(|left| !all.contains(left));
        drop(left);
        let (sender, stream) = Rows::channel();
        tokio::spawn(async move {
            for row in all.into_iter().chain(gone) {
                sender.send(Ok(row)).await.unwrap();
            }
        });
        Ok(stream)
    }

    fn settlements(&self) -> &SettlementQueue {
        match self.bug {
            Bug::SettlementsAreLeft => &self.late,
            _ => self.store.settlements(),
        }
    }

    fn continuations(&self) -> &ContinuationQueue {
        match self.bug {
            Bug::ContinuationsAreLeft => &self.late_continuations,
            _ => self.store.continuations(),
        }
    }

    fn wakeups(&self) -> &Wakeups {
        match self.bug {
            Bug::NothingIsAnnounced => &self.unheard,
            _ => self.store.wakeups(),
        }
    }
}
