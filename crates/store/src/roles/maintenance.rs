//! What the engine does in the background.

use async_trait::async_trait;
use ff_core::machine::{ResourceTicked, Tick, TickResource, Ticked};
use ff_core::{ExecutionId, ResourceKey, Time};

use super::{Answer, Backend, many, one, only};
use crate::audit::Rows;
use crate::error::StoreError;
use crate::lanes;
use crate::share::{EngineId, Share};
use crate::store::{DueTimers, Repaired, Stats, Store};
use crate::wakeups::Wakeups;

/// Let time pass, and check that all is well.
#[async_trait]
pub trait MaintenanceBackend: Send + Sync {
    /// Timers that are due, after `after`, about `limit`: the earliest of each partition.
    async fn due(
        &self,
        share: &Share,
        after: Option<(Time, ExecutionId)>,
        limit: usize,
    ) -> Result<DueTimers, StoreError>;

    /// Says that `engine` is alive, and answers all that are.
    async fn alive(&self, engine: EngineId) -> Result<Vec<EngineId>, StoreError>;

    /// How many partitions the store has.
    fn partitions(&self) -> u16;

    /// Lets time do what is due; each gets its own answer.
    async fn tick(&self, ids: Vec<ExecutionId>) -> Result<Vec<Answer<Ticked>>, StoreError>;

    /// Lets time do what is due to a resource, and finishes what that asks for. Tells whether
    /// anything was due.
    async fn tick_resource(&self, key: ResourceKey) -> Result<bool, StoreError>;

    /// Every row of the store as of one moment, records first.
    async fn rows(&self) -> Result<Rows, StoreError>;

    /// Puts right what a fault in the middle of a write has left.
    async fn repair(&self) -> Result<Repaired, StoreError>;

    /// What the store has done since it was opened, if it counts that.
    fn stats(&self) -> Option<Stats>;

    /// Where this process hears of new work and timers.
    fn wakeups(&self) -> &Wakeups;
}

#[async_trait]
impl<S: Store> MaintenanceBackend for Backend<S> {
    async fn due(
        &self,
        share: &Share,
        after: Option<(Time, ExecutionId)>,
        limit: usize,
    ) -> Result<DueTimers, StoreError> {
        self.store().due(share, after, limit).await
    }

    async fn alive(&self, engine: EngineId) -> Result<Vec<EngineId>, StoreError> {
        self.store().alive(engine).await
    }

    fn partitions(&self) -> u16 {
        self.store().partitions()
    }

    async fn tick(&self, ids: Vec<ExecutionId>) -> Result<Vec<Answer<Ticked>>, StoreError> {
        let ticks = ids.into_iter().map(|execution| Tick { execution }).collect();
        many(&**self.store(), ticks, only!(Ticked)).await
    }

    async fn tick_resource(&self, key: ResourceKey) -> Result<bool, StoreError> {
        let (namespace, name) = (key.namespace.clone(), key.name.clone());
        let ticked = one(&**self.store(), TickResource { key }).await;
        match ticked.and_then(only!(ResourceTicked))? {
            ResourceTicked::Nothing => Ok(false),
            ResourceTicked::WorkerGone => Ok(true),
            ResourceTicked::Spread(state) => {
                lanes::spread(&**self.store(), &namespace, &(&name).into(), state).await?;
                Ok(true)
            }
        }
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
}
