//! What the engine does in the background.

use std::collections::BTreeSet;

use async_trait::async_trait;
use ff_core::control::Blocker;
use ff_core::machine::{ResourceTicked, Tick, TickResource, Ticked};
use ff_core::{ExecutionId, Namespace, ResourceKey, ResourceKind, Time};

use super::{Answer, Backend, many, one, only};
use crate::audit::Rows;
use crate::census::Census;
use crate::error::StoreError;
use crate::share::{EngineId, Share};
use crate::store::{DueTimers, Repaired, Stats, Store};
use crate::wakeups::Wakeups;
use crate::{easing, lanes, settlement};

/// How many budgets and quotas of one partition are looked at in one go.
const BLOCKERS: usize = 100;

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

    /// The budgets and quotas that executions of `share` wait for.
    async fn blockers(&self, share: &Share) -> Result<BTreeSet<(Namespace, Blocker)>, StoreError>;

    /// Lets go those who wait for a budget or a quota, as far as it has room. Tells how many.
    async fn ease(&self, namespace: &Namespace, on: &Blocker) -> Result<u64, StoreError>;

    /// How much waits, and for what.
    async fn census(&self) -> Result<Census, StoreError>;

    /// Every row of the store as of one moment, records first.
    async fn rows(&self) -> Result<Rows, StoreError>;

    /// Puts right what a fault in the middle of a write has left.
    async fn repair(&self) -> Result<Repaired, StoreError>;

    /// What the store has done since it was opened, if it counts that.
    fn stats(&self) -> Option<Stats>;

    /// Where this process hears of new work and timers.
    fn wakeups(&self) -> &Wakeups;

    /// Waits until every claim under way is answered, or what it took is handed back. A process
    /// calls it before it ends, when it claims no more.
    async fn drain(&self);
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
            ResourceTicked::WorkerGone | ResourceTicked::Unbooked => Ok(true),
            ResourceTicked::BudgetReset => {
                let on = Blocker { kind: ResourceKind::Budget, name };
                easing::ease(&**self.store(), &namespace, &on).await.map(|_| true)
            }
            ResourceTicked::Look(ticket) => {
                settlement::look(&**self.store(), &namespace, &ticket).await.map(|()| true)
            }
            ResourceTicked::Spread(state) => {
                lanes::spread(&**self.store(), &namespace, &(&name).into(), state).await?;
                Ok(true)
            }
        }
    }

    async fn blockers(&self, share: &Share) -> Result<BTreeSet<(Namespace, Blocker)>, StoreError> {
        self.store().blockers(share, BLOCKERS).await
    }

    async fn ease(&self, namespace: &Namespace, on: &Blocker) -> Result<u64, StoreError> {
        easing::ease(&**self.store(), namespace, on).await
    }

    async fn census(&self) -> Result<Census, StoreError> {
        self.store().census().await
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
        self.claims.close();
        self.claims.wait().await;
    }
}
