//! Copies a resource to every partition.

use std::sync::Arc;

use ff_core::bounds::BATCH;
use ff_core::machine::{CopyResource, ResourceSpread};
use ff_core::resource::Body;
use ff_core::{Partition, ResourceKey};

use crate::error::StoreError;
use crate::mint;
use crate::process::Process;
use crate::roles::{done, run};

/// Copies what lies at `home` to every other partition, and says there that all have it.
pub(crate) async fn spread(
    process: &Arc<Process>,
    home: &ResourceKey,
    body: Body,
) -> Result<(), StoreError> {
    let store = &*process.store;
    let generation = body.generation().unwrap_or_default();
    let body = Box::new(body);
    let others = (0..store.partitions()).filter(|number| *number != home.partition.number());
    let copies = others.filter_map(|number| Partition::new(number).ok()).map(|partition| {
        mint::command(CopyResource { key: home.copy_in(partition), body: body.clone() })
    });
    let copies: Vec<_> = copies.collect();
    for batch in copies.chunks(BATCH) {
        for answer in store.execute(batch.to_vec()).await {
            answer.and_then(done)?;
        }
    }
    run(store, ResourceSpread { key: home.clone(), generation }).await.and_then(done)
}
