//! What waits and runs, counted once for all who ask.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ff_store::backlog::Backlog;
use ff_store::{EngineBackend, StoreError};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// How long a count is good for.
const GOOD_FOR: Duration = Duration::from_secs(1);
/// Counting takes at most one part in this many of the time.
const SHARE: u32 = 10;

/// The last count.
#[derive(Debug, Default)]
pub(super) struct Shared(Mutex<Option<(Instant, Arc<Backlog>)>>);

impl Shared {
    /// The last count if it is good, or else a new one. Those who ask meanwhile share it.
    pub(super) async fn get(
        &self,
        backend: &Arc<dyn EngineBackend>,
    ) -> Result<Arc<Backlog>, StoreError> {
        self.get_or(|| backend.backlog()).await
    }

    /// The namespaces that the last count has found, in order; none while one is under way.
    pub(super) fn namespaces(&self) -> Vec<String> {
        let Ok(last) = self.0.try_lock() else { return Vec::new() };
        let Some((_, backlog)) = &*last else { return Vec::new() };
        let of_work = backlog.queues.keys().chain(backlog.active.keys()).map(|(of, _)| of);
        let all = of_work.chain(backlog.blocked_by_lane.keys().map(|(of, _)| of));
        all.collect::<BTreeSet<_>>().into_iter().map(ToString::to_string).collect()
    }

    async fn get_or<F>(&self, count: impl FnOnce() -> F) -> Result<Arc<Backlog>, StoreError>
    where
        F: Future<Output = Result<Backlog, StoreError>>,
    {
        let mut last = self.0.lock().await;
        if let Some((until, backlog)) = &*last
            && Instant::now() < *until
        {
            return Ok(backlog.clone());
        }
        let began = Instant::now();
        let counted = Arc::new(count().await?);
        let good_for = GOOD_FOR.max(began.elapsed() * SHARE);
        *last = Some((Instant::now() + good_for, counted.clone()));
        Ok(counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[tokio::test(start_paused = true)]
    async fn a_slow_count_is_used_for_longer() {
        let (shared, counts) = (Shared::default(), AtomicU32::new(0));
        let get = |took: u64| {
            let counts = &counts;
            shared.get_or(move || async move {
                counts.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(took)).await;
                Ok(Backlog::default())
            })
        };
        for _ in 0..100 {
            get(0).await.unwrap();
        }
        assert_eq!(counts.load(Ordering::SeqCst), 1);
        tokio::time::advance(GOOD_FOR).await;
        get(700).await.unwrap();
        tokio::time::advance(Duration::from_secs(6)).await;
        get(0).await.unwrap();
        assert_eq!(counts.load(Ordering::SeqCst), 2);
        tokio::time::advance(Duration::from_secs(1)).await;
        get(0).await.unwrap();
        assert_eq!(counts.load(Ordering::SeqCst), 3);
    }
}
