//! Release: blocked executions return to their queue once the limit they wait for has capacity.
//!
//! They return without an admission: the claim that finds them requests one. So a free slot reaches
//! the best execution that some worker can run, whatever precedes it. Executions are grouped by
//! what they request, so a pass reads one record per group, however many wait.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ff_core::limits::{Amounts, Blocker};
use ff_core::machine::{Home, ResourceTicked, SetWaiters, TickResource, Unblock};
use ff_core::placement::{AdmissionClass, Score};
use ff_core::resource::{Body, LaneState};
use ff_core::{
    Execution, ExecutionId, Lane, Millis, Namespace, Resource, ResourceKey, ResourceKind, Time,
};
use tokio::time::Instant;

use crate::error::StoreError;
use crate::lock::lock;
use crate::process::Process;
use crate::roles::{only, run};
use crate::store::{BlockedClass, BlockedScan, ORDERED_WAITERS};
use crate::{metrics, mint};

/// How many groups one pass examines. It begins at a random one, so that all are reached.
pub(crate) const CLASSES: usize = 32;

/// How many executions of a group are read to find one that can be read.
pub(crate) const HEADS: usize = 4;

/// How many executions of one group are released at a time.
pub(crate) const SLICE: usize = 4_096;

/// For how many groups that no worker of this process waits for one pass releases executions.
const SPECULATIVE: usize = 8;

/// How many passes one release makes where executions are blocked during it.
const PASSES: usize = 4;

/// How many further slices of a group one pass releases.
const SLICES: usize = 64;

type Limit = (Namespace, Blocker);

/// The releases of one process: passes that run, and moments at which one will.
#[derive(Debug, Default)]
pub(crate) struct Releases {
    passes: Mutex<HashMap<Limit, Arc<Pass>>>,
    alarms: Mutex<HashMap<Limit, Instant>>,
}

/// Calls for one limit that come while a pass runs share the next one.
#[derive(Debug, Default)]
struct Pass {
    asked: AtomicU64,
    /// Calls up to this one are served.
    served: tokio::sync::Mutex<u64>,
}

/// Releases executions blocked on a limit, as far as it has room. Tells how many.
pub(crate) async fn release(
    process: &Arc<Process>,
    namespace: &Namespace,
    on: &Blocker,
) -> Result<u64, StoreError> {
    let limit = (namespace.clone(), on.clone());
    let pass = lock(&process.releases.passes).entry(limit.clone()).or_default().clone();
    let mine = pass.asked.fetch_add(1, Ordering::SeqCst) + 1;
    let released = async {
        let mut served = pass.served.lock().await;
        if *served >= mine {
            return Ok(0);
        }
        let asked = pass.asked.load(Ordering::SeqCst);
        let mut released = 0;
        for _ in 0..PASSES {
            let (more, again) = Releasing::begin(process, namespace, on).await?;
            released += more;
            if !again {
                break;
            }
        }
        *served = asked;
        Ok(released)
    }
    .await;
    let mut passes = lock(&process.releases.passes);
    // The map has it too, besides this call.
    if Arc::strong_count(&pass) <= 2 {
        passes.remove(&limit);
    }
    drop(passes);
    if let Ok(count @ 1..) = released {
        let (kind, limit) = (on.kind.as_str(), &on.name);
        tracing::info!(%namespace, kind, %limit, count, "blocked executions are released");
        metrics::unblocked(kind, count);
    }
    released
}

/// Releases in a task of the process.
pub(crate) fn soon(process: &Arc<Process>, namespace: &Namespace, on: Blocker) {
    let (owner, namespace) = (process.clone(), namespace.clone());
    process.own(async move { release_or_warn(&owner, &namespace, &on).await });
}

/// Releases. What fails is left to the unblock scanner.
pub(crate) async fn release_or_warn(process: &Arc<Process>, namespace: &Namespace, on: &Blocker) {
    // The counter is there before the first failure.
    metrics::release_failed(0);
    if let Err(error) = release(process, namespace, on).await {
        let (kind, limit) = (on.kind.as_str(), &on.name);
        tracing::warn!(%namespace, kind, %limit, %error, "blocked executions are not released");
        metrics::release_failed(1);
    }
}

