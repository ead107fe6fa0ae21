//! What the engine does in the background.

use std::sync::Arc;

use async_trait::async_trait;
use ff_core::continuation::Continuation;
use ff_core::explain::ExplainInputs;
use ff_core::limits::Blocker;
use ff_core::machine::{Continue, Continued, ResourceTicked, Tick, TickResource, Ticked};
use ff_core::{ExecutionId, Namespace, ResourceKey};

use super::{Answer, Engine, only, run, schedules};
use crate::admission::{release, settle};
use crate::audit::Rows;
use crate::backlog::Backlog;
use crate::continuations;
use crate::error::StoreError;
use crate::events::feed;
use crate::partition_set::{EngineId, PartitionSet};
use crate::process::Process;
use crate::spread;
use crate::store::{DueCursor, DueTimers, Repaired, Stats, Store};
use crate::wakeups::Wakeups;
use crate::webhooks::Turn;

/// In how many namespaces a count checks whether a live worker can run what waits.
pub(crate) const ROUTED_NAMESPACES: usize = 100;

/// Let time pass, and check that all is well.
#[async_trait]
pub trait MaintenanceBackend: Send + Sync {
    /// Timers that are due, after `after`, of executions, of resources and of continuations about
    /// `limit` each: the earliest of each partition.
    async fn due(
        &self,
        share: &PartitionSet,
        after: Option<DueCursor>,
        limit: usize,
    ) -> Result<DueTimers, StoreError>;

    /// Says that `engine` is alive, and answers all that are.
    async fn engine_heartbeat(&self, engine: EngineId) -> Result<Vec<EngineId>, StoreError>;

    /// Says that `engine` is gone.
    async fn leave(&self, engine: EngineId) -> Result<(), StoreError>;

    /// How many partitions the store has.
    fn partitions(&self) -> u16;

    /// Lets time do what is due; each gets its own answer.
    async fn tick(&self, ids: Vec<ExecutionId>) -> Result<Vec<Answer<Ticked>>, StoreError>;

    /// Lets time do what is due to a resource, and finishes what that asks for. Tells whether
    /// anything was due.
    async fn tick_resource(&self, key: ResourceKey) -> Result<bool, StoreError>;

    /// Runs one slice of each continuation; each gets its own answer. The process runs what is left of
    /// them.
    async fn run_continuations(
        &self,
        due: Vec<Continuation>,
    ) -> Result<Vec<Answer<Continued>>, StoreError>;

    /// The budgets and quotas that executions of `share` wait for, in an order of the store's own,
    /// after `after`, at most `limit`.
    async fn blockers(
        &self,
        share: &PartitionSet,
        after: Option<&(Namespace, Blocker)>,
        limit: usize,
    ) -> Result<Vec<(Namespace, Blocker)>, StoreError>;

    /// Releases executions blocked on a budget or a quota, as far as it has room. Tells how many.
    async fn release(&self, namespace: &Namespace, on: &Blocker) -> Result<u64, StoreError>;

    /// How much waits, and for what.
    async fn backlog(&self) -> Result<Backlog, StoreError>;

    /// Every row of the store.
    async fn rows(&self) -> Result<Rows, StoreError>;

    /// Repairs what a fault in the middle of a write has left.
    async fn repair(&self) -> Result<Repaired, StoreError>;

    /// What the store has done since it was opened, if it counts that.
    fn stats(&self) -> Option<Stats>;

    /// Where this process is notified of new work and timers.
    fn wakeups(&self) -> &Wakeups;

    /// Waits until every call of this process has come to its end, and what follows from it: what a
    /// claim took is answered or handed back, what has stopped is settled. A process calls it before
    /// it ends.
    async fn drain(&self);
}

#[async_trait]
impl<S: Store + ?Sized> MaintenanceBackend for Engine<S> {
    async fn due(
        &self,
        share: &PartitionSet,
        after: Option<DueCursor>,
        limit: usize,
    ) -> Result<DueTimers, StoreError> {
        self.store().due(share, after, limit).await
    }

    async fn engine_heartbeat(&self, engine: EngineId) -> Result<Vec<EngineId>, StoreError> {
        self.store().engine_heartbeat(engine).await
    }

