//! Growing, jittered pauses.

use std::time::Duration;

/// Pauses that double from `first` to `most`. Each is between half and the whole of its length, so
/// that many callers that failed together do not retry together.
#[derive(Debug, Clone)]
pub(crate) struct Backoff {
    first: Duration,
    most: Duration,
    next: Duration,
}

impl Backoff {
    pub(crate) fn new(first: Duration, most: Duration) -> Backoff {
        Backoff { first, most, next: first }
    }

    /// The next pause.
    pub(crate) fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.most);
        pause.mul_f64(0.5 + fastrand::f64() / 2.0)
    }

    /// Starts over after a success.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_most() {
        let [first, most] = [10, 35].map(Duration::from_millis);
        let mut backoff = Backoff::new(first, most);
        for whole in [10, 20, 35, 35] {
            let (whole, pause) = (Duration::from_millis(whole), backoff.pause());
            assert!(pause >= whole / 2 && pause <= whole, "{pause:?} of {whole:?}");
        }
        backoff.reset();
        assert!(backoff.pause() <= first);
    }
}
