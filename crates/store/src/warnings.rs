//! Warnings of a submit: the budgets, quotas and dimensions it names that do not exist.
//!
//! They are looked up after the submit is accepted, and returned with its answer. A submit that names no
//! limit costs nothing here. Limits that exist are cached for a few seconds, so a busy producer pays
//! for one lookup; missing ones are looked up every time, so a warning is never out of date.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ff_core::limits::ExecutionLimits;
use ff_core::resource::Body;
use ff_core::{Dimension, Namespace, ResourceKey, ResourceKind, ResourceName, Warning};
use tokio::time::Instant;

use crate::error::StoreError;
use crate::store::Store;

/// How long a limit that was found counts as existing.
const TTL: Duration = Duration::from_secs(5);

/// How many limits are cached; one more clears the cache.
const MOST: usize = 10_000;

/// The budgets and quotas that existed a moment ago.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<HashMap<ResourceKey, Found>>);

/// A cached limit.
#[derive(Debug, Clone)]
struct Found {
    /// What a budget counts; nothing for a quota.
    counts: BTreeSet<Dimension>,
    until: Instant,
}

impl Known {
    /// The warnings for an execution with `limits`.
    pub(crate) async fn warnings(
        &self,
        store: &dyn Store,
        namespace: &Namespace,
        limits: &ExecutionLimits,
    ) -> Result<Vec<Warning>, StoreError> {
        let mut warnings = Vec::new();
        let mut counted = BTreeSet::new();
        for name in &limits.budgets {
            match self.find(store, ResourceKind::Budget, namespace, name).await? {
                Some(found) => counted.extend(found.counts),
                None => warnings.push(Warning::NoBudget { name: name.clone() }),
            }
        }
        if warnings.is_empty() {
            let missing = limits.estimate.keys().filter(|dimension| !counted.contains(*dimension));
            warnings.extend(missing.cloned().map(|dimension| Warning::NotCounted { dimension }));
        }
        for name in &limits.quotas {
            if self.find(store, ResourceKind::Quota, namespace, name).await?.is_none() {
                warnings.push(Warning::NoQuota { name: name.clone() });
            }
        }
        Ok(warnings)
    }

    async fn find(
        &self,
        store: &dyn Store,
        kind: ResourceKind,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<Option<Found>, StoreError> {
        let key = ResourceKey::at_home(kind, namespace, name, store.partitions());
        let now = Instant::now();
        if let Some(found) = self.known().get(&key).filter(|found| found.until > now) {
            return Ok(Some(found.clone()));
        }
        let Some(resource) = store.resource(&key).await? else {
            self.known().remove(&key);
            return Ok(None);
        };
        let counts = match &resource.body {
            Body::Budget(budget) => budget.limits.dimensions.keys().cloned().collect(),
            _ => BTreeSet::new(),
        };
        let found = Found { counts, until: now + TTL };
        let mut known = self.known();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(key, found.clone());
        Ok(Some(found))
    }

    fn known(&self) -> MutexGuard<'_, HashMap<ResourceKey, Found>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
