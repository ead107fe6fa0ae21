//! What an operator says of a lane: written at home, then copied to every partition.

use std::sync::Arc;

use ff_core::bounds::BATCH;
use ff_core::limits::Blocker;
use ff_core::machine::{CopyLane, LaneSpread, SetLane};
use ff_core::resource::LaneState;
use ff_core::{Actor, Lane, Namespace, Partition, Patch, ResourceKey, ResourceKind, ResourceName};

use crate::admission::release;
use crate::error::StoreError;
use crate::mint;
use crate::process::Process;
use crate::roles::{LaneUpdate, done, give, only, run};

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
    let set = SetLane { key, paused, draining, max_active, defaults, reason, spread };
    let said = give(store, mint::command_by(by, set)).await.and_then(only!(Lane))?;
    let said = match spread {
        true => self::spread(process, &namespace, &lane, said).await?,
        false => said,
    };
    if max_active != Patch::Unset {
        let on = Blocker { kind: ResourceKind::Quota, name: ResourceName::of_lane(&lane) };
        release::release_or_warn(process, &namespace, &on).await;
    }
    // Waiting claims may find work now.
    store.wakeups().announce_maybe();
    Ok(said)
}

/// Copies a lane's settings to every partition.
pub(crate) async fn spread(
    process: &Arc<Process>,
    namespace: &Namespace,
    lane: &Lane,
    state: LaneState,
) -> Result<LaneState, StoreError> {
    let store = &*process.store;
    let home = ResourceKey::lane(namespace, lane, store.partitions());
    let others = (0..store.partitions()).filter(|number| *number != home.partition.number());
    let copies = others.filter_map(|number| Partition::new(number).ok()).map(|partition| {
        let key = ResourceKey::lane_in(partition, namespace, lane);
        mint::command(CopyLane { key, state: state.clone() })
    });
    let copies: Vec<_> = copies.collect();
    for batch in copies.chunks(BATCH) {
        for answer in store.execute(batch.to_vec()).await {
            answer.and_then(done)?;
        }
    }
    run(store, LaneSpread { key: home, generation: state.generation }).await.and_then(done)?;
    Ok(LaneState { spread_by: None, ..state })
}
