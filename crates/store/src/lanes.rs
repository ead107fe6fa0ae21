//! What an operator says of a lane: written at home, then copied to every partition.

use std::sync::Arc;

use ff_core::limits::Blocker;
use ff_core::machine::SetLane;
use ff_core::resource::{Body, LaneState};
use ff_core::{Actor, Patch, ResourceKey, ResourceKind, ResourceName};

use crate::admission::release;
use crate::error::StoreError;
use crate::mint;
use crate::process::Process;
use crate::roles::{LaneUpdate, give, only};
use crate::spread;

/// Carries out `order`. It is acknowledged when claims and submits in every partition see it.
pub(crate) async fn order(
    process: &Arc<Process>,
    order: LaneUpdate,
    by: Actor,
) -> Result<LaneState, StoreError> {
    let LaneUpdate { namespace, lane, paused, draining, max_active, defaults, reason } = order;
    let store = &*process.store;
    let key = ResourceKey::lane(&namespace, &lane, store.partitions());
    let spread = store.partitions() > 1;
    let home = key.clone();
    let set = SetLane { key, paused, draining, max_active, defaults, reason, spread };
    let said = give(store, mint::command_by(by, set)).await.and_then(only!(Lane))?;
    if spread {
        spread::spread(process, &home, Body::Lane(said.clone())).await?;
    }
    if max_active != Patch::Unset {
        let on = Blocker { kind: ResourceKind::Quota, name: ResourceName::of_lane(&lane) };
        release::release_or_warn(process, &namespace, &on).await;
    }
    // Waiting claims may find work now.
    store.wakeups().announce_maybe();
    Ok(LaneState { spread_by: None, ..said })
}
