//! Bounded waits for what only another process can make true.

use std::{
    thread,
    time::{Duration, Instant},
};

const PAUSE: Duration = Duration::from_millis(10);

/// Asks until there is an answer, at most for `limit`; nothing when there is none by then.
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

/// The same for what has to be awaited: other tasks of the runtime go on meanwhile.
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