/// Releases in a task of the process if the limit has room, or does not know that executions are
/// blocked on it.
pub(crate) fn recheck_soon(process: &Arc<Process>, namespace: &Namespace, on: Blocker) {
    let (owner, namespace) = (process.clone(), namespace.clone());
    process.own(async move {
        let key = key(&owner, &namespace, &on);
        let now = owner.store.now().await;
        let (Ok(Some(limit)), Ok(now)) = (owner.store.resource(&key).await, now) else { return };
        if room(&limit.body, &Amounts::new(), now) > 0 || !has_waiters(&limit.body) {
            soon(&owner, &namespace, on);
        }
    });
}

/// Has executions that wait for a rate released after this time, in a task of the process.
pub(crate) fn later(process: &Arc<Process>, namespace: &Namespace, on: &Blocker, after: Millis) {
    let limit = (namespace.clone(), on.clone());
    let at = Instant::now() + Duration::from_millis(after.get());
    {
        let mut alarms = lock(&process.releases.alarms);
        if alarms.get(&limit).is_some_and(|armed| *armed <= at) {
            return;
        }
        alarms.insert(limit.clone(), at);
    }
    let owner = Arc::downgrade(process);
    process.own_unwaited(async move {
        tokio::time::sleep_until(at).await;
        let Some(process) = owner.upgrade() else { return };
        {
            let mut alarms = lock(&process.releases.alarms);
            if alarms.get(&limit) != Some(&at) {
                return;
            }
            alarms.remove(&limit);
        }
        let (namespace, on) = limit;
        let key = key(&process, &namespace, &on);
        if let Err(error) = tick(&process, &namespace, &on, key).await {
            tracing::warn!(%namespace, limit = %on.name, %error, "a release is left to its timer");
        }
    });
}

