//! Whether the store answers: pinged at most once a second for all callers, and with a short timeout.

use std::time::Duration;

use ff_store::StoreError;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// How long an answer of the store is good for.
const GOOD_FOR: Duration = Duration::from_secs(1);
/// How long the store may take to answer. A caller that finds a ping in flight waits for
/// no more than this either.
const TIMEOUT: Duration = Duration::from_millis(900);

/// What the store last answered. Concurrent callers share one ping.
#[derive(Default)]
pub(crate) struct Health {
    last: Mutex<Option<(Instant, bool)>>,
}

impl Health {
    /// Whether the store answered within the last second, calling `ping` if it was not pinged since.
    pub(crate) async fn ready(&self, ping: impl Future<Output = Result<(), StoreError>>) -> bool {
        let mut last = self.last.lock().await;
        if let Some((at, answered)) = *last
            && at.elapsed() < GOOD_FOR
        {
            return answered;
        }
        let answered = matches!(tokio::time::timeout(TIMEOUT, ping).await, Ok(Ok(())));
        *last = Some((Instant::now(), answered));
        answered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[tokio::test(start_paused = true)]
    async fn many_callers_cost_the_store_one_ping_a_second() {
        let (health, pings) = (Health::default(), AtomicU32::new(0));
        let ping = || async {
            pings.fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        for second in 1..=3 {
            for _ in 0..1_000 {
                assert!(health.ready(ping()).await);
            }
            assert_eq!(pings.load(Ordering::SeqCst), second);
            tokio::time::advance(GOOD_FOR).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn every_caller_learns_within_a_second_that_the_store_hangs() {
        let health = Arc::new(Health::default());
        let began = Instant::now();
        let calls: Vec<_> = (0..50)
            .map(|_| {
                let health = health.clone();
                tokio::spawn(async move { health.ready(std::future::pending()).await })
            })
            .collect();
        for call in calls {
            assert!(!call.await.unwrap());
        }
        assert!(began.elapsed() <= Duration::from_secs(1), "{:?}", began.elapsed());
        tokio::time::advance(GOOD_FOR).await;
        assert!(health.ready(async { Ok(()) }).await, "it is pinged again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_fails_is_not_ready() {
        let failing = async { Err(StoreError::Unavailable("gone".into())) };
        assert!(!Health::default().ready(failing).await);
    }
}
