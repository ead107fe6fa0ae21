//! The wait between tries of a call that may succeed later.

use std::time::Duration;

/// A wait that doubles up to a bound, with half of it random.
pub(super) struct Backoff {
    next: Duration,
    most: Duration,
}

impl Backoff {
    /// Waits that begin at `first`.
    pub(super) fn new(first: Duration, most: Duration) -> Backoff {
        Backoff { next: first, most }
    }

    /// The next wait.
    pub(super) fn pause(&mut self) -> Duration {
        let whole = self.next;
        self.next = (whole * 2).min(self.most);
        whole.mul_f64(0.5 + fastrand::f64() / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_their_bound_and_are_never_zero() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_millis(400));
        for whole in [100, 200, 400, 400, 400] {
            let whole = Duration::from_millis(whole);
            let pause = backoff.pause();
            assert!(pause >= whole / 2 && pause <= whole, "{pause:?} of {whole:?}");
        }
    }
}