/// Lets time release executions that wait for a rate. Tells whether it was time.
async fn tick(
    process: &Arc<Process>,
    namespace: &Namespace,
    on: &Blocker,
    key: ResourceKey,
) -> Result<bool, StoreError> {
    match run(&*process.store, TickResource { key }).await.and_then(only!(ResourceTicked))? {
        ResourceTicked::Release { next } => {
            ticked(process, namespace, on, next).await?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Time has come for a release; there may be another one.
pub(crate) async fn ticked(
    process: &Arc<Process>,
    namespace: &Namespace,
    on: &Blocker,
    next: Option<Millis>,
) -> Result<u64, StoreError> {
    if let Some(next) = next {
        later(process, namespace, on, next);
    }
    release(process, namespace, on).await
}

fn key(process: &Process, namespace: &Namespace, on: &Blocker) -> ResourceKey {
    let home = Home { namespace: namespace.clone(), partitions: process.store.partitions() };
    home.key(on.kind, &on.name)
}

fn has_waiters(limit: &Body) -> bool {
    match limit {
        Body::Quota(quota) => quota.has_waiters,
        Body::Budget(budget) => budget.has_waiters,
        _ => false,
    }
}

/// How many executions that are expected to use `estimate` a limit has room for.
fn room(limit: &Body, estimate: &Amounts, now: Time) -> u64 {
    match limit {
        Body::Quota(quota) => quota.room(now),
        Body::Budget(budget) => budget.room(estimate),
        _ => 0,
    }
}

/// One pass over the executions that are blocked on a limit.
struct Releasing<'a> {
    process: &'a Arc<Process>,
    namespace: &'a Namespace,
    on: &'a Blocker,
    now: Time,
    /// The limit, less what was released for workers that are there to take it.
    limit: Body,
    paused: BTreeMap<Lane, bool>,
    /// Other limits that were read.
    others: BTreeMap<ResourceKey, Option<Resource>>,
    speculative: usize,
    released: u64,
    /// Some are left that wait.
    left: bool,
}

impl<'a> Releasing<'a> {
    /// Makes one pass. Tells how many it released, and whether another one is needed.
    async fn begin(
        process: &'a Arc<Process>,
        namespace: &'a Namespace,
        on: &'a Blocker,
    ) -> Result<(u64, bool), StoreError> {
        let key = key(process, namespace, on);
        let Some(Resource { body: limit, .. }) = process.store.resource(&key).await? else {
            return Ok((0, false));
        };
        let now = process.store.now().await?;
        let knows_waiters = has_waiters(&limit);
        let mut releasing = Releasing {
            process,
            namespace,
            on,
            now,
            limit,
            paused: BTreeMap::new(),
            others: BTreeMap::new(),
            speculative: 0,
            released: 0,
            left: false,
        };
        let (mut classes, whole) = releasing.classes().await?;
        let waits = !classes.is_empty();
        releasing.left = !whole;
        classes.sort_unstable_by_key(|class| class.first[0]);
        for class in classes {
            releasing.class(class).await?;
        }
        let waiting = if waits { knows_waiters || releasing.left } else { false };
        if waiting == knows_waiters {
            return Ok((releasing.released, false));
        }
        run(&*process.store, SetWaiters { key: key.clone(), waiting }).await?;
        // One that was blocked before this was written may have seen the opposite.
        let again = !waiting && !releasing.classes().await?.0.is_empty();
        if again {
            run(&*process.store, SetWaiters { key, waiting: true }).await?;
        }
        Ok((releasing.released, again))
    }

    /// The groups that wait, from a random one on, and whether these are all.
    async fn classes(&self) -> Result<(Vec<BlockedClass>, bool), StoreError> {
        let start = AdmissionClass::from_stored(fastrand::u64(..));
        let mut found = self.scan(start, CLASSES, HEADS).await?;
        if found.len() < CLASSES {
            let rest = self.scan(AdmissionClass::FIRST, CLASSES - found.len(), HEADS).await?;
            found.extend(rest.into_iter().filter(|class| class.class < start));
        }
        let whole = found.len() < CLASSES;
        Ok((found, whole))
    }

    async fn scan(
        &self,
        from: AdmissionClass,
        classes: usize,
        each: usize,
    ) -> Result<Vec<BlockedClass>, StoreError> {
        let (namespace, on) = (self.namespace.clone(), self.on.clone());
        self.process.store.blocked(BlockedScan { namespace, on, from, classes, each }).await
    }

    /// Releases those of one group that there is room for.
    async fn class(&mut self, class: BlockedClass) -> Result<(), StoreError> {
        let mut readable = self.first_readable(&class.first).await;
        if readable.is_none() && class.first.len() == HEADS {
            let more = self.scan(class.class, 1, ORDERED_WAITERS).await?;
            let more =
                more.into_iter().flat_map(|class| class.first).skip(HEADS).collect::<Vec<_>>();
            readable = self.first_readable(&more).await;
        }
        let Some(record) = readable else {
            self.left = true;
            return Ok(());
        };
        let (lane, requires) = (&record.spec.lane, &record.spec.requires);
        let room = room(&self.limit, &record.spec.limits.estimate, self.now);
        if room == 0 || self.is_paused(lane).await? {
            self.left = true;
            return Ok(());
        }
        let queue = (self.namespace.clone(), lane.clone());
        let is_taken = self.process.store.wakeups().is_waited_for(&queue, requires)
            && self.others_have_room(&record).await?;
        if !is_taken {
            if self.speculative >= SPECULATIVE {
                self.left = true;
                return Ok(());
            }
            self.speculative += 1;
        }
        let released = self.release(class, room).await?;
        if is_taken {
            self.take(&record, released);
        }
        Ok(())
    }

    /// Counts released executions as admitted: workers of this process are there for them.
    fn take(&mut self, record: &Execution, count: u64) {
        match &mut self.limit {
            Body::Quota(quota) => {
                quota.active =
                    quota.active.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
                (0..count.min(SLICE as u64)).for_each(|_| quota.count_start(self.now, self.now));
            }
            Body::Budget(budget) => {
                let estimate = &record.spec.limits.estimate;
                (0..count).for_each(|_| budget.reserve(estimate));
            }
            _ => {}
        }
    }

    /// The first execution of a group that can be read; the others are named by the audit.
    async fn first_readable(&self, first: &[(Score, ExecutionId)]) -> Option<Execution> {
        for (_, id) in first {
            match self.process.store.record(*id).await {
                Ok(Some(record)) => return Some(record),
                Ok(None) => {}
                Err(error) => {
                    tracing::error!(execution = %id, %error, "a blocked execution is set aside");
                }
            }
        }
        None
    }

    /// Returns up to `room` executions of a group to their queue. Tells how many.
    async fn release(&mut self, class: BlockedClass, room: u64) -> Result<u64, StoreError> {
        let mut released = 0;
        let mut page = class.first;
        // Fewer than were asked for are all there are.
        let mut all = page.len() < HEADS;
        let mut unreleasable = 0;
        for _ in 0..SLICES {
            let wanted = (room - released).min(SLICE as u64) as usize;
            if page.len() < wanted && !all {
                let each = (wanted + unreleasable).max(ORDERED_WAITERS);
                let found = self.scan(class.class, 1, each).await?;
                let mine = found.into_iter().find(|found| found.class == class.class);
                page = mine.map_or_else(Vec::new, |found| found.first);
                // More than are kept in order may be spread unevenly over partitions.
                all = page.is_empty() || (each <= ORDERED_WAITERS && page.len() < each);
            }
            self.left |= page.len() > wanted || !all;
            page.truncate(wanted + unreleasable);
            let asked = page.len();
            let done = self.unblock(page.drain(..).map(|(_, id)| id)).await;
            released += done as u64;
            // What cannot be released would be met again: as many more are asked for, once.
            if done < asked && unreleasable == 0 {
                unreleasable = asked - done;
                all = false;
                continue;
            }
            if all || done < asked || released >= room {
                break;
            }
        }
        self.released += released;
        Ok(released)
    }

    async fn unblock(&self, ids: impl Iterator<Item = ExecutionId>) -> usize {
        let unblock = |execution| Unblock { execution, on: self.on.clone() };
        let commands: Vec<_> = ids.map(|id| mint::command(unblock(id))).collect();
        if commands.is_empty() {
            return 0;
        }
        let mut done = 0;
        for answer in self.process.store.execute(commands).await {
            match answer.and_then(only!(Applied)) {
                // One that has moved on by itself waits no more.
                Ok(_) => done += 1,
                Err(error) => tracing::warn!(%error, "a blocked execution is not released"),
            }
        }
        done
    }

    /// Whether the other limits that an execution names have room for it. Each is read once.
    async fn others_have_room(&mut self, record: &Execution) -> Result<bool, StoreError> {
        let limits = &record.spec.limits;
        let budgets = limits.budgets.iter().map(|name| (ResourceKind::Budget, name));
        let quotas = limits.quotas.iter().map(|name| (ResourceKind::Quota, name));
        for (kind, name) in budgets.chain(quotas) {
            let on = Blocker { kind, name: name.clone() };
            if on == *self.on {
                continue;
            }
            let key = key(self.process, self.namespace, &on);
            if !self.others.contains_key(&key) {
                let found = self.process.store.resource(&key).await?;
                self.others.insert(key.clone(), found);
            }
            let found = self.others.get(&key).and_then(Option::as_ref);
            if found.is_none_or(|found| room(&found.body, &limits.estimate, self.now) == 0) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether nothing of a lane is claimed. Each lane is read once.
    async fn is_paused(&mut self, lane: &Lane) -> Result<bool, StoreError> {
        if let Some(known) = self.paused.get(lane) {
            return Ok(*known);
        }
        let store = &self.process.store;
        let key = ResourceKey::lane(self.namespace, lane, store.partitions());
        let found = store.resource(&key).await?;
        let state = found.as_ref().and_then(Resource::as_lane);
        let paused = state.is_some_and(|lane: &LaneState| lane.paused);
        self.paused.insert(lane.clone(), paused);
        Ok(paused)
    }
}
