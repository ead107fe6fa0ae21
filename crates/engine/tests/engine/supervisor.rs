//! The supervisor: a failed service is restarted, and a stop is a stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ff_engine::supervisor::Supervisor;
use tokio::sync::Notify;
use tokio::time::timeout;

const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test(start_paused = true)]
async fn a_service_that_panics_or_ends_is_restarted() {
    let supervisor = Supervisor::default();
    let starts = Arc::new(AtomicU32::new(0));
    let third = Arc::new(Notify::new());
    let (counted, reached) = (starts.clone(), third.clone());
    supervisor.start("falling", move |stop| {
        let (count, reached) = (counted.fetch_add(1, Ordering::SeqCst), reached.clone());
        async move {
            match count {
                0 => panic!("planted"),
                1 => {}
                _ => {
                    reached.notify_one();
                    stop.cancelled().await;
                }
            }
        }
    });
    timeout(HOUR, third.notified()).await.unwrap();
    timeout(HOUR, supervisor.stop()).await.unwrap();
    assert_eq!(starts.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_a_service_that_keeps_failing() {
    let supervisor = Supervisor::default();
    let fell = Arc::new(Notify::new());
    let falls = fell.clone();
    supervisor.start("falling", move |_| {
        let falls = falls.clone();
        async move { falls.notify_one() }
    });
    timeout(HOUR, fell.notified()).await.unwrap();
    timeout(HOUR, supervisor.stop()).await.unwrap();
}
