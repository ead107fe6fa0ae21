//! What is known of the flows that are looked at.
//!
//! A flow may have 10,000 nodes, which are a hundred reads. Whoever looks at one shares what was read, pages whose
//! nodes have all completed are not read again, and reading takes a bounded part of the time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex as Guard, PoisonError};
use std::time::Duration;

use ff_core::bounds::FLOW_SLICE;
use ff_core::machine::Target;
use ff_core::{Description, ExecutionId, Namespace, Time};
use ff_drawing::{Graph, Snapshot};
use ff_store::{EngineBackend, StoreError};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// How many flows are kept.
const FLOWS: usize = 8;
/// For how long what was read is shown.
const FRESH: Duration = Duration::from_secs(1);
/// Reading takes at most one part in this many of the time.
const SHARE: u32 = 5;

/// The flows that are looked at.
#[derive(Default)]
pub(super) struct Flows {
    known: Guard<HashMap<(Namespace, ExecutionId), Known>>,
}

struct Known {
    used: Instant,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    snapshot: Snapshot,
    /// Until when it is shown.
    until: Option<Instant>,
    shown: Option<Arc<Seen>>,
}

/// A flow as it was read last.
pub(super) struct Seen {
    pub(super) flow: Description,
    pub(super) graph: Graph,
}

impl Flows {
    /// The flow as of now, or a little before; never from before its state or its run changed.
    pub(super) async fn get(
        &self,
        backend: &Arc<dyn EngineBackend>,
        target: &Target,
        now: Time,
    ) -> Result<Arc<Seen>, StoreError> {
        let record = backend.describe(target).await?;
        let kept = self.kept(target);
        let mut kept = kept.lock().await;
        let began = Instant::now();
        let is_same =
            |seen: &Seen| (&seen.flow.state, &seen.flow.run) == (&record.state, &record.run);
        if let Some(shown) = kept.shown.as_ref().filter(|seen| is_same(seen))
            && kept.until.is_some_and(|until| began < until)
        {
            return Ok(shown.clone());
        }
        let mut next = Some(0);
        while let Some(from) = next {
            next = match kept.snapshot.kept(from) {
                Some(after) => Some(after),
                None => kept.snapshot.take(from, backend.flow(target, from, FLOW_SLICE).await?),
            };
        }
        let flow = kept.snapshot.flow().map_or(record, |(flow, _)| flow.clone());
        let shown = Arc::new(Seen { flow, graph: kept.snapshot.graph(now) });
        kept.until = Some(Instant::now() + FRESH.max(began.elapsed() * SHARE));
        kept.shown = Some(shown.clone());
        Ok(shown)
    }

    /// What is kept of a flow. The one that was not looked at for the longest time makes room.
    fn kept(&self, target: &Target) -> Arc<Mutex<Kept>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (target.namespace.clone(), target.execution);
        if known.len() >= FLOWS && !known.contains_key(&key) {
            let oldest = known.iter().min_by_key(|(_, one)| one.used).map(|(key, _)| key.clone());
            oldest.map(|key| known.remove(&key));
        }
        let one = known
            .entry(key)
            .or_insert_with(|| Known { used: Instant::now(), kept: Arc::default() });
        one.used = Instant::now();
        one.kept.clone()
    }
}
