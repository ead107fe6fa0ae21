//! Waiting between tries, with jitter.

use std::time::Duration;

/// Grows from a short wait to a long one; each wait is between half of it and all of it.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
    longest: Duration,
}

impl Backoff {
    pub(crate) fn new(first: Duration, longest: Duration) -> Backoff {
        Backoff { next: first, longest }
    }

    pub(crate) async fn wait(&mut self) {
        let half = self.next / 2;
        let jitter = half.mul_f64(fastrand::f64());
        self.next = (self.next * 2).min(self.longest);
        tokio::time::sleep(half + jitter).await;
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Backoff::new(Duration::from_millis(50), Duration::from_secs(5))
    }
}
