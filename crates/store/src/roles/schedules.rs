//! Schedules: set, list, pause, run, backfill, remove; and what is done when a moment has come.

use std::sync::Arc;

use async_trait::async_trait;
use ff_core::bounds::SCHEDULE_RUNS;
use ff_core::machine::{
    BackfillSchedule, Cancel, Discard, FireSchedule, Fired, PauseSchedule, RunSchedule,
    SetSchedule, Submitted, Target,
};
use ff_core::schedule::{Schedule, ScheduleSpec};
use ff_core::{
    Actor, Code, Namespace, Refusal, RequestId, Resource, ResourceKey, ResourceKind, ResourceName,
    Time,
};

use super::{Engine, done, one, only, run};
use crate::continuations;
use crate::error::StoreError;
use crate::mint;
use crate::process::Process;
use crate::schedules::{BackfillRange, NamedSchedule};
use crate::store::Store;

/// How often one tick fires a schedule: once more after each time that it has runs cancelled.
const ROUNDS: usize = 4;

/// Submit work at moments that are known beforehand.
#[async_trait]
pub trait SchedulesBackend: Send + Sync {
    /// Makes a schedule, or changes what it is to do from now on.
    async fn set_schedule(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
        spec: ScheduleSpec,
    ) -> Result<NamedSchedule, StoreError>;

    /// One schedule, with its next ten moments.
    async fn schedule(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<NamedSchedule, StoreError>;

    /// Schedules in the order of their names, after `after`, at most `limit`, each with its next moment.
    async fn schedules(
        &self,
        namespace: &Namespace,
        after: Option<&ResourceName>,
        limit: usize,
    ) -> Result<Vec<NamedSchedule>, StoreError>;

    /// Pauses a schedule, or lets it continue with the moments from then on.
    async fn pause_schedule(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
        paused: bool,
        reason: Option<Box<str>>,
    ) -> Result<NamedSchedule, StoreError>;

    /// Submits a run now. The same request makes one run.
    async fn run_schedule(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
        request: RequestId,
    ) -> Result<Submitted, StoreError>;

    /// Runs the moments of a range of the past, one after the other.
    async fn backfill_schedule(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
        range: BackfillRange,
    ) -> Result<NamedSchedule, StoreError>;

    /// Removes a schedule. Its runs stay.
    async fn delete_schedule(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<(), StoreError>;
}

#[async_trait]
impl<S: Store + ?Sized> SchedulesBackend for Engine<S> {
    async fn set_schedule(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
        spec: ScheduleSpec,
    ) -> Result<NamedSchedule, StoreError> {
        let key = self.schedule_key(namespace, name);
        let set = *self.one(SetSchedule { key, spec }).await.and_then(only!(Schedule))?;
        Ok(named(name, set, self.now().await?, SCHEDULE_RUNS))
    }

    async fn schedule(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<NamedSchedule, StoreError> {
        let found = self.store().resource(&self.schedule_key(namespace, name)).await?;
        let found = found.as_ref().and_then(Resource::as_schedule).cloned();
        let found = found.ok_or(Refusal::NoSuch { what: ResourceKind::Schedule.as_str() })?;
        Ok(named(name, found, self.now().await?, SCHEDULE_RUNS))
    }

    async fn schedules(
        &self,
        namespace: &Namespace,
        after: Option<&ResourceName>,
        limit: usize,
    ) -> Result<Vec<NamedSchedule>, StoreError> {
        let found = self.resources(namespace, ResourceKind::Schedule, after.cloned(), limit);
        let (found, now) = (found.await?, self.now().await?);
        let each =
            |found: &Resource| Some(named(&found.key.name, found.as_schedule()?.clone(), now, 1));
        Ok(found.iter().filter_map(each).collect())
    }

    async fn pause_schedule(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
        paused: bool,
        reason: Option<Box<str>>,
    ) -> Result<NamedSchedule, StoreError> {
        let key = self.schedule_key(namespace, name);
        let set = self.one(PauseSchedule { key, paused, reason }).await;
        let set = *set.and_then(only!(Schedule))?;
        Ok(named(name, set, self.now().await?, SCHEDULE_RUNS))
    }

    async fn run_schedule(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
        request: RequestId,
    ) -> Result<Submitted, StoreError> {
        let key = self.schedule_key(namespace, name);
        self.one(RunSchedule { key, request }).await.and_then(only!(Submitted))
    }

    async fn backfill_schedule(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
        range: BackfillRange,
    ) -> Result<NamedSchedule, StoreError> {
        let key = self.schedule_key(namespace, name);
        let BackfillRange { from, until, pace } = range;
        let set = self.one(BackfillSchedule { key, from, until, pace }).await;
        let set = *set.and_then(only!(Schedule))?;
        Ok(named(name, set, self.now().await?, SCHEDULE_RUNS))
    }

    async fn delete_schedule(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<(), StoreError> {
        self.one(Discard { key: self.schedule_key(namespace, name) }).await.and_then(done)
    }
}

impl<S: Store + ?Sized> Engine<S> {
    fn schedule_key(&self, namespace: &Namespace, name: &ResourceName) -> ResourceKey {
        self.limit(ResourceKind::Schedule, namespace, name)
    }
}

fn named(name: &ResourceName, schedule: Schedule, now: Time, most: usize) -> NamedSchedule {
    let next = schedule.spec.plan.upcoming(schedule.decided.max(now), most);
    NamedSchedule { name: name.clone(), schedule, next }
}

/// Decides the moments of a schedule that have come, and cancels what must end before them. Tells whether
/// anything was decided.
pub(super) async fn fire(process: &Arc<Process>, key: &ResourceKey) -> Result<bool, StoreError> {
    let mut changed = false;
    for _ in 0..ROUNDS {
        let fired = run(&*process.store, FireSchedule { key: key.clone() }).await;
        continuations::run_soon(process);
        let Fired { changed: now, made, cancel } = fired.and_then(only!(Fired))?;
        changed |= now;
        for execution in &made {
            tracing::debug!(schedule = ?key, %execution, "a schedule has run");
        }
        if cancel.is_empty() {
            break;
        }
        for execution in cancel {
            let target = Target { namespace: key.namespace.clone(), execution };
            let reason = Some(format!("the next run of schedule {} is due", key.name).into());
            let cancel = Cancel { target, grace: None, reason };
            match one(process, mint::command_by(Actor::engine(), cancel)).await {
                Ok(_) => {}
                // It has ended, or is gone.
                Err(error) if error.refused().is_some_and(has_ended) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(changed)
}

fn has_ended(code: Code) -> bool {
    matches!(code, Code::WrongState | Code::NotFound)
}