    async fn leave(&self, engine: EngineId) -> Result<(), StoreError> {
        self.store().leave(engine).await
    }

    fn partitions(&self) -> u16 {
        self.store().partitions()
    }

    async fn tick(&self, ids: Vec<ExecutionId>) -> Result<Vec<Answer<Ticked>>, StoreError> {
        let ticks = ids.into_iter().map(|execution| Tick { execution }).collect();
        self.many(ticks, only!(Ticked)).await
    }

    async fn tick_resource(&self, key: ResourceKey) -> Result<bool, StoreError> {
        let process = self.0.clone();
        self.0.call(async move { tick_resource(&process, key).await }).await
    }

    async fn run_continuations(
        &self,
        due: Vec<Continuation>,
    ) -> Result<Vec<Answer<Continued>>, StoreError> {
        let runs = due.iter().map(|continuation| Continue { continuation: *continuation });
        let answers = self.many(runs.collect(), only!(Continued)).await?;
        for (answer, continuation) in answers.iter().zip(due) {
            if matches!(answer, Ok(Continued::Unknown)) {
                self.0.runners.report_unknown(continuation.kind);
            }
        }
        Ok(answers)
    }

    async fn blockers(
        &self,
        share: &PartitionSet,
        after: Option<&(Namespace, Blocker)>,
        limit: usize,
    ) -> Result<Vec<(Namespace, Blocker)>, StoreError> {
        self.store().blockers(share, after, limit).await
    }

    async fn release(&self, namespace: &Namespace, on: &Blocker) -> Result<u64, StoreError> {
        let (process, namespace, on) = (self.0.clone(), namespace.clone(), on.clone());
        self.0.call(async move { release::release(&process, &namespace, &on).await }).await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        let mut backlog = self.store().backlog().await?;
        let mut around: Option<(Namespace, ExplainInputs)> = None;
        let mut namespaces = 0;
        for ((namespace, lane, requires), count) in &backlog.requiring {
            if around.as_ref().is_none_or(|(known, _)| known != namespace) {
                namespaces += 1;
                if namespaces > ROUTED_NAMESPACES {
                    break;
                }
                around = Some((namespace.clone(), self.around(namespace, backlog.now).await?));
            }
            if around.as_ref().is_some_and(|(_, around)| !around.covers(lane, requires)) {
                let key = (namespace.clone(), lane.clone());
                *backlog.unroutable.entry(key).or_default() += count;
            }
        }
        Ok(backlog)
    }

    async fn rows(&self) -> Result<Rows, StoreError> {
        self.store().rows().await
    }

    async fn repair(&self) -> Result<Repaired, StoreError> {
        self.store().repair().await
    }

    fn stats(&self) -> Option<Stats> {
        self.store().stats()
    }

    fn wakeups(&self) -> &Wakeups {
        self.store().wakeups()
    }

    async fn drain(&self) {
        self.0.drain().await;
    }
}

async fn tick_resource(process: &Arc<Process>, key: ResourceKey) -> Result<bool, StoreError> {
    let (namespace, name, kind) = (key.namespace.clone(), key.name.clone(), key.kind);
    let home = key.clone();
    let ticked = run(&*process.store, TickResource { key }).await;
    continuations::run_soon(process);
    let on = || Blocker { kind, name: name.clone() };
    match ticked.and_then(only!(ResourceTicked))? {
        ResourceTicked::Nothing => return Ok(false),
        ResourceTicked::WorkerGone => {}
        ResourceTicked::BudgetReset => {
            release::release_or_warn(process, &namespace, &on()).await;
        }
        ResourceTicked::Release { next } => {
            release::ticked(process, &namespace, &on(), next).await?;
        }
        ResourceTicked::CheckTicket(ticket) => {
            settle::check_ticket(process, &namespace, &ticket).await?;
        }
        ResourceTicked::Spread(body) => spread::spread(process, &home, *body).await?,
        ResourceTicked::Deliver(webhook) => {
            process.turns.add(Turn { key: home, webhook: *webhook });
        }
        ResourceTicked::Fire => return schedules::fire(process, &home).await,
        ResourceTicked::Trim { trim, off } => feed::trim(process, &namespace, trim, off).await?,
    }
    Ok(true)
}
