//! What a submit names that is not there: looked up after it was accepted, and told with the answer.
//!
//! Work that names no budget and no quota costs nothing here. What was found is remembered for a
//! moment, so that a producer of much work pays for one look; what was not found is looked for each
//! time, so that nobody is warned of what has come since.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ff_core::limits::ExecutionLimits;
use ff_core::resource::Body;
use ff_core::{Dimension, Namespace, ResourceKey, ResourceKind, ResourceName, Warning};
use tokio::time::Instant;

use crate::error::StoreError;
use crate::store::Store;

/// How long what was found counts as there.
const TTL: Duration = Duration::from_secs(5);

/// How much is remembered; when it is as much, all of it is forgotten.
const MOST: usize = 10_000;

/// The budgets and quotas that were there a moment ago.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<HashMap<ResourceKey, Found>>);

/// What was found, and until when that counts.
#[derive(Debug, Clone)]
struct Found {
    /// What a budget counts; nothing for a quota.
    counts: BTreeSet<Dimension>,
    until: Instant,
}

impl Known {
    /// What is worth a word about work with `limits`.
    pub(crate) async fn warnings<S: Store + ?Sized>(
        &self,
        store: &S,
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

    async fn find<S: Store + ?Sized>(
        &self,
        store: &S,
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
