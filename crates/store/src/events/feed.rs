//! Feeds: switched on by a reader or an operator, copied to every partition, trimmed by the engine.

use std::sync::Arc;

use ff_core::feed::{FeedState, Trim};
use ff_core::machine::{FeedChange, FeedEmptied, SetFeed};
use ff_core::resource::Body;
use ff_core::{Millis, Namespace, Resource, ResourceKey};

use crate::error::StoreError;
use crate::process::Process;
use crate::roles::{done, only, run};
use crate::spread;

/// How often a log is trimmed in a row before others get their turn.
const TRIMS: usize = 64;

/// An operator's settings for the feed of a namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedUpdate {
    /// The tenant.
    pub namespace: Namespace,
    /// Whether it is on, whoever reads; off, the next reader switches it on again. `None` leaves it.
    pub on: Option<bool>,
    /// How long an event is kept; `None` leaves it.
    pub retention: Option<Millis>,
    /// How many are kept at most; `None` leaves it.
    pub most: Option<u64>,
}

/// The feed of `namespace`.
pub(crate) async fn state(
    process: &Arc<Process>,
    namespace: &Namespace,
) -> Result<FeedState, StoreError> {
    let key = ResourceKey::feed(namespace, process.store.partitions());
    let found = process.store.resource(&key).await?;
    Ok(found.as_ref().and_then(Resource::as_feed).cloned().unwrap_or_default())
}

/// The feed of `namespace`, which is on in every partition: somebody reads it.
pub(crate) async fn read(
    process: &Arc<Process>,
    namespace: &Namespace,
) -> Result<FeedState, StoreError> {
    let feed = state(process, namespace).await?;
    let now = process.store.now().await?;
    match feed.on && feed.spread_by.is_none() && !feed.is_to_be_noted(now) {
        true => Ok(feed),
        false => change(process, namespace, FeedChange::Read).await,
    }
}

/// Carries out an operator's settings.
pub(crate) async fn set(
    process: &Arc<Process>,
    update: FeedUpdate,
) -> Result<FeedState, StoreError> {
    let FeedUpdate { namespace, on, retention, most } = update;
    change(process, &namespace, FeedChange::Set { on, retention, most }).await
}

/// Changes a feed. It is acknowledged when every partition logs by it.
async fn change(
    process: &Arc<Process>,
    namespace: &Namespace,
    change: FeedChange,
) -> Result<FeedState, StoreError> {
    let store = &*process.store;
    let partitions = store.partitions();
    let key = ResourceKey::feed(namespace, partitions);
    let set = SetFeed { key: key.clone(), change, partitions };
    let feed = *run(store, set).await.and_then(only!(Feed))?;
    if feed.spread_by.is_some() {
        // Another caller may be at it too, and may die.
        spread::spread(process, &key, Body::Feed(feed.clone())).await?;
    }
    Ok(FeedState { spread_by: None, ..feed })
}

/// Removes from a log what is too old or too much. The log of a feed that is off is emptied.
pub(crate) async fn trim(
    process: &Arc<Process>,
    namespace: &Namespace,
    trim: Trim,
    off: Option<u64>,
) -> Result<(), StoreError> {
    let store = &*process.store;
    for _ in 0..TRIMS {
        if !store.trim_events(namespace, trim).await? {
            if let Some(generation) = off {
                let key = ResourceKey::feed(namespace, store.partitions());
                run(store, FeedEmptied { key, generation }).await.and_then(done)?;
            }
            return Ok(());
        }
    }
    Ok(())
}
