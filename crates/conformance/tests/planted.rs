//! The exam and the histories are themselves examined: each planted bug must be caught.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use ff_backend_memory::MemoryStore;
use ff_conformance::{Making, Options, Subject, histories, sit};
use ff_core::control::Blocker;
use ff_core::machine::{Action, Command, CopyLane, Hold, Reply, Ticked};
use ff_core::payload::BlobKey;
use ff_core::placement::{Entry, QueueEntry};
use ff_core::record::Attempt;
use ff_core::resource::{Body, LaneState};
use ff_core::{
    Execution, ExecutionId, Lane, Millis, Namespace, Refusal, RequestId, Resource, ResourceKey,
    Time,
};
use ff_store::audit::{Row, Rows};
use ff_store::{
    Desks, DueTimers, EngineId, ListScan, Repaired, ResourceScan, Share, Stats, Store, StoreError,
    Wakeups, mint,
};
use ff_testkit::ManualClock;

/// What is wrong with a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bug {
    /// A repeated claim takes more work.
    RetryIsForgotten,
    /// Any namespace will do.
    NamespaceIsIgnored,
    /// The epoch is taken for the whole fence.
    EpochIsEnough,
    /// Time does nothing.
    TicksAreLost,
    /// A claim takes one more than was asked for.
    ClaimsTakeMore,
    /// A payload ends at its first NUL.
    BytesAreText,
    /// An index keeps an entry that should be gone.
    EntryIsLeft,
    /// A page begins after all that was created with its cursor.
    EqualTimesAreSkipped,
    /// The last timer of a page is left out.
    LastTimerIsHidden,
    /// Attempts are told from the one after the one asked for.
    AttemptIsSkipped,
    /// Nobody hears of new work.
    NothingIsAnnounced,
    /// A paused lane reserves its work.
    PausedLanesGrant,
    /// A draining lane refuses what it has already.
    DrainsRefuseRepeats,
    /// A process takes the place of a live one.
    DuplicatesAreAccepted,
    /// A silent worker is alive until its timer has run.
    SilenceNeedsItsTimer,
    /// A worker is listed as if it had just been heard of.
    SilenceIsNotSeen,
    /// Time never ends a registration.
    SilenceIsNotDue,
    /// Anybody can say that a worker leaves.
    AnybodyDisconnects,
    /// Workers and lanes of every namespace are in one list.
    ListsAreShared,
    /// A page of workers or lanes begins one too late.
    PagesSkipOne,
    /// Everybody is told to be next.
    NobodyIsAhead,
}

struct Planted {
    store: MemoryStore,
    bug: Bug,
    /// An entry that is never removed.
    left: Mutex<Option<Row>>,
    /// Where nothing is announced.
    unheard: Wakeups,
}

impl Planted {
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
            (Bug::DuplicatesAreAccepted, Action::Register(register)) => {
                let known = self.session(&register.key).await;
                register.session = known.unwrap_or(register.session);
            }
            (Bug::AnybodyDisconnects, Action::Disconnect(disconnect)) => {
                let known = self.session(&disconnect.key).await;
                disconnect.session = known.unwrap_or(disconnect.session);
            }
            _ => {}
        }
    }

    /// What is said to a command that should be done.
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

    /// Which process is registered there.
    async fn session(&self, key: &ResourceKey) -> Option<RequestId> {
        Some(self.store.resource(key).await.ok()??.as_worker()?.session)
    }

    async fn lane(&self, namespace: &Namespace, lane: &Lane) -> Option<(ResourceKey, LaneState)> {
        let key = ResourceKey::lane(namespace, lane, 1);
        let state = self.store.resource(&key).await.ok()??.as_lane()?.clone();
        Some((key, state))
    }

    /// Lets a lane go on, if it is paused and that is the bug.
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
        let copy = CopyLane { key: key.clone(), state };
        self.store.execute(vec![mint::command(copy)]).await.remove(0).unwrap();
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

    /// Every row there is.
    async fn all(&self) -> Result<Vec<Row>, StoreError> {
        let mut all = Vec::new();
        let mut rows = self.store.rows().await?;
        while let Some(row) = rows.next().await {
            all.push(row?);
        }
        Ok(all)
    }

    async fn forge(&self, hold: &mut Hold) {
        if let Ok(Some(record)) = self.store.record(hold.target.execution).await
            && let Some(fence) = record.fence()
            && fence.epoch == hold.fence.epoch
        {
            hold.fence = fence;
        }
    }
}

