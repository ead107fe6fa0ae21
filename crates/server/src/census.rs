//! How much waits, and for what: asked of the store when somebody asks the server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use ff_core::ResourceKind;
use ff_store::census::Census;
use ff_store::meter::Names;

/// Lanes that were shown, so that one that has become empty is shown as empty.
static SHOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
static LANES: Names = Names::new();

/// Shows `census`.
pub(crate) fn show(census: &Census) {
    let mut shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut lanes: BTreeMap<String, (u64, u64)> =
        shown.iter().map(|lane| (lane.clone(), (0, 0))).collect();
    for ((_, lane), queued) in &census.queues {
        let (count, oldest) = lanes.entry(LANES.label(lane.as_str())).or_default();
        *count += queued.count;
        *oldest = (*oldest).max(census.now.since(queued.oldest).get());
    }
    let mut unroutable: BTreeMap<String, u64> = BTreeMap::new();
    for ((_, lane), count) in &census.unroutable {
        *unroutable.entry(LANES.label(lane.as_str())).or_default() += count;
    }
    for (lane, (count, oldest)) in lanes {
        let nobody = unroutable.get(&lane).copied().unwrap_or(0);
        metrics::gauge!("ff_unroutable", "lane" => lane.clone()).set(nobody as f64);
        metrics::gauge!("ff_queue_depth", "lane" => lane.clone()).set(count as f64);
        let seconds = oldest as f64 / 1_000.0;
        metrics::gauge!("ff_queue_oldest_seconds", "lane" => lane.clone()).set(seconds);
        shown.insert(lane);
    }
    for (kind, reason) in
        [(ResourceKind::Budget, "waiting_for_budget"), (ResourceKind::Quota, "waiting_for_quota")]
    {
        let waiting = census.blocked.iter().filter(|((_, on), _)| on.kind == kind);
        let count: u64 = waiting.map(|(_, count)| *count).sum();
        metrics::gauge!("ff_blocked", "reason" => reason).set(count as f64);
    }
    metrics::gauge!("ff_workers").set(census.workers as f64);
}
