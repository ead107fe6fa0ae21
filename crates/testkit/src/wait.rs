//! Bounded waits for conditions that another process makes true.

use std::{
    thread,
    time::{Duration, Instant},
};

const PAUSE: Duration = Duration::from_millis(10);

/// Polls until there is an answer, at most for `limit`; `None` when there is none by then.
pub fn until<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let started = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if started.elapsed() >= limit {
            return None;
        }
        thread::sleep(PAUSE);
    }
}

/// The same for a future: other tasks of the runtime continue meanwhile.
pub async fn until_async<T>(limit: Duration, mut ask: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    let started = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return Some(answer);
        }
        if started.elapsed() >= limit {
            return None;
        }
        tokio::time::sleep(PAUSE).await;
    }
}