#[async_trait]
impl Store for Planted {
    async fn execute(&self, batch: Vec<Command>) -> Vec<Result<Reply, StoreError>> {
        let mut answers = Vec::new();
        for mut command in batch {
            self.spoil(&mut command).await;
            if self.bug == Bug::TicksAreLost && matches!(command.action, Action::Tick(_)) {
                answers.push(Ok(Reply::Ticked(Ticked { did: None, next: None })));
                continue;
            }
            if let Some(refusal) = self.refuse(&command).await {
                answers.push(Err(refusal.into()));
                continue;
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
        self.store.record(id).await
    }

    async fn blob(&self, key: BlobKey) -> Result<Option<Bytes>, StoreError> {
        let blob = self.store.blob(key).await?;
        Ok(blob.map(|bytes| match bytes.iter().position(|byte| *byte == 0) {
            Some(end) if self.bug == Bug::BytesAreText => bytes.slice(..end),
            _ => bytes,
        }))
    }

    async fn past_attempts(
        &self,
        id: ExecutionId,
        from: u32,
        limit: usize,
    ) -> Result<Vec<Attempt>, StoreError> {
        let skip = u32::from(self.bug == Bug::AttemptIsSkipped && from > 0);
        self.store.past_attempts(id, from + skip, limit).await
    }

    async fn list(&self, scan: ListScan) -> Result<Vec<Execution>, StoreError> {
        let after = scan.after.map(|place| place.created);
        let mut records = self.store.list(scan).await?;
        if self.bug == Bug::EqualTimesAreSkipped {
            records.retain(|record| after.is_none_or(|created| record.created < created));
        }
        Ok(records)
    }

    async fn due(
        &self,
        share: &Share,
        after: Option<(Time, ExecutionId)>,
        limit: usize,
    ) -> Result<DueTimers, StoreError> {
        let mut timers = self.store.due(share, after, limit).await?;
        if self.bug == Bug::LastTimerIsHidden && timers.due.len() > 1 {
            timers.due.pop();
        }
        if self.bug == Bug::SilenceIsNotDue {
            timers.resources.clear();
        }
        Ok(timers)
    }

    async fn resource(&self, key: &ResourceKey) -> Result<Option<Resource>, StoreError> {
        self.store.resource(key).await
    }

    async fn resources(&self, scan: ResourceScan) -> Result<Vec<Resource>, StoreError> {
        let later = scan.after.is_some();
        let mut found = match self.bug {
            Bug::ListsAreShared => self.scan_every_namespace(scan).await?,
            _ => self.store.resources(scan).await?,
        };
        for resource in &mut found {
            if let (Bug::SilenceIsNotSeen, Body::Worker(worker)) = (self.bug, &mut resource.body) {
                worker.heard_at = Time::MAX - worker.ttl;
            }
        }
        if self.bug == Bug::PagesSkipOne && later && !found.is_empty() {
            found.remove(0);
        }
        Ok(found)
    }

    async fn blocked(
        &self,
        namespace: &Namespace,
        on: &Blocker,
        limit: usize,
    ) -> Result<Vec<ExecutionId>, StoreError> {
        self.store.blocked(namespace, on, limit).await
    }

    async fn blockers(
        &self,
        share: &Share,
        limit: usize,
    ) -> Result<BTreeSet<(Namespace, Blocker)>, StoreError> {
        self.store.blockers(share, limit).await
    }

    async fn census(&self) -> Result<ff_store::census::Census, StoreError> {
        self.store.census().await
    }

    async fn ahead(&self, place: &QueueEntry, id: ExecutionId) -> Result<u64, StoreError> {
        match self.bug {
            Bug::NobodyIsAhead => Ok(0),
            _ => self.store.ahead(place, id).await,
        }
    }

    async fn alive(&self, engine: EngineId) -> Result<Vec<EngineId>, StoreError> {
        self.store.alive(engine).await
    }

    async fn rows(&self) -> Result<Rows, StoreError> {
        if self.bug != Bug::EntryIsLeft {
            return self.store.rows().await;
        }
        let all = self.all().await?;
        let queued = all.iter().find(|row| matches!(row, Row::Entry(Entry::Queue(_), _)));
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

    async fn repair(&self) -> Result<Repaired, StoreError> {
        self.store.repair().await
    }

    fn partitions(&self) -> u16 {
        self.store.partitions()
    }

    fn desks(&self) -> &Desks {
        self.store.desks()
    }

    fn wakeups(&self) -> &Wakeups {
        match self.bug {
            Bug::NothingIsAnnounced => &self.unheard,
            _ => self.store.wakeups(),
        }
    }

    fn stats(&self) -> Option<Stats> {
        self.store.stats()
    }
}

async fn planted(bug: Bug) -> Subject {
    let clock = ManualClock::default();
    let store = MemoryStore::serial(Arc::new(clock.clone()));
    Subject::new(Planted { store, bug, left: Mutex::default(), unheard: Wakeups::default() }, clock)
}

/// One test for each bug that random histories catch, which must tell the seed.
macro_rules! caught_by_histories {
    ($($test:ident: $bug:ident),+ $(,)?) => {
        mod caught_by_histories {
            use super::*;

            $(#[test]
            #[should_panic(expected = "FF_SEED=")]
            fn $test() {
                fn subject() -> Making {
                    Box::pin(planted(Bug::$bug))
                }
                histories("planted", subject, Options { count: 600, ..Options::default() });
            })+
        }
    };
}

caught_by_histories!(
    a_forgotten_retry: RetryIsForgotten,
    an_ignored_namespace: NamespaceIsIgnored,
    a_fence_that_is_only_an_epoch: EpochIsEnough,
    lost_ticks: TicksAreLost,
    a_claim_that_takes_more: ClaimsTakeMore,
    bytes_taken_for_text: BytesAreText,
    an_entry_left_behind: EntryIsLeft,
    a_listing_that_skips_equal_times: EqualTimesAreSkipped,
    a_hidden_timer: LastTimerIsHidden,
    a_skipped_attempt: AttemptIsSkipped,
    a_grant_of_a_paused_lane: PausedLanesGrant,
    a_drain_that_refuses_repeats: DrainsRefuseRepeats,
    a_duplicate_process: DuplicatesAreAccepted,
    a_silence_that_needs_its_timer: SilenceNeedsItsTimer,
    a_silence_that_is_not_seen: SilenceIsNotSeen,
    a_silence_that_is_not_due: SilenceIsNotDue,
    a_stranger_that_disconnects: AnybodyDisconnects,
    a_list_of_every_namespace: ListsAreShared,
    a_page_that_skips_one: PagesSkipOne,
    a_wrong_place_in_the_queue: NobodyIsAhead,
);

/// One test for each bug that a fact catches.
macro_rules! caught_by_facts {
    ($($test:ident: $bug:ident, $fact:literal),+ $(,)?) => {
        mod caught_by_facts {
            use super::*;

            $(#[test]
            #[should_panic]
            fn $test() {
                fn subject() -> Making {
                    Box::pin(planted(Bug::$bug))
                }
                sit($fact, subject);
            })+
        }
    };
}

caught_by_facts!(
    a_forgotten_retry: RetryIsForgotten,
        "claim::a_retried_claim_finds_the_same_leases_and_takes_no_more",
    an_ignored_namespace: NamespaceIsIgnored,
        "namespace::an_execution_of_another_namespace_is_not_found",
    a_fence_that_is_only_an_epoch: EpochIsEnough,
        "lease::a_fence_that_differs_in_any_part_is_refused",
    lost_ticks: TicksAreLost, "lease::work_that_kills_its_workers_ends_failed",
    a_claim_that_takes_more: ClaimsTakeMore, "claim::a_claim_takes_at_most_what_it_asks_for",
    bytes_taken_for_text: BytesAreText, "payload::inputs_come_out_as_they_went_in",
    an_entry_left_behind: EntryIsLeft, "capability::an_incapable_worker_changes_nothing",
    a_listing_that_skips_equal_times: EqualTimesAreSkipped,
        "listing::pages_of_one_millisecond_neither_skip_nor_repeat",
    a_hidden_timer: LastTimerIsHidden, "tick::the_earliest_timer_comes_first",
    a_skipped_attempt: AttemptIsSkipped, "attempts::attempts_are_read_in_pages",
    lost_announcements: NothingIsAnnounced, "wakeup::a_claim_racing_a_submit_does_not_miss_it",
    a_grant_of_a_paused_lane: PausedLanesGrant, "lane::a_paused_lane_grants_no_work",
    a_drain_that_refuses_repeats: DrainsRefuseRepeats,
        "lane::a_draining_lane_knows_what_it_was_given",
    a_duplicate_process: DuplicatesAreAccepted,
        "worker::another_process_cannot_take_the_place_of_a_live_one",
    a_silence_that_needs_its_timer: SilenceNeedsItsTimer,
        "worker::a_silent_worker_is_replaced_at_once",
    a_silence_that_is_not_seen: SilenceIsNotSeen, "explain::a_silent_worker_does_not_count",
    a_silence_that_is_not_due: SilenceIsNotDue,
        "worker::a_silent_worker_is_removed_by_time_alone",
    a_stranger_that_disconnects: AnybodyDisconnects, "worker::nobody_leaves_in_anothers_name",
    a_list_of_every_namespace: ListsAreShared,
        "worker::a_worker_shows_in_its_own_namespace_alone",
    a_page_that_skips_one: PagesSkipOne, "worker::workers_are_listed_in_order_and_in_pages",
    a_wrong_place_in_the_queue: NobodyIsAhead,
        "explain::queued_work_knows_how_many_come_before_it",
);
