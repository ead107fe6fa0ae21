//! How many executions wait, for what, and how many run: counted in the store for each scrape.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ff_core::ResourceKind;
use ff_store::backlog::Backlog;
use ff_store::metrics::lane_label;
use ff_store::{StoreError, outage};
use tokio::sync::Mutex;
use tokio::time::timeout;

/// How long a scrape waits for a count; after that it reports the last one.
const WAIT: Duration = Duration::from_secs(3);

/// What is reported about a lane.
#[derive(Debug, Default)]
struct Shown {
    waiting: u64,
    oldest_ms: u64,
    unroutable: u64,
    active: u64,
}

/// Counts the backlog, one count at a time for any number of scrapes. A count that takes long
/// continues without the scrapes that started it. It keeps the lanes that it reported, so that one
/// that has become empty is reported as empty.
#[derive(Debug, Default)]
pub(crate) struct Counting(Arc<Mutex<Lanes>>);

type Lanes = BTreeMap<Arc<str>, Shown>;

impl Counting {
    /// Counts and reports, or waits for the count in progress.
    pub(crate) async fn refresh(
        &self,
        count: impl Future<Output = Result<Backlog, StoreError>> + Send + 'static,
    ) {
        let counted = async {
            let Ok(mut shown) = self.0.clone().try_lock_owned() else {
                drop(self.0.lock().await);
                return;
            };
            let counting = tokio::spawn(async move {
                match count.await {
                    Ok(backlog) => show(&backlog, &mut shown),
                    Err(error) => outage::failed(&error, "the backlog cannot be counted"),
                }
            });
            // A count that panicked reports nothing, like one that failed.
            let _ = counting.await;
        };
        // The last count is reported if this one is not finished in time.
        let _ = timeout(WAIT, counted).await;
    }
}

/// Sets the gauges to `backlog`.
fn show(backlog: &Backlog, lanes: &mut Lanes) {
    lanes.values_mut().for_each(|shown| *shown = Shown::default());
    for ((_, lane), queued) in &backlog.queues {
        let shown = lanes.entry(lane_label(lane)).or_default();
        shown.waiting += queued.count;
        shown.oldest_ms = shown.oldest_ms.max(backlog.now.since(queued.oldest).get());
    }
    for ((_, lane), count) in &backlog.unroutable {
        lanes.entry(lane_label(lane)).or_default().unroutable += count;
    }
    for ((_, lane), count) in &backlog.active {
        lanes.entry(lane_label(lane)).or_default().active += count;
    }
    for (lane, shown) in lanes.iter() {
        let lane = || lane.clone();
        metrics::gauge!("ff_queue_depth", "lane" => lane()).set(shown.waiting as f64);
        let seconds = shown.oldest_ms as f64 / 1_000.0;
        metrics::gauge!("ff_queue_oldest_seconds", "lane" => lane()).set(seconds);
        metrics::gauge!("ff_unroutable", "lane" => lane()).set(shown.unroutable as f64);
        metrics::gauge!("ff_active", "lane" => lane()).set(shown.active as f64);
    }
    for (kind, reason) in
        [(ResourceKind::Budget, "waiting_for_budget"), (ResourceKind::Quota, "waiting_for_quota")]
    {
        let waiting = backlog.blocked.iter().filter(|((_, on), _)| on.kind == kind);
        let count: u64 = waiting.map(|(_, count)| *count).sum();
        metrics::gauge!("ff_blocked", "reason" => reason).set(count as f64);
    }
    metrics::gauge!("ff_workers").set(backlog.workers as f64);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_slow_count_keeps_no_scrape_waiting_and_is_not_begun_twice() {
        let (counting, begun) = (Counting::default(), Arc::new(AtomicU32::new(0)));
        let count = || {
            let begun = begun.clone();
            async move {
                begun.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(WAIT * 4).await;
                Ok(Backlog::default())
            }
        };
        let first = tokio::time::Instant::now();
        counting.refresh(count()).await;
        counting.refresh(count()).await;
        assert_eq!((begun.load(Ordering::SeqCst), first.elapsed()), (1, WAIT * 2));
        counting.refresh(async { Ok(Backlog::default()) }).await;
        tokio::time::sleep(WAIT * 2).await;
        counting.refresh(count()).await;
        assert_eq!(begun.load(Ordering::SeqCst), 2, "the first one has ended");
    }
}
